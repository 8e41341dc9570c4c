//! Rows as Java's `Row.toString` shows them.

use std::fmt::Write;

use arrow::datatypes::TimeUnit;
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::schema::Schema;
use rheos_core::text::{self, calendar::per_second};

use crate::format::{Cells, View};

/// Appends a line for each change of a batch.
pub(super) fn write_changes(out: &mut String, schema: &Schema, batch: &ColumnBatch, prefix: &str) -> Result<()> {
    let columns: Vec<View<'_>> = schema.fields.iter().zip(batch.columns()).map(|(f, c)| View::new(&f.ty, c)).collect::<Result<_>>()?;
    for row in 0..batch.num_rows() {
        out.push_str(prefix);
        out.push_str(batch.kind(row).symbol());
        write_row(out, &columns, row);
        out.push('\n');
    }
    Ok(())
}

fn write_row(out: &mut String, fields: &[View<'_>], row: usize) {
    out.push('[');
    for (i, field) in fields.iter().enumerate() {
        separate(out, i);
        write_value(out, field, row);
    }
    out.push(']');
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

fn write_value(out: &mut String, value: &View<'_>, row: usize) {
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
        Cells::Float(v) => text::write_float(out, v[row]),
        Cells::Double(v) => text::write_double(out, v[row]),
        Cells::Decimal(v, scale) => text::write_decimal(out, v[row], *scale),
        Cells::Text(v) => out.push_str(v.value(row)),
        Cells::Bytes(v) => {
            out.push('[');
            for (i, byte) in v.value(row).iter().enumerate() {
                separate(out, i);
                let _ = write!(out, "{}", *byte as i8);
            }
            out.push(']');
        }
        Cells::Date(v) => text::write_date(out, v[row]),
        Cells::Time(v) => write_clock(out, i64::from(v[row]), TimeUnit::Millisecond, false),
        Cells::Timestamp { values, unit, instant } => {
            let day = per_second(*unit) * 86_400;
            text::write_date(out, values[row].div_euclid(day).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);
            out.push('T');
            write_clock(out, values[row].rem_euclid(day), *unit, *instant);
            if *instant {
                out.push('Z');
            }
        }
        Cells::Array { offsets, item } => {
            out.push('[');
            for i in offsets[row]..offsets[row + 1] {
                separate(out, (i - offsets[row]) as usize);
                write_value(out, item, i as usize);
            }
            out.push(']');
        }
        Cells::Map { offsets, key, value } => {
            out.push('{');
            for i in offsets[row]..offsets[row + 1] {
                separate(out, (i - offsets[row]) as usize);
                write_value(out, key, i as usize);
                out.push('=');
                write_value(out, value, i as usize);
            }
            out.push('}');
        }
        Cells::Row { fields, .. } => {
            out.push_str("+I");
            write_row(out, fields, row);
        }
    }
}

/// A time of day as Java's `LocalTime` writes it: seconds only where they are not zero, or always, and 3, 6 or 9 digits of
/// their fraction.
fn write_clock(out: &mut String, of_day: i64, unit: TimeUnit, always_seconds: bool) {
    let per_second = per_second(unit);
    let seconds = of_day / per_second;
    let nanos = of_day % per_second * (1_000_000_000 / per_second);
    let _ = write!(out, "{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds % 60 > 0 || nanos > 0 || always_seconds {
        let _ = write!(out, ":{:02}", seconds % 60);
    }
    if nanos == 0 {
    } else if nanos % 1_000_000 == 0 {
        let _ = write!(out, ".{:03}", nanos / 1_000_000);
    } else if nanos % 1_000 == 0 {
        let _ = write!(out, ".{:06}", nanos / 1_000);
    } else {
        let _ = write!(out, ".{nanos:09}");
    }
}
