//! Writes changes as change events: `c` with the row after it, `d` with the row before it.

use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::schema::Schema;

use super::Options;
use crate::format::json;

/// Writes the changes of batches of one schema. An update is a delete and a create, as Flink writes it: the two need not
/// come together.
#[derive(Debug)]
pub struct Encoder {
    rows: json::Encoder,
    wrapped: bool,
}

impl Encoder {
    /// An encoder of rows of `schema`.
    pub fn new(schema: &Schema, options: Options) -> Result<Self> {
        Ok(Encoder { rows: json::Encoder::new(schema, options.json)?, wrapped: options.schema_include })
    }

    /// Appends all changes, each with its line end. After each `each` may take what has been written.
    pub fn encode_batch(&self, batch: &ColumnBatch, out: &mut String, mut each: impl FnMut(&mut String) -> Result<()>) -> Result<()> {
        let columns = self.rows.views(batch)?;
        for row in 0..batch.num_rows() {
            out.push_str(if self.wrapped { "{\"payload\":" } else { "" });
            if batch.kind(row).is_addition() {
                out.push_str("{\"before\":null,\"after\":");
                self.rows.write_object(&columns, row, None, out);
                out.push_str(",\"op\":\"c\"}");
            } else {
                out.push_str("{\"before\":");
                self.rows.write_object(&columns, row, None, out);
                out.push_str(",\"after\":null,\"op\":\"d\"}");
            }
            out.push_str(if self.wrapped { "}\n" } else { "\n" });
            each(out)?;
        }
        Ok(())
    }
}
