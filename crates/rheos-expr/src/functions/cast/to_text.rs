//! Values as CHAR and VARCHAR.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use arrow::datatypes::{ArrowPrimitiveType, DataType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::per_second;
use rheos_core::text::{write_nested_value, write_timestamp};
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};

use super::Conversion;
use crate::functions::time::zone::Zone;

pub(super) fn conversion(from: &LogicalType, to: &TypeKind, or_null: bool, zone: Zone) -> Conversion {
    let (pad, length) = match to {
        TypeKind::Char(n) => (true, *n as usize),
        TypeKind::Varchar(n) => (false, *n as usize),
        _ => (false, usize::MAX),
    };
    match &from.kind {
        TypeKind::Char(n) | TypeKind::Varchar(n) if !pad && *n as usize <= length => Conversion::cheap(|array| Ok(Arc::clone(array))),
        TypeKind::Char(_) | TypeKind::Varchar(_) if !pad => Conversion::cheap(move |array| cut(array, length)),
        kind if kind.is_binary() => Conversion::new(move |array| decoded(array, or_null, pad, length)),
        _ => {
            let from = from.clone();
            Conversion::new(move |array| texts(array, &from, zone, pad, length))
        }
    }
}

/// The first characters of each text.
fn cut(array: &ArrayRef, length: usize) -> Result<ArrayRef> {
    let texts = array.as_string_opt::<i32>().ok_or_else(|| Error::bug(format!("a text expected, got {}", array.data_type())))?;
    // No text has more characters than bytes: most columns need not be touched.
    if texts.value_offsets().windows(2).all(|w| (w[1] - w[0]) as usize <= length) {
        return Ok(Arc::clone(array));
    }
    let prefix = |text: &'_ str| text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
    let mut builder = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for text in texts {
        builder.append_option(text.map(|t| &t[..prefix(t)]));
    }
    Ok(Arc::new(builder.finish()))
}

/// Bytes as the UTF-8 that they are.
fn decoded(array: &ArrayRef, or_null: bool, pad: bool, length: usize) -> Result<ArrayRef> {
    let values = array.as_binary_opt::<i32>().ok_or_else(|| Error::bug(format!("bytes expected, got {}", array.data_type())))?;
    let mut builder = StringBuilder::with_capacity(values.len(), values.value_data().len());
    let mut text = String::new();
    for bytes in values {
        match bytes.map(std::str::from_utf8) {
            Some(Ok(valid)) => {
                text.clear();
                text.push_str(valid);
                fit(&mut text, pad, length);
                builder.append_value(&text);
            }
            Some(Err(e)) if !or_null => {
                let message = "bytes that are no UTF-8 cannot be cast to a text; TRY_CAST gives NULL instead, MAKE_VALID_UTF8 mends them";
                return Err(Error::input(format!("{message}: {e}")).caused_by(e));
            }
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn texts(array: &ArrayRef, from: &LogicalType, zone: Zone, pad: bool, length: usize) -> Result<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 12);
    let mut text = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        text.clear();
        write(&mut text, array.as_ref(), row, from, zone)?;
        fit(&mut text, pad, length);
        builder.append_value(&text);
    }
    Ok(Arc::new(builder.finish()))
}

/// Cuts a text to so many characters, or fills it up with blanks.
fn fit(text: &mut String, pad: bool, length: usize) {
    // No text has more characters than bytes.
    if text.len() > length
        && let Some((end, _)) = text.char_indices().nth(length)
    {
        text.truncate(end);
    }
    if pad {
        let characters = text.chars().count();
        text.extend(std::iter::repeat_n(' ', length.saturating_sub(characters)));
    }
}

fn write(out: &mut String, array: &dyn Array, row: usize, ty: &LogicalType, zone: Zone) -> Result<()> {
    if array.is_null(row) {
        out.push_str("NULL");
        return Ok(());
    }
    let wrong = || Error::bug(format!("a column of {ty} holds {}", array.data_type()));
    match &ty.kind {
        TypeKind::Boolean => out.push_str(if array.as_boolean_opt().ok_or_else(wrong)?.value(row) { "TRUE" } else { "FALSE" }),
        TypeKind::Binary(_) | TypeKind::Varbinary(_) => {
            out.push_str(&String::from_utf8_lossy(array.as_binary_opt::<i32>().ok_or_else(wrong)?.value(row)));
        }
        TypeKind::Timestamp(precision) => timestamp(out, array, row, *precision, None).ok_or_else(wrong)?,
        TypeKind::TimestampLtz(precision) => timestamp(out, array, row, *precision, Some(zone)).ok_or_else(wrong)?,
        TypeKind::Array(element) => {
            let items = array.as_list_opt::<i32>().ok_or_else(wrong)?.value(row);
            out.push('[');
            for i in 0..items.len() {
                separate(out, i);
                write(out, items.as_ref(), i, element, zone)?;
            }
            out.push(']');
        }
        TypeKind::Map(..) | TypeKind::Multiset(_) => {
            let entries = array.as_map_opt().ok_or_else(wrong)?.value(row);
            let count = TypeKind::Int.not_null();
            let (key, value) = match &ty.kind {
                TypeKind::Map(key, value) => (key.as_ref(), value.as_ref()),
                TypeKind::Multiset(element) => (element.as_ref(), &count),
                _ => return Err(wrong()),
            };
            out.push('{');
            for i in 0..entries.len() {
                separate(out, i);
                write(out, entries.column(0).as_ref(), i, key, zone)?;
                out.push('=');
                write(out, entries.column(1).as_ref(), i, value, zone)?;
            }
            out.push('}');
        }
        TypeKind::Row(fields) => {
            let parts = array.as_struct_opt().ok_or_else(wrong)?;
            out.push('(');
            for (i, (part, field)) in parts.columns().iter().zip(fields).enumerate() {
                separate(out, i);
                write(out, part.as_ref(), row, &field.ty, zone)?;
            }
            out.push(')');
        }
        _ => write_nested_value(out, array, row, ty)?,
    }
    Ok(())
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        let _ = out.write_str(", ");
    }
}

/// The wall clock's time, with as many fraction digits as the precision says, and more if there are more.
fn timestamp(out: &mut String, array: &dyn Array, row: usize, precision: u8, zone: Option<Zone>) -> Option<()> {
    fn value<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, row: usize) -> Option<i64> {
        Some(array.as_primitive_opt::<T>()?.value(row))
    }
    let unit = timestamp_unit(precision);
    let instant = match array.data_type() {
        DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, _) => value::<TimestampMillisecondType>(array, row)?,
        DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => value::<TimestampMicrosecondType>(array, row)?,
        _ => value::<TimestampNanosecondType>(array, row)?,
    };
    let offset_s = zone.map_or(0, |zone| zone.offset_at(instant.div_euclid(per_second(unit) / 1000)));
    write_timestamp(out, instant.wrapping_add(i64::from(offset_s) * per_second(unit)), unit, precision);
    Some(())
}
