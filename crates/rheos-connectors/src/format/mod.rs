//! Formats: how rows are written as bytes and read back, whatever carries the bytes.
//!
//! A [`Decoder`] goes from bytes straight into Arrow columns, building only what the projection asks for; an [`Encoder`]
//! goes back. Options have the names and meanings of Flink's, `<format>.on-error` excepted. [`parquet`] is another kind: files as
//! a whole, which are read from their end.

mod cells;
mod column;
pub mod csv;
pub mod debezium;
mod decoder;
mod encoder;
pub mod json;
mod layout;
mod lines;
mod names;
pub mod parquet;
pub(crate) mod predicates;
mod record;
mod rows;
mod text;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use text::TemporalStyle;

pub(crate) use cells::{Cells, View};
pub(crate) use column::Column;
pub(crate) use layout::Layout;
pub(crate) use record::flag;

use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{FormatInfo, MetadataInfo, TableSpec};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::registry::Registry;
use rheos_core::schema::Schema;
use rheos_core::{Error, Result};

/// A format of records one after the other, with its options.
#[derive(Debug, Clone)]
pub enum Format {
    /// Comma-separated values.
    Csv(csv::Options),
    /// A JSON object on each line.
    Json(json::Options),
    /// A change event of Debezium on each line.
    DebeziumJson(debezium::Options),
}

/// What the format of a table knows of each record beside its columns.
pub(crate) fn metadata(table: &TableSpec) -> Vec<MetadataInfo> {
    match table.option("format") {
        Some("debezium-json") => debezium::metadata(),
        _ => Vec::new(),
    }
}

impl Format {
    /// The format that a table names, its options checked, and its types too.
    pub fn of(table: &TableSpec) -> Result<Format> {
        let format = match table.required("format")? {
            "csv" => Format::Csv(csv::Options::of(table)?),
            "json" => Format::Json(json::Options::of(table, "json")?),
            "debezium-json" => Format::DebeziumJson(debezium::Options::of(table)?),
            "parquet" => {
                return Err(Error::config(format!("table '{}' has the format 'parquet', which only files can have", table.name)));
            }
            other => {
                let known = infos().map(|f| format!("'{}'", f.name)).join(", ");
                return Err(Error::config(format!("table '{}' has the format '{other}'; there are {known}", table.name)));
            }
        };
        format.check_types(&table.schema).map_err(|e| e.context(format!("table '{}'", table.name)))?;
        Ok(format)
    }

    /// The kinds of changes that it carries.
    pub fn changelog(&self) -> ChangelogMode {
        match self {
            Format::Csv(_) | Format::Json(_) => ChangelogMode::InsertOnly,
            Format::DebeziumJson(_) => ChangelogMode::Retract,
        }
    }

    /// How the names of files of this format end, without the dot.
    pub fn file_extension(&self) -> &'static str {
        match self {
            Format::Csv(_) => "csv",
            Format::Json(_) | Format::DebeziumJson(_) => "json",
        }
    }

    /// A decoder of the columns that `table` projects.
    pub fn decoder(&self, table: &TableSpec, metrics: Arc<OperatorMetrics>) -> Decoder {
        Decoder::new(self, table, metrics)
    }

    /// An encoder of rows of `schema`.
    pub fn encoder(&self, schema: &Schema) -> Result<Encoder> {
        Encoder::new(self, schema)
    }

    fn check_types(&self, schema: &Schema) -> Result<()> {
        match self {
            Format::Csv(_) => csv::check_types(schema),
            Format::Json(_) | Format::DebeziumJson(_) => json::check_types(schema),
        }
    }
}

/// All formats, as the planner sees them.
fn infos() -> [FormatInfo; 4] {
    [csv::info(), json::info(), debezium::info(), parquet::info()]
}

/// Adds all formats.
pub(crate) fn register(registry: &mut Registry) {
    for info in infos() {
        registry.add_format(info);
    }
}
