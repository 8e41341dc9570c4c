//! From batches to bytes, for any format.

use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::schema::Schema;

use super::{Format, csv, debezium, json};

/// Writes rows as records, each with its line end.
#[derive(Debug)]
pub enum Encoder {
    /// Comma-separated values.
    Csv(csv::Encoder),
    /// A JSON object for each row.
    Json(json::Encoder),
    /// A change event for each change.
    DebeziumJson(debezium::Encoder),
}

impl Encoder {
    pub(super) fn new(format: &Format, schema: &Schema) -> Result<Self> {
        Ok(match format {
            Format::Csv(options) => Encoder::Csv(csv::Encoder::new(schema, options.clone())?),
            Format::Json(options) => Encoder::Json(json::Encoder::new(schema, options.clone())?),
            Format::DebeziumJson(options) => Encoder::DebeziumJson(debezium::Encoder::new(schema, options.clone())?),
        })
    }

    /// Appends the rows of a batch. After each row `each` may take what has been written.
    pub fn encode_batch(&self, batch: &ColumnBatch, out: &mut String, each: impl FnMut(&mut String) -> Result<()>) -> Result<()> {
        match self {
            Encoder::Csv(e) => e.encode_batch(batch, out, each),
            Encoder::Json(e) => e.encode_batch(batch, out, each),
            Encoder::DebeziumJson(e) => e.encode_batch(batch, out, each),
        }
    }
}
