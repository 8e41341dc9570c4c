//! Lists of values as JSON texts.

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow::util::display::array_value_to_string;

use rheos_core::error::{Error, Result};
use rheos_core::text;

/// One JSON array a list.
pub(super) fn arrays(offsets: &OffsetBuffer<i32>, values: &ArrayRef) -> Result<StringArray> {
    let mut builder = StringBuilder::new();
    let mut out = String::new();
    for range in offsets.windows(2).map(|w| w[0] as usize..w[1] as usize) {
        out.clear();
        write_items(&mut out, values.as_ref(), range)?;
        builder.append_value(&out);
    }
    Ok(builder.finish())
}

/// One JSON object a list of keys and values; where a key comes again, its last value stands in its first place.
pub(super) fn objects(offsets: &OffsetBuffer<i32>, keys: &ArrayRef, values: &ArrayRef) -> Result<StringArray> {
    let keys = keys.as_string::<i32>();
    let mut builder = StringBuilder::new();
    for range in offsets.windows(2).map(|w| w[0] as usize..w[1] as usize) {
        let mut entries = serde_json::Map::new();
        let mut rows: Vec<usize> = Vec::new();
        for row in range {
            if keys.is_null(row) {
                return Err(Error::input("a key of JSON_OBJECTAGG is NULL: leave such rows out by FILTER (WHERE ... IS NOT NULL)"));
            }
            let place = entries.len();
            match entries.get(keys.value(row)).and_then(serde_json::Value::as_u64) {
                Some(place) => rows[place as usize] = row,
                None => {
                    entries.insert(keys.value(row).to_string(), place.into());
                    rows.push(row);
                }
            }
        }
        let mut out = String::from("{");
        for (i, row) in rows.iter().enumerate() {
            separate(&mut out, i);
            write_text(&mut out, keys.value(*row));
            out.push(':');
            write_value(&mut out, values.as_ref(), *row)?;
        }
        out.push('}');
        builder.append_value(&out);
    }
    Ok(builder.finish())
}

fn write_items(out: &mut String, values: &dyn Array, rows: std::ops::Range<usize>) -> Result<()> {
    out.push('[');
    for (i, row) in rows.enumerate() {
        separate(out, i);
        write_value(out, values, row)?;
    }
    out.push(']');
    Ok(())
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn write_text(out: &mut String, value: &str) {
    out.push_str(&serde_json::Value::from(value).to_string());
}

fn write_value(out: &mut String, array: &dyn Array, row: usize) -> Result<()> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.push_str("null"),
        DataType::Boolean => out.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int8 => text::write_integer(out, array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => text::write_integer(out, array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => text::write_integer(out, array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => text::write_integer(out, array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            write_number(out, value.is_finite(), |out| text::write_float(out, value));
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            write_number(out, value.is_finite(), |out| text::write_double(out, value));
        }
        DataType::Decimal128(_, scale) => text::write_decimal(out, array.as_primitive::<Decimal128Type>().value(row), *scale as u8),
        DataType::Utf8 => write_text(out, array.as_string::<i32>().value(row)),
        DataType::Date32 => quoted(out, |out| text::write_date(out, array.as_primitive::<Date32Type>().value(row))),
        DataType::Time32(_) => quoted(out, |out| text::write_time(out, array.as_primitive::<Time32MillisecondType>().value(row), 3)),
        DataType::Timestamp(unit, zone) => {
            let value = match unit {
                TimeUnit::Second | TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row),
            };
            quoted(out, |out| {
                text::write_timestamp(out, value, *unit, 3);
                if zone.is_some() {
                    out.push('Z');
                }
            });
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            write_items(out, items.as_ref(), 0..items.len())?;
        }
        DataType::Struct(fields) => {
            out.push('{');
            for (i, (field, part)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                separate(out, i);
                write_text(out, field.name());
                out.push(':');
                write_value(out, part.as_ref(), row)?;
            }
            out.push('}');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            out.push('{');
            for i in 0..entries.len() {
                separate(out, i);
                let mut key = String::new();
                write_value(&mut key, entries.column(0).as_ref(), i)?;
                // A text has its quotes already.
                if key.starts_with('"') {
                    out.push_str(&key)
                } else {
                    write_text(out, &key)
                }
                out.push(':');
                write_value(out, entries.column(1).as_ref(), i)?;
            }
            out.push('}');
        }
        _ => write_text(out, &array_value_to_string(array, row)?),
    }
    Ok(())
}

/// A number; what JSON has no number for is a text.
fn write_number(out: &mut String, finite: bool, write: impl FnOnce(&mut String)) {
    if finite { write(out) } else { quoted(out, write) }
}

fn quoted(out: &mut String, write: impl FnOnce(&mut String)) {
    out.push('"');
    write(out);
    out.push('"');
}
