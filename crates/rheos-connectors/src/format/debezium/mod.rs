//! Debezium's change events as JSON: `{"before": ..., "after": ..., "op": ...}` on each line.

mod encode;
mod metadata;
mod read;
#[cfg(test)]
mod tests;

use rheos_core::Result;
use rheos_core::connector::{FormatInfo, OptionInfo, TableSpec};

use super::json;
use super::record::{flag, on_error_option};

pub use encode::Encoder;
pub(crate) use metadata::infos as metadata;
pub(crate) use read::DebeziumReader;

/// How change events are read and written.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Events lie in the member `payload`, beside a `schema` that is passed over.
    pub schema_include: bool,
    /// How the rows in them are read and written.
    pub json: json::Options,
}

impl Options {
    /// The options of a table.
    pub(crate) fn of(table: &TableSpec) -> Result<Self> {
        let schema_include = flag(table, "debezium-json.schema-include", false)?;
        Ok(Options { schema_include, json: json::Options::of(table, "debezium-json")? })
    }
}

/// The format as the planner sees it.
pub(crate) fn info() -> FormatInfo {
    FormatInfo {
        name: "debezium-json",
        doc: "A change event of Debezium on each line: inserts, updates with the old row, deletes.",
        options: vec![
            OptionInfo::optional("debezium-json.schema-include", "false", "Events are wrapped: {\"schema\": ..., \"payload\": event}."),
            OptionInfo::optional("debezium-json.ignore-parse-errors", "false", "Bad fields become NULL and bad events are passed over."),
            OptionInfo::optional("debezium-json.timestamp-format.standard", "SQL", "The form of timestamps: 'SQL' or 'ISO-8601'."),
            OptionInfo::optional("debezium-json.map-null-key.mode", "FAIL", "As json.map-null-key.mode."),
            OptionInfo::optional("debezium-json.map-null-key.literal", "null", "As json.map-null-key.literal."),
            OptionInfo::optional("debezium-json.encode.decimal-as-plain-number", "false", "As json.encode.decimal-as-plain-number."),
            OptionInfo::optional("debezium-json.encode.ignore-null-fields", "false", "As json.encode.ignore-null-fields."),
            on_error_option("debezium-json.on-error"),
        ],
    }
}
