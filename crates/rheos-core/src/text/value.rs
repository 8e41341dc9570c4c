//! A cell of a result as text, for people and for comparison: the form that the conformance suite defines.

use std::fmt::Write;

use arrow::array::{Array, AsArray, StructArray};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};

use super::{write_date, write_decimal, write_double, write_float, write_integer, write_time, write_timestamp};
use crate::error::{Error, Result};
use crate::types::{LogicalType, TypeKind, timestamp_unit};

/// Appends row `row` of a column of type `ty`: NULL is `\N`, and backslash, tab and line ends of a text are escaped.
pub fn write_value(out: &mut String, array: &dyn Array, row: usize, ty: &LogicalType) -> Result<()> {
    if array.is_null(row) || ty.kind == TypeKind::Null {
        out.push_str("\\N");
        return Ok(());
    }
    let start = out.len();
    write_nested_value(out, array, row, ty)?;
    if out[start..].contains(['\\', '\t', '\n', '\r']) {
        let escaped = out[start..].replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        out.truncate(start);
        out.push_str(&escaped);
    }
    Ok(())
}

/// Appends row `row` as it stands inside ARRAY, MAP and ROW: NULL is `NULL`, texts are as they are.
pub fn write_nested_value(out: &mut String, array: &dyn Array, row: usize, ty: &LogicalType) -> Result<()> {
    if array.is_null(row) {
        out.push_str("NULL");
        return Ok(());
    }
    match &ty.kind {
        TypeKind::Null => out.push_str("NULL"),
        TypeKind::Boolean => {
            let flag = array.as_boolean_opt().ok_or_else(|| mismatch(array, ty))?.value(row);
            out.push_str(if flag { "true" } else { "false" });
        }
        TypeKind::TinyInt => write_integer(out, i64::from(primitive::<Int8Type>(array, row, ty)?)),
        TypeKind::SmallInt => write_integer(out, i64::from(primitive::<Int16Type>(array, row, ty)?)),
        TypeKind::Int => write_integer(out, i64::from(primitive::<Int32Type>(array, row, ty)?)),
        TypeKind::BigInt => write_integer(out, primitive::<Int64Type>(array, row, ty)?),
        TypeKind::Float => write_float(out, primitive::<Float32Type>(array, row, ty)?),
        TypeKind::Double => write_double(out, primitive::<Float64Type>(array, row, ty)?),
        TypeKind::Decimal(_, scale) => write_decimal(out, primitive::<Decimal128Type>(array, row, ty)?, *scale),
        TypeKind::Char(_) | TypeKind::Varchar(_) => {
            out.push_str(array.as_string_opt::<i32>().ok_or_else(|| mismatch(array, ty))?.value(row));
        }
        TypeKind::Binary(_) | TypeKind::Varbinary(_) => {
            out.push_str("0x");
            for byte in array.as_binary_opt::<i32>().ok_or_else(|| mismatch(array, ty))?.value(row) {
                let _ = write!(out, "{byte:02x}");
            }
        }
        TypeKind::Date => write_date(out, primitive::<Date32Type>(array, row, ty)?),
        TypeKind::Time(precision) => write_time(out, primitive::<Time32MillisecondType>(array, row, ty)?, *precision.min(&3)),
        TypeKind::Timestamp(precision) => write_instant(out, array, row, ty, *precision)?,
        TypeKind::TimestampLtz(precision) => {
            write_instant(out, array, row, ty, *precision)?;
            out.push('Z');
        }
        TypeKind::IntervalYearMonth => {
            let months = primitive::<IntervalYearMonthType>(array, row, ty)?;
            let _ = write!(out, "{}{}-{:02}", if months < 0 { '-' } else { '+' }, months.unsigned_abs() / 12, months.unsigned_abs() % 12);
        }
        TypeKind::IntervalDayTime => {
            let ms = primitive::<DurationMillisecondType>(array, row, ty)?;
            out.push(if ms < 0 { '-' } else { '+' });
            let _ = write!(out, "{} ", ms.unsigned_abs() / 86_400_000);
            write_time(out, (ms.unsigned_abs() % 86_400_000) as i32, 3);
        }
        TypeKind::Array(element) => {
            let items = array.as_list_opt::<i32>().ok_or_else(|| mismatch(array, ty))?.value(row);
            out.push('[');
            for i in 0..items.len() {
                separate(out, i);
                write_nested_value(out, items.as_ref(), i, element)?;
            }
            out.push(']');
        }
        TypeKind::Row(fields) => {
            let parts = array.as_struct_opt().ok_or_else(|| mismatch(array, ty))?;
            out.push('(');
            for (i, (part, field)) in parts.columns().iter().zip(fields).enumerate() {
                separate(out, i);
                write_nested_value(out, part.as_ref(), row, &field.ty)?;
            }
            out.push(')');
        }
        TypeKind::Map(key, value) => {
            let entries = array.as_map_opt().ok_or_else(|| mismatch(array, ty))?.value(row);
            write_entries(out, &entries, key, value)?;
        }
        TypeKind::Multiset(element) => {
            let entries = array.as_map_opt().ok_or_else(|| mismatch(array, ty))?.value(row);
            write_entries(out, &entries, element, &TypeKind::Int.not_null())?;
        }
    }
    Ok(())
}

/// Entries in the order of their texts, so that equal maps read alike.
fn write_entries(out: &mut String, entries: &StructArray, key: &LogicalType, value: &LogicalType) -> Result<()> {
    let mut texts = Vec::with_capacity(entries.len());
    for i in 0..entries.len() {
        let mut text = String::new();
        write_nested_value(&mut text, entries.column(0).as_ref(), i, key)?;
        text.push('=');
        write_nested_value(&mut text, entries.column(1).as_ref(), i, value)?;
        texts.push(text);
    }
    texts.sort_unstable();
    out.push('{');
    for (i, text) in texts.iter().enumerate() {
        separate(out, i);
        out.push_str(text);
    }
    out.push('}');
    Ok(())
}

fn write_instant(out: &mut String, array: &dyn Array, row: usize, ty: &LogicalType, precision: u8) -> Result<()> {
    let unit = timestamp_unit(precision);
    let value = match unit {
        TimeUnit::Second | TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(array, row, ty)?,
        TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(array, row, ty)?,
        TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(array, row, ty)?,
    };
    write_timestamp(out, value, unit, precision.max(3));
    Ok(())
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array, row: usize, ty: &LogicalType) -> Result<T::Native> {
    Ok(array.as_primitive_opt::<T>().ok_or_else(|| mismatch(array, ty))?.value(row))
}

fn mismatch(array: &dyn Array, ty: &LogicalType) -> Error {
    Error::bug(format!("a column of {} holds {}", ty, array.data_type()))
}
