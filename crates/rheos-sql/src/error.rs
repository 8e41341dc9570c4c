//! Errors of statements: what is wrong, where, and what would be right.

use std::fmt;

use sqlparser::ast::Spanned;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, Span};

/// A place in the text; lines and columns count from 1, 0 means unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, in characters.
    pub column: u64,
}

impl From<Location> for Place {
    fn from(l: Location) -> Self {
        Place { line: l.line, column: l.column }
    }
}

/// An error in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// What is wrong, lower case.
    pub message: String,
    /// Where.
    pub place: Place,
    /// What would be right.
    pub hint: Option<String>,
}

/// The result of anything done with a statement.
pub type SqlResult<T> = Result<T, SqlError>;

impl SqlError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        SqlError { message: message.into(), place: Place::default(), hint: None }
    }

    /// An error at a node of the syntax tree.
    pub fn at(node: &impl Spanned, message: impl Into<String>) -> Self {
        Self::new(message).or_at(node.span())
    }

    /// What is not built yet; said plainly.
    pub fn unsupported(node: &impl Spanned, what: impl fmt::Display) -> Self {
        Self::at(node, format!("{what} is not supported yet"))
    }

    /// The same error at `span`, unless it has a place already.
    pub fn or_at(mut self, span: Span) -> Self {
        if self.place.line == 0 {
            self.place = span.start.into();
        }
        self
    }

    /// The same error with a hint, if there is one.
    pub fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = self.hint.or(hint);
        self
    }

    /// The error with the line of the text that it points at, for people:
    ///
    /// ```text
    /// error: no column 'colour' in the query's input
    ///   --> file.sql:3:17
    ///    |
    ///  3 | SELECT auction, colour FROM bids;
    ///    |                 ^
    ///    = did you mean 'channel'?
    /// ```
    pub fn render(&self, text: &str, file: &str) -> String {
        let mut out = format!("error: {}\n", self.message);
        let line = (self.place.line as usize).checked_sub(1).and_then(|l| text.lines().nth(l));
        if let Some(line) = line {
            let number = self.place.line.to_string();
            let pad = " ".repeat(number.len());
            // The caret stands under the character: tabs are kept so that it lines up.
            let before: String =
                line.chars().take(self.place.column.saturating_sub(1) as usize).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            out.push_str(&format!(" {pad}--> {file}:{}:{}\n", self.place.line, self.place.column));
            out.push_str(&format!(" {pad} |\n {number} | {line}\n {pad} | {before}^\n"));
            if let Some(hint) = &self.hint {
                out.push_str(&format!(" {pad} = {hint}\n"));
            }
        } else if let Some(hint) = &self.hint {
            out.push_str(&format!("  = {hint}\n"));
        }
        out
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.line > 0 {
            write!(f, "line {}, column {}: ", self.place.line, self.place.column)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SqlError {}

impl From<SqlError> for rheos_core::Error {
    fn from(e: SqlError) -> Self {
        rheos_core::Error::config(e.to_string())
    }
}

impl From<rheos_core::Error> for SqlError {
    fn from(e: rheos_core::Error) -> Self {
        SqlError::new(e.to_string())
    }
}

/// sqlparser ends its texts with ` at Line: 3, Column: 17`.
impl From<ParserError> for SqlError {
    fn from(e: ParserError) -> Self {
        let text = match e {
            ParserError::TokenizerError(t) | ParserError::ParserError(t) => t,
            ParserError::RecursionLimitExceeded => return SqlError::new("the statement is nested too deeply"),
        };
        let Some((message, place)) = text.rsplit_once(" at Line: ") else { return SqlError::new(lower_first(&text)) };
        let mut numbers = place.split(", Column: ").map(|n| n.trim().parse().unwrap_or(0));
        let place = Place { line: numbers.next().unwrap_or(0), column: numbers.next().unwrap_or(0) };
        SqlError { message: lower_first(message), place, hint: None }
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parser_error_keeps_its_place() {
        let e = SqlError::from(ParserError::ParserError("Expected: end of statement, found: x at Line: 3, Column: 17".into()));
        assert_eq!(e.message, "expected: end of statement, found: x");
        assert_eq!(e.place, Place { line: 3, column: 17 });
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let e = SqlError { message: "no column 'b'".into(), place: Place { line: 2, column: 8 }, hint: Some("did you mean 'a'?".into()) };
        assert_eq!(
            e.render("-- x\nSELECT b FROM t", "q.sql"),
            "error: no column 'b'\n  --> q.sql:2:8\n   |\n 2 | SELECT b FROM t\n   |        ^\n   = did you mean 'a'?\n"
        );
    }
}
