//! The options of JSON.

use rheos_core::connector::{FormatInfo, OptionInfo, TableSpec};
use rheos_core::schema::Schema;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Error, Result};

use crate::format::TemporalStyle;
use crate::format::record::{flag, on_error_option, skips_errors};

/// How JSON is read and written.
#[derive(Debug, Clone)]
pub struct Options {
    /// Fields that cannot be read are NULL, lines that cannot be read are passed over.
    pub ignore_parse_errors: bool,
    /// A field that is absent is an error, where it would be NULL.
    pub fail_on_missing_field: bool,
    /// Lines that cannot be read are passed over and counted.
    pub skip_errors: bool,
    /// The form of timestamps.
    pub temporal_style: TemporalStyle,
    /// Small decimals are written with all their zeros, not as `1E-7`.
    pub decimal_as_plain_number: bool,
    /// Fields that are NULL are not written.
    pub ignore_null_fields: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            ignore_parse_errors: false,
            fail_on_missing_field: false,
            skip_errors: false,
            temporal_style: TemporalStyle::Sql,
            decimal_as_plain_number: false,
            ignore_null_fields: false,
        }
    }
}

impl Options {
    /// The options of a table, which begin with `prefix` and a dot.
    pub(crate) fn of(table: &TableSpec, prefix: &str) -> Result<Self> {
        let key = |name: &str| format!("{prefix}.{name}");
        let options = Options {
            ignore_parse_errors: flag(table, &key("ignore-parse-errors"), false)?,
            fail_on_missing_field: flag(table, &key("fail-on-missing-field"), false)?,
            skip_errors: skips_errors(table, &key("on-error"))?,
            temporal_style: temporal_style(table, &key("timestamp-format.standard"))?,
            decimal_as_plain_number: flag(table, &key("encode.decimal-as-plain-number"), false)?,
            ignore_null_fields: flag(table, &key("encode.ignore-null-fields"), false)?,
        };
        if options.ignore_parse_errors && options.fail_on_missing_field {
            let (a, b) = (key("ignore-parse-errors"), key("fail-on-missing-field"));
            return Err(Error::config(format!("table '{}' has both '{a}' and '{b}'; one excludes the other", table.name)));
        }
        // Rheos has no maps with a NULL key, so what would be done with one needs only to be well said.
        let mode = key("map-null-key.mode");
        if let Some(value) = table.option(&mode)
            && !["FAIL", "DROP", "LITERAL"].contains(&value.to_ascii_uppercase().as_str())
        {
            return Err(Error::config(format!("option '{mode}' of table '{}' is '{value}'; it can be FAIL, DROP or LITERAL", table.name)));
        }
        flag(table, &key("decode.json-parser.enabled"), true)?;
        Ok(options)
    }
}

fn temporal_style(table: &TableSpec, key: &str) -> Result<TemporalStyle> {
    match table.option(key) {
        None | Some("SQL") => Ok(TemporalStyle::Sql),
        Some("ISO-8601") => Ok(TemporalStyle::Iso8601),
        Some(other) => Err(Error::config(format!("option '{key}' of table '{}' is '{other}'; it can be 'SQL' or 'ISO-8601'", table.name))),
    }
}

/// The format as the planner sees it.
pub(crate) fn info() -> FormatInfo {
    FormatInfo {
        name: "json",
        doc: "A JSON object on each line; members that no column names are passed over.",
        options: vec![
            OptionInfo::optional("json.ignore-parse-errors", "false", "Bad fields become NULL and bad lines are passed over."),
            OptionInfo::optional("json.fail-on-missing-field", "false", "An absent field is an error; otherwise it is NULL."),
            OptionInfo::optional("json.timestamp-format.standard", "SQL", "The form of timestamps: 'SQL' or 'ISO-8601' (with a T)."),
            OptionInfo::optional("json.map-null-key.mode", "FAIL", "FAIL, DROP or LITERAL; maps have no NULL keys, so it has no effect."),
            OptionInfo::optional("json.map-null-key.literal", "null", "The text for NULL keys in the mode LITERAL."),
            OptionInfo::optional("json.encode.decimal-as-plain-number", "false", "Writes 0.0000001 as such, not as 1E-7."),
            OptionInfo::optional("json.encode.ignore-null-fields", "false", "Leaves NULL fields out when writing."),
            OptionInfo::optional("json.decode.json-parser.enabled", "true", "Accepted for Flink's sake; there is one parser."),
            on_error_option("json.on-error"),
        ],
    }
}

/// Refuses what JSON cannot carry: maps whose keys are no texts.
pub(crate) fn check_types(schema: &Schema) -> Result<()> {
    schema.fields.iter().try_for_each(|f| check_type(&f.ty).map_err(|e| e.context(format!("column '{}'", f.name))))
}

fn check_type(ty: &LogicalType) -> Result<()> {
    match &ty.kind {
        TypeKind::Map(key, value) => {
            check_key(ty, key)?;
            check_type(value)
        }
        TypeKind::Multiset(element) => check_key(ty, element),
        TypeKind::Array(item) => check_type(item),
        TypeKind::Row(fields) => fields.iter().try_for_each(|f| check_type(&f.ty)),
        _ => Ok(()),
    }
}

fn check_key(ty: &LogicalType, key: &LogicalType) -> Result<()> {
    if key.kind.is_character() {
        return Ok(());
    }
    Err(Error::config(format!("JSON cannot carry {ty}: the keys of its objects are texts")))
}
