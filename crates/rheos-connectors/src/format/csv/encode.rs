//! Writes rows as CSV records.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::schema::Schema;
use rheos_core::text;

use super::Options;
use crate::format::json::{write_time, write_timestamp};
use crate::format::{Cells, TemporalStyle, View};

/// Writes the rows of batches of one schema.
#[derive(Debug)]
pub struct Encoder {
    schema: Schema,
    options: Options,
}

impl Encoder {
    /// An encoder of rows of `schema`; an error where CSV cannot carry one of its types.
    pub fn new(schema: &Schema, options: Options) -> Result<Self> {
        super::check_types(schema)?;
        Ok(Encoder { schema: schema.clone(), options })
    }

    /// Appends the names of the columns as a record.
    pub fn header(&self, out: &mut Vec<u8>) {
        let mut record = String::new();
        for (i, field) in self.schema.fields.iter().enumerate() {
            if i > 0 {
                record.push(char::from(self.options.delimiter));
            }
            self.write_field(&mut record, |record| record.push_str(&field.name));
        }
        record.push('\n');
        out.extend_from_slice(record.as_bytes());
    }

    /// Appends one row, with its line end.
    pub fn encode(&self, batch: &ColumnBatch, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut text = String::new();
        self.encode_batch(&batch.slice(row, 1), &mut text, |_| Ok(()))?;
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// Appends all rows, each with its line end. After each `each` may take what has been written.
    pub fn encode_batch(&self, batch: &ColumnBatch, out: &mut String, mut each: impl FnMut(&mut String) -> Result<()>) -> Result<()> {
        let columns: Vec<View<'_>> =
            self.schema.fields.iter().zip(batch.columns()).map(|(f, c)| View::new(&f.ty, c)).collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            let start = out.len();
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    out.push(char::from(self.options.delimiter));
                }
                self.write_field(out, |out| self.write_value(column, row, out));
            }
            // A blank line would be passed over when it is read.
            if out.len() == start
                && let Some(quote) = self.options.quote
            {
                out.extend([char::from(quote); 2]);
            }
            out.push('\n');
            each(out)?;
        }
        Ok(())
    }

    /// Appends a field, in quotes where what is written needs them.
    fn write_field(&self, out: &mut String, write: impl FnOnce(&mut String)) {
        let start = out.len();
        write(out);
        let Some(quote) = self.options.quote else { return };
        let field = &out[start..];
        let special = |b: u8| b == self.options.delimiter || b == quote || b == b'\n' || b == b'\r' || self.options.escape == Some(b);
        let like_comment = self.options.allow_comments && field.starts_with('#');
        if !like_comment && !field.bytes().any(special) {
            return;
        }
        let quote = char::from(quote);
        let escape = self.options.escape.map(char::from);
        let mut quoted = String::with_capacity(field.len() + 8);
        quoted.push(quote);
        for c in field.chars() {
            if c == quote {
                quoted.push(escape.unwrap_or(quote));
            } else if Some(c) == escape {
                quoted.push(c);
            }
            quoted.push(c);
        }
        quoted.push(quote);
        out.truncate(start);
        out.push_str(&quoted);
    }

    fn write_value(&self, value: &View<'_>, row: usize, out: &mut String) {
        if value.is_null(row) {
            out.push_str(self.options.null_literal.as_deref().unwrap_or_default());
            return;
        }
        match &value.cells {
            Cells::Null | Cells::Map { .. } => {}
            Cells::Boolean(v) => out.push_str(if v.value(row) { "true" } else { "false" }),
            Cells::TinyInt(v) => text::write_integer(out, i64::from(v[row])),
            Cells::SmallInt(v) => text::write_integer(out, i64::from(v[row])),
            Cells::Int(v) => text::write_integer(out, i64::from(v[row])),
            Cells::BigInt(v) => text::write_integer(out, v[row]),
            Cells::Float(v) => text::write_float(out, v[row]),
            Cells::Double(v) => text::write_double(out, v[row]),
            Cells::Decimal(v, scale) => text::write_decimal(out, v[row], *scale),
            Cells::Text(v) => out.push_str(v.value(row)),
            Cells::Bytes(v) => STANDARD.encode_string(v.value(row), out),
            Cells::Date(v) => text::write_date(out, v[row]),
            Cells::Time(v) => write_time(v[row], out),
            Cells::Timestamp { values, unit, instant } => {
                write_timestamp(values[row], *unit, TemporalStyle::Sql, out);
                if *instant {
                    out.push('Z');
                }
            }
            Cells::Array { offsets, item } => {
                for i in offsets[row]..offsets[row + 1] {
                    if i > offsets[row] {
                        out.push_str(&self.options.array_delimiter);
                    }
                    self.write_value(item, i as usize, out);
                }
            }
            Cells::Row { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push_str(&self.options.array_delimiter);
                    }
                    self.write_value(field, row, out);
                }
            }
        }
    }
}
