//! The options of CSV.

use rheos_core::connector::{FormatInfo, OptionInfo, TableSpec};
use rheos_core::schema::Schema;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Error, Result};

use crate::format::record::{flag, on_error_option, skips_errors};

/// How CSV is read and written.
#[derive(Debug, Clone)]
pub struct Options {
    /// What stands between fields.
    pub delimiter: u8,
    /// What encloses fields with delimiters, quotes or line ends in them.
    pub quote: Option<u8>,
    /// What makes the next character an ordinary one, within quotes.
    pub escape: Option<u8>,
    /// The text that stands for NULL.
    pub null_literal: Option<String>,
    /// Lines that begin with `#` are passed over.
    pub allow_comments: bool,
    /// Fields that cannot be read are NULL, lines that cannot be read are passed over.
    pub ignore_parse_errors: bool,
    /// What stands between the elements of an ARRAY or the fields of a ROW.
    pub array_delimiter: String,
    /// Lines that cannot be read are passed over and counted.
    pub skip_errors: bool,
    /// The first record of each file is passed over: a header.
    pub ignore_first_line: bool,
    /// An empty field is NULL for texts too.
    pub empty_string_as_null: bool,
    /// A last field that is empty may be one too many.
    pub allow_trailing_comma: bool,
    /// Fields beyond the last column are passed over.
    pub ignore_trailing_unmappable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            delimiter: b',',
            quote: Some(b'"'),
            escape: None,
            null_literal: None,
            allow_comments: false,
            ignore_parse_errors: false,
            array_delimiter: ";".into(),
            skip_errors: false,
            ignore_first_line: false,
            empty_string_as_null: false,
            allow_trailing_comma: true,
            ignore_trailing_unmappable: false,
        }
    }
}

impl Options {
    /// The options of a table.
    pub(crate) fn of(table: &TableSpec) -> Result<Self> {
        let default = Options::default();
        let quote = character(table, "csv.quote-character")?;
        let unquoted = flag(table, "csv.disable-quote-character", false)?;
        if unquoted && quote.is_some() {
            let message = "has both 'csv.quote-character' and 'csv.disable-quote-character'; one excludes the other";
            return Err(Error::config(format!("table '{}' {message}", table.name)));
        }
        if flag(table, "csv.write-bigdecimal-in-scientific-notation", false)? {
            let message = "has 'csv.write-bigdecimal-in-scientific-notation' = 'true'; decimals are always written plainly, so it can only be 'false'";
            return Err(Error::config(format!("table '{}' {message}", table.name)));
        }
        let array_delimiter = table.option("csv.array-element-delimiter").map_or(default.array_delimiter, str::to_string);
        if array_delimiter.is_empty() {
            return Err(Error::config(format!("option 'csv.array-element-delimiter' of table '{}' is empty", table.name)));
        }
        Ok(Options {
            delimiter: character(table, "csv.field-delimiter")?.unwrap_or(default.delimiter),
            quote: if unquoted { None } else { quote.or(default.quote) },
            escape: character(table, "csv.escape-character")?,
            null_literal: table.option("csv.null-literal").map(str::to_string),
            allow_comments: flag(table, "csv.allow-comments", false)?,
            ignore_parse_errors: flag(table, "csv.ignore-parse-errors", false)?,
            array_delimiter,
            skip_errors: skips_errors(table, "csv.on-error")?,
            ignore_first_line: flag(table, "csv.ignore-first-line", false)?,
            empty_string_as_null: flag(table, "csv.empty-string-as-null", false)?,
            allow_trailing_comma: flag(table, "csv.allow-trailing-comma", true)?,
            ignore_trailing_unmappable: flag(table, "csv.ignore-trailing-unmappable", false)?,
        })
    }
}

/// An option that is one ASCII character, which may be written as Java does in source text: `\t`, `\u0001`, `\\`.
fn character(table: &TableSpec, key: &str) -> Result<Option<u8>> {
    let Some(text) = table.option(key) else { return Ok(None) };
    let wrong = || {
        let wanted = "it must be one ASCII character, or one written as '\\t' or '\\u0001'";
        Error::config(format!("option '{key}' of table '{}' is '{text}'; {wanted}", table.name))
    };
    let mut chars = text.chars();
    let c = match (chars.next(), chars.as_str()) {
        (Some(c), "") => c,
        (Some('\\'), "t") => '\t',
        (Some('\\'), "n") => '\n',
        (Some('\\'), "r") => '\r',
        (Some('\\'), "b") => '\u{8}',
        (Some('\\'), "f") => '\u{c}',
        (Some('\\'), rest) => match rest.strip_prefix('u') {
            Some(hex) if hex.len() == 4 => u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).ok_or_else(wrong)?,
            None if rest.bytes().all(|b| b.is_ascii_digit()) => {
                u32::from_str_radix(rest, 8).ok().and_then(char::from_u32).ok_or_else(wrong)?
            }
            None if rest.len() == 1 => rest.chars().next().ok_or_else(wrong)?,
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    if !c.is_ascii() || c == '\n' || c == '\r' {
        return Err(wrong());
    }
    Ok(Some(c as u8))
}

/// The format as the planner sees it.
pub(crate) fn info() -> FormatInfo {
    FormatInfo {
        name: "csv",
        doc: "Comma-separated values: the fields of a line are the columns, in order.",
        options: vec![
            OptionInfo::optional("csv.field-delimiter", ",", "The character between fields; '\\t' for a tab."),
            OptionInfo::optional("csv.disable-quote-character", "false", "Quotes are ordinary characters."),
            OptionInfo::optional("csv.quote-character", "\"", "The character around fields that contain delimiters or line ends."),
            OptionInfo::optional("csv.escape-character", "none", "The character that makes the next one ordinary, within quotes."),
            OptionInfo::optional(
                "csv.null-literal",
                "none",
                "The text that stands for NULL; without it only a missing number or date is NULL.",
            ),
            OptionInfo::optional("csv.allow-comments", "false", "Lines that begin with # are passed over."),
            OptionInfo::optional("csv.ignore-parse-errors", "false", "Bad fields become NULL and bad lines are passed over."),
            OptionInfo::optional("csv.array-element-delimiter", ";", "The text between elements of an ARRAY or fields of a ROW."),
            OptionInfo::optional("csv.ignore-first-line", "false", "Passes over the first record of each file: a header."),
            OptionInfo::optional("csv.empty-string-as-null", "false", "An empty field is NULL for texts too."),
            OptionInfo::optional("csv.allow-trailing-comma", "true", "A line may end with one delimiter too many."),
            OptionInfo::optional("csv.ignore-trailing-unmappable", "false", "Fields beyond the last column are passed over."),
            OptionInfo::optional("csv.write-bigdecimal-in-scientific-notation", "false", "Decimals are always written plainly."),
            on_error_option("csv.on-error"),
        ],
    }
}

/// Refuses what CSV cannot carry: maps, and arrays or rows within arrays or rows.
pub(crate) fn check_types(schema: &Schema) -> Result<()> {
    schema.fields.iter().try_for_each(|f| {
        let parts: Vec<&LogicalType> = match &f.ty.kind {
            TypeKind::Array(item) => vec![item],
            TypeKind::Row(fields) => fields.iter().map(|f| &f.ty).collect(),
            _ => vec![&f.ty],
        };
        if parts.iter().any(|p| p.kind.is_nested()) {
            return Err(Error::config(format!("column '{}': CSV cannot carry {}; the format 'json' can", f.name, f.ty)));
        }
        Ok(())
    })
}
