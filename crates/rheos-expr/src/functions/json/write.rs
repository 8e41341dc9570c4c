//! Values written as JSON, names in order, so that equal values read alike.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use rheos_core::error::{Error, Result};
use rheos_core::text::{write_date, write_decimal, write_double, write_float, write_integer, write_time};
use rheos_core::types::{LogicalType, TypeKind};

use crate::functions::time::iso::{IsoForm, write_iso_timestamp};

use super::number::write_number;
use super::value::Json;

/// Appends a value of a document.
pub(super) fn write_json(out: &mut String, value: &Json<'_>) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Json::Number(text) => write_number(out, text),
        Json::Text(text) => write_text(out, text),
        Json::Array(items) => write_array(out, items.iter()),
        Json::Object(entries) => {
            let mut order: Vec<usize> = (0..entries.len()).collect();
            order.sort_by(|a, b| entries[*a].0.cmp(&entries[*b].0));
            out.push('{');
            let mut first = true;
            for (i, at) in order.iter().enumerate() {
                let (name, value) = &entries[*at];
                // Of equal names the last counts; the order is stable.
                if order.get(i + 1).is_some_and(|next| entries[*next].0 == *name) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write_json(out, value);
            }
            out.push('}');
        }
    }
}

/// Appends several values as an array.
pub(super) fn write_array<'a, 'j: 'a>(out: &mut String, items: impl Iterator<Item = &'a Json<'j>>) {
    out.push('[');
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_json(out, item);
    }
    out.push(']');
}

/// Appends a text in quotes.
pub(super) fn write_text(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            8 => "\\b",
            12 => "\\f",
            0..0x20 => "\\u00",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(escaped);
        if escaped == "\\u00" {
            out.extend([byte >> 4, byte & 15].map(|d| char::from(DIGITS[usize::from(d)])));
        }
        from = at + 1;
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Appends row `row` of a column; NULL is null.
pub(super) fn write_row(out: &mut String, array: &dyn Array, row: usize, ty: &LogicalType) -> Result<()> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match &ty.kind {
        TypeKind::Null => out.push_str("null"),
        TypeKind::Boolean => out.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        TypeKind::TinyInt => write_integer(out, array.as_primitive::<Int8Type>().value(row).into()),
        TypeKind::SmallInt => write_integer(out, array.as_primitive::<Int16Type>().value(row).into()),
        TypeKind::Int => write_integer(out, array.as_primitive::<Int32Type>().value(row).into()),
        TypeKind::BigInt => write_integer(out, array.as_primitive::<Int64Type>().value(row)),
        TypeKind::Float => write_real(out, |text| write_float(text, array.as_primitive::<Float32Type>().value(row))),
        TypeKind::Double => write_real(out, |text| write_double(text, array.as_primitive::<Float64Type>().value(row))),
        TypeKind::Decimal(_, scale) => write_decimal(out, array.as_primitive::<Decimal128Type>().value(row), *scale),
        TypeKind::Char(_) | TypeKind::Varchar(_) => write_text(out, array.as_string::<i32>().value(row)),
        TypeKind::Binary(_) | TypeKind::Varbinary(_) => {
            out.push('"');
            STANDARD.encode_string(array.as_binary::<i32>().value(row), out);
            out.push('"');
        }
        TypeKind::Date => {
            out.push('"');
            write_date(out, array.as_primitive::<Date32Type>().value(row));
            out.push('"');
        }
        TypeKind::Time(precision) => {
            out.push('"');
            write_time(out, array.as_primitive::<Time32MillisecondType>().value(row), *precision.min(&3));
            out.push('"');
        }
        TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => {
            out.push('"');
            write_iso_timestamp(out, array, row, IsoForm::Long)?;
            out.push_str(if matches!(ty.kind, TypeKind::TimestampLtz(_)) { "Z\"" } else { "\"" });
        }
        TypeKind::Array(element) => {
            let items = array.as_list::<i32>().value(row);
            out.push('[');
            for i in 0..items.len() {
                if i > 0 {
                    out.push(',');
                }
                write_row(out, items.as_ref(), i, element)?;
            }
            out.push(']');
        }
        TypeKind::Row(fields) => {
            let columns = array.as_struct().columns();
            let mut order: Vec<usize> = (0..fields.len()).collect();
            order.sort_by(|a, b| fields[*a].name.cmp(&fields[*b].name));
            write_object(out, order, |i| &fields[i].name, |out, i| write_row(out, columns[i].as_ref(), row, &fields[i].ty))?;
        }
        TypeKind::Map(key, value) => write_map(out, array, row, key, value)?,
        TypeKind::Multiset(element) => write_map(out, array, row, element, &TypeKind::Int.not_null())?,
        TypeKind::IntervalYearMonth | TypeKind::IntervalDayTime => {
            return Err(Error::config(format!("a value of type {} has no form in JSON", ty.kind)));
        }
    }
    Ok(())
}

/// NaN and the infinities are texts.
fn write_real(out: &mut String, write: impl FnOnce(&mut String)) {
    let mut text = String::with_capacity(24);
    write(&mut text);
    if text.ends_with(|c: char| c.is_ascii_digit()) { write_number(out, &text) } else { write_text(out, &text) }
}

fn write_map(out: &mut String, array: &dyn Array, row: usize, key: &LogicalType, value: &LogicalType) -> Result<()> {
    if !key.kind.is_character() {
        return Err(Error::config(format!("a map with keys of type {} has no form in JSON; its keys must be texts", key.kind)));
    }
    let entries = array.as_map().value(row);
    let (keys, values) = (entries.column(0).as_string::<i32>(), entries.column(1));
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| keys.value(*a).cmp(keys.value(*b)));
    write_object(out, order, |i| keys.value(i), |out, i| write_row(out, values.as_ref(), i, value))
}

fn write_object<'n>(
    out: &mut String,
    order: Vec<usize>,
    name: impl Fn(usize) -> &'n str,
    write: impl Fn(&mut String, usize) -> Result<()>,
) -> Result<()> {
    out.push('{');
    for (i, at) in order.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_text(out, name(at));
        out.push(':');
        write(out, at)?;
    }
    out.push('}');
    Ok(())
}
