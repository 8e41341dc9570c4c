//! Writes rows as JSON objects.

use std::fmt::Write;

use arrow::datatypes::TimeUnit;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::schema::Schema;
use rheos_core::text;
use rheos_core::text::calendar::unit_digits;

use super::Options;
use crate::format::{Cells, TemporalStyle, View};

/// Writes the rows of batches of one schema.
#[derive(Debug)]
pub struct Encoder {
    schema: Schema,
    options: Options,
    /// The first member of each object is `op`, the symbol of the row's kind.
    with_op: bool,
}

impl Encoder {
    /// An encoder of rows of `schema`; an error where JSON cannot carry one of its types.
    pub fn new(schema: &Schema, options: Options) -> Result<Self> {
        super::check_types(schema)?;
        Ok(Encoder { schema: schema.clone(), options, with_op: false })
    }

    /// The same, with a first member `op` in each object: `+I`, `-U`, `+U` or `-D`.
    pub fn with_op(mut self) -> Self {
        self.with_op = true;
        self
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
        let columns = self.views(batch)?;
        for row in 0..batch.num_rows() {
            let op = self.with_op.then(|| batch.kind(row).symbol());
            self.write_object(&columns, row, op, out);
            out.push('\n');
            each(out)?;
        }
        Ok(())
    }

    /// The columns of a batch, bound for writing.
    pub(crate) fn views<'a>(&'a self, batch: &'a ColumnBatch) -> Result<Vec<View<'a>>> {
        self.schema.fields.iter().zip(batch.columns()).map(|(f, c)| View::new(&f.ty, c)).collect()
    }

    /// Appends a row as an object.
    pub(crate) fn write_object(&self, columns: &[View<'_>], row: usize, op: Option<&str>, out: &mut String) {
        out.push('{');
        let start = out.len();
        if let Some(op) = op {
            out.push_str("\"op\":\"");
            out.push_str(op);
            out.push('"');
        }
        for (field, column) in self.schema.fields.iter().zip(columns) {
            self.write_member(&field.name, column, row, start, out);
        }
        out.push('}');
    }

    fn write_member(&self, name: &str, value: &View<'_>, row: usize, start: usize, out: &mut String) {
        if self.options.ignore_null_fields && value.is_null(row) {
            return;
        }
        if out.len() > start {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        self.write_value(value, row, out);
    }

    fn write_value(&self, value: &View<'_>, row: usize, out: &mut String) {
        if value.is_null(row) {
            out.push_str("null");
            return;
        }
        match &value.cells {
            Cells::Null => out.push_str("null"),
            Cells::Boolean(v) => out.push_str(if v.value(row) { "true" } else { "false" }),
            Cells::TinyInt(v) => text::write_integer(out, i64::from(v[row])),
            Cells::SmallInt(v) => text::write_integer(out, i64::from(v[row])),
            Cells::Int(v) => text::write_integer(out, i64::from(v[row])),
            Cells::BigInt(v) => text::write_integer(out, v[row]),
            Cells::Float(v) if v[row].is_finite() => text::write_float(out, v[row]),
            Cells::Double(v) if v[row].is_finite() => text::write_double(out, v[row]),
            // JSON has no such numbers; they are texts.
            Cells::Float(v) => quoted(out, |out| text::write_float(out, v[row])),
            Cells::Double(v) => quoted(out, |out| text::write_double(out, v[row])),
            Cells::Decimal(v, scale) => self.write_decimal(v[row], *scale, out),
            Cells::Text(v) => write_text(v.value(row), out),
            Cells::Bytes(v) => quoted(out, |out| STANDARD.encode_string(v.value(row), out)),
            Cells::Date(v) => quoted(out, |out| text::write_date(out, v[row])),
            Cells::Time(v) => quoted(out, |out| write_time(v[row], out)),
            Cells::Timestamp { values, unit, instant } => quoted(out, |out| {
                write_timestamp(values[row], *unit, self.options.temporal_style, out);
                if *instant {
                    out.push('Z');
                }
            }),
            Cells::Array { offsets, item } => {
                out.push('[');
                for i in offsets[row]..offsets[row + 1] {
                    if i > offsets[row] {
                        out.push(',');
                    }
                    self.write_value(item, i as usize, out);
                }
                out.push(']');
            }
            Cells::Map { offsets, key, value } => {
                out.push('{');
                let start = out.len();
                for i in offsets[row] as usize..offsets[row + 1] as usize {
                    if let Cells::Text(keys) = &key.cells {
                        self.write_member(keys.value(i), value, i, start, out);
                    }
                }
                out.push('}');
            }
            Cells::Row { names, fields } => {
                out.push('{');
                let start = out.len();
                for (name, field) in names.iter().zip(fields) {
                    self.write_member(name, field, row, start, out);
                }
                out.push('}');
            }
        }
    }

    /// As Java's BigDecimal writes itself: with an exponent where the number is smaller than a millionth.
    fn write_decimal(&self, unscaled: i128, scale: u8, out: &mut String) {
        let digits = unscaled.unsigned_abs().checked_ilog10().unwrap_or(0);
        let exponent = i64::from(digits) - i64::from(scale);
        if exponent >= -6 || self.options.decimal_as_plain_number {
            return text::write_decimal(out, unscaled, scale);
        }
        text::write_decimal(out, unscaled, digits as u8);
        let _ = write!(out, "E{exponent}");
    }
}

/// Appends a time of day with as many digits of its fraction as are needed.
pub(crate) fn write_time(ms: i32, out: &mut String) {
    if ms % 1000 == 0 {
        text::write_time(out, ms, 0);
    } else {
        text::write_time(out, ms, 3);
        trim_zeros(out);
    }
}

/// Appends a timestamp with as many digits of its fraction as are needed.
pub(crate) fn write_timestamp(value: i64, unit: TimeUnit, style: TemporalStyle, out: &mut String) {
    let start = out.len();
    if value % text::calendar::per_second(unit) == 0 {
        text::write_timestamp(out, value, unit, 0);
    } else {
        text::write_timestamp(out, value, unit, unit_digits(unit));
        trim_zeros(out);
    }
    if style == TemporalStyle::Iso8601
        && let Some(blank) = out[start..].find(' ')
    {
        out.replace_range(start + blank..=start + blank, "T");
    }
}

/// Takes the zeros at the end of a fraction away.
fn trim_zeros(out: &mut String) {
    out.truncate(out.trim_end_matches('0').len());
}

fn quoted(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('"');
    write(out);
    out.push('"');
}

/// Appends a text as a JSON string.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (i, b) in text.bytes().enumerate() {
        let escape = match b {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            8 => "\\b",
            12 => "\\f",
            0..=31 => "",
            _ => continue,
        };
        out.push_str(&text[plain_from..i]);
        plain_from = i + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{b:04X}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain_from..]);
    out.push('"');
}
