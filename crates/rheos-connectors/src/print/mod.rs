//! A sink that prints changes as Flink's does: `+I[Ann, 3]`, one a line.

mod render;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, OptionInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::schema::Schema;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::{Batch, Error, Result};

use crate::format::flag;

/// The connector.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "print",
        doc: "Prints every change, one a line: +I[Ann, 3].",
        options: vec![
            OptionInfo::optional("print-identifier", "none", "A text before each line: 'identifier> +I[...]'."),
            OptionInfo::optional("standard-error", "false", "Prints to standard error."),
        ],
        takes_format: false,
        source: None,
        sink: Some(Arc::new(Print)),
    }
}

#[derive(Debug)]
struct Print;

impl SinkFactory for Print {
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        flag(table, "standard-error", false)?;
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>> {
        let to_error = flag(table, "standard-error", false)?;
        let prefix = prefix(table.option("print-identifier").unwrap_or_default(), context.subtask.index, context.subtask.parallelism);
        Ok(Box::new(Printer { schema: table.schema.clone(), prefix, to_error, text: String::new() }))
    }
}

/// What stands before each line: the identifier, and the number of the subtask, from 1, where there are several.
fn prefix(identifier: &str, index: usize, parallelism: usize) -> String {
    match (identifier.is_empty(), parallelism > 1) {
        (true, false) => String::new(),
        (false, false) => format!("{identifier}> "),
        (true, true) => format!("{}> ", index + 1),
        (false, true) => format!("{identifier}:{}> ", index + 1),
    }
}

struct Printer {
    schema: Schema,
    prefix: String,
    to_error: bool,
    text: String,
}

impl Sink for Printer {
    fn write(&mut self, batch: Batch) -> Result<()> {
        self.text.clear();
        render::write_changes(&mut self.text, &self.schema, &batch.into_columns()?, &self.prefix)?;
        // A whole batch at once, so that the lines of subtasks do not mix.
        let printed = if self.to_error {
            std::io::stderr().lock().write_all(self.text.as_bytes())
        } else {
            let mut out = std::io::stdout().lock();
            out.write_all(self.text.as_bytes()).and_then(|()| out.flush())
        };
        printed.map_err(|e| Error::restart(format!("cannot print: {e}")).caused_by(e))
    }

    fn prepare(&mut self, _epoch: Epoch) -> Result<Vec<CommitToken>> {
        Ok(Vec::new())
    }
}
