//! What is wrong with a record that cannot be read, and what is done about it.

use std::fmt;
use std::sync::Arc;

use rheos_core::connector::{OptionInfo, TableSpec};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::{Error, Result};

/// Values are shown up to this many characters.
const SHOWN_CHARS: usize = 120;

/// Why a record cannot be read.
#[derive(Debug)]
pub(crate) struct BadRecord {
    /// The column, where it is known, as a path: `bid.price`.
    pub(crate) column: String,
    /// What is wrong: `'x' is no INT`.
    pub(crate) problem: String,
}

impl BadRecord {
    /// The record as a whole is bad.
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        BadRecord { column: String::new(), problem: problem.into() }
    }

    /// A field is not of the type that its column has.
    pub(crate) fn field(column: &str, value: &str, wanted: &str) -> Self {
        BadRecord { column: column.to_string(), problem: format!("'{}' is no {wanted}", Shown(value)) }
    }

    /// The column of this record's problem lies within `name`.
    pub(crate) fn within(mut self, name: &str) -> Self {
        self.column = if self.column.is_empty() { name.to_string() } else { format!("{name}.{}", self.column) };
        self
    }
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.column.is_empty() {
            write!(f, "column '{}': ", self.column)?;
        }
        f.write_str(&self.problem)
    }
}

/// The beginning of a text that may be long.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => write!(f, "{}...", &self.0[..end]),
            None => f.write_str(self.0),
        }
    }
}

/// What is done about bad records.
#[derive(Debug)]
pub(crate) struct Policy {
    /// Bad records are passed over and counted, not an error.
    pub(crate) skip: bool,
    pub(crate) metrics: Arc<OperatorMetrics>,
}

impl Policy {
    /// Counts a bad record of a line, or makes it an error.
    pub(crate) fn refuse(&self, bad: &BadRecord, line: u64) -> Result<()> {
        if self.skip {
            self.metrics.bad_records.add(1);
            return Ok(());
        }
        Err(Error::input(format!("line {line}: {bad}")))
    }
}

/// The option that every format has: what to do about bad records.
pub(crate) const fn on_error_option(key: &'static str) -> OptionInfo {
    OptionInfo::optional(key, "fail", "What happens to a record that cannot be read: 'fail' ends the job, 'skip' counts it and goes on.")
}

/// Whether `<format>.on-error` says to skip.
pub(crate) fn skips_errors(table: &TableSpec, key: &str) -> Result<bool> {
    match table.option(key).map(str::to_ascii_lowercase).as_deref() {
        None | Some("fail") => Ok(false),
        Some("skip") => Ok(true),
        Some(other) => Err(Error::config(format!("option '{key}' of table '{}' is '{other}'; it can be 'fail' or 'skip'", table.name))),
    }
}

/// An option that is true or false.
pub(crate) fn flag(table: &TableSpec, key: &str, default: bool) -> Result<bool> {
    match table.option(key).map(|v| v.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(Error::config(format!("option '{key}' of table '{}' is '{other}'; it can be 'true' or 'false'", table.name))),
    }
}
