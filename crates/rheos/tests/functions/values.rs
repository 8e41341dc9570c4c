//! Recorded values as columns of one row, and columns compared with them.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, DurationMillisecondArray, IntervalYearMonthArray, ListArray, MapArray, StringArray, StructArray,
    make_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{CastOptions, cast_with_options, concat};
use arrow::datatypes::DataType;
use rheos_core::text::write_nested_value;
use rheos_core::types::{LogicalType, TypeKind};
use serde_json::Value;

/// A column of one row that holds the value; `Err` says why it cannot.
pub(crate) fn column(value: &Value, ty: &LogicalType) -> Result<ArrayRef, String> {
    let arrow = ty.to_arrow();
    let wrong = || format!("the value {value} of {ty}");
    let value = &plain(value);
    match (value, &ty.kind, &arrow) {
        (Value::Null, ..) => Ok(new_null_array(&arrow, 1)),
        (Value::Array(items), TypeKind::Array(item), DataType::List(field)) => {
            let child = together(items.iter(), item)?;
            let list = ListArray::try_new(Arc::clone(field), OffsetBuffer::from_lengths([items.len()]), child, None);
            Ok(Arc::new(list.map_err(|e| e.to_string())?))
        }
        (Value::Object(entries), TypeKind::Map(key, item), DataType::Map(field, _)) => {
            let names: Vec<Value> = entries.keys().map(|key| key_value(key)).collect();
            if names.contains(&Value::Null) {
                return Err("a MAP with a key that is NULL".into());
            }
            let (keys, values) = (together(names.iter(), key)?, together(entries.values(), item)?);
            let DataType::Struct(fields) = field.data_type() else { return Err(wrong()) };
            let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(|e| e.to_string())?;
            let offsets = OffsetBuffer::from_lengths([entries.len()]);
            Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, pairs, None, false).map_err(|e| e.to_string())?))
        }
        (Value::Object(row), TypeKind::Row(fields), DataType::Struct(children)) => {
            let values = row.get("row").and_then(Value::as_array).filter(|v| v.len() == fields.len()).ok_or_else(wrong)?;
            let columns = values.iter().zip(fields).map(|(v, f)| column(v, &f.ty)).collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(children.clone(), columns, None).map_err(|e| e.to_string())?))
        }
        (_, TypeKind::Binary(_) | TypeKind::Varbinary(_), _) => {
            let bytes = bytes(value).ok_or_else(wrong)?;
            Ok(Arc::new(BinaryArray::from(vec![bytes.as_slice()])))
        }
        (_, TypeKind::IntervalDayTime, _) => Ok(Arc::new(DurationMillisecondArray::from(vec![milliseconds(value).ok_or_else(wrong)?]))),
        (_, TypeKind::IntervalYearMonth, _) => Ok(Arc::new(IntervalYearMonthArray::from(vec![months(value).ok_or_else(wrong)?]))),
        _ => scalar(value, &ty.kind, &arrow).ok_or_else(wrong),
    }
}

/// `singletonMap(k, v)` as a map, and a NULL that Java gives a type as NULL.
fn plain(value: &Value) -> Value {
    let Some(java) = value.get("java").and_then(Value::as_str) else { return value.clone() };
    if java.starts_with("lit(null,") {
        return Value::Null;
    }
    let pair = java.strip_prefix("singletonMap(").and_then(|j| j.strip_suffix(')')).and_then(|j| j.split_once(", "));
    match pair {
        Some((key, item)) => serde_json::json!({ key: serde_json::from_str::<Value>(item).unwrap_or_else(|_| item.into()) }),
        None => value.clone(),
    }
}

/// Keys are recorded as texts.
fn key_value(key: &str) -> Value {
    if key == "null" || key.starts_with("lit(null,") { Value::Null } else { Value::String(key.into()) }
}

fn together<'a>(values: impl Iterator<Item = &'a Value>, ty: &LogicalType) -> Result<ArrayRef, String> {
    let parts = values.map(|value| column(value, ty)).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    if parts.is_empty() {
        return Ok(new_null_array(&ty.to_arrow(), 0));
    }
    concat(&parts).map_err(|e| e.to_string())
}

/// Numbers, texts and times, all read by Arrow from their text.
fn scalar(value: &Value, kind: &TypeKind, arrow: &DataType) -> Option<ArrayRef> {
    let text = match (value, kind) {
        (Value::Bool(b), TypeKind::Boolean) => b.to_string(),
        (Value::Number(n), _) if kind.is_numeric() => n.to_string(),
        (Value::String(t), _) if kind.is_character() || kind.is_numeric() => t.clone(),
        // Java leaves seconds of zero out.
        (Value::String(t), TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_)) if t.len() == 16 => format!("{t}:00"),
        (Value::String(t), _) if kind.is_temporal() => t.clone(),
        _ => return None,
    };
    let exactly = CastOptions { safe: false, ..CastOptions::default() };
    // Arrow reads instants with their offset, but not into a zone.
    let without_zone = match arrow {
        DataType::Timestamp(unit, Some(_)) => &DataType::Timestamp(*unit, None),
        other => other,
    };
    let array = cast_with_options(&StringArray::from(vec![text]), without_zone, &exactly).ok()?;
    array.to_data().into_builder().data_type(arrow.clone()).build().ok().map(make_array)
}

/// Bytes of a text, or numbers and characters.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let byte = |item: &Value| match item {
        Value::Number(n) => n.as_i64().map(|n| n as u8),
        Value::String(t) => t.bytes().next().filter(|_| t.len() == 1),
        _ => None,
    };
    match value {
        Value::Array(items) => items.iter().map(byte).collect(),
        other => Some(other.get("bytes")?.as_str()?.as_bytes().to_vec()),
    }
}

fn milliseconds(value: &Value) -> Option<i64> {
    let java = value.get("java")?.as_str()?.strip_prefix("Duration.of")?.strip_suffix(')')?;
    let (unit, number) = java.split_once('(')?;
    let (number, unit) = number.split_once(',').unwrap_or((number, unit));
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "millis" => 1,
        "seconds" => 1_000,
        "minutes" => 60_000,
        "hours" => 3_600_000,
        "days" => 86_400_000,
        _ => return None,
    };
    number.trim().parse::<i64>().ok().map(|n| n * scale)
}

fn months(value: &Value) -> Option<i32> {
    value.get("java")?.as_str()?.strip_prefix("Period.ofMonths(")?.strip_suffix(')')?.parse().ok()
}

/// Whether the first row of a column is the recorded value.
pub(crate) fn agrees(got: &dyn Array, expected: &Value, ty: &LogicalType) -> bool {
    if got.is_null(0) || expected.is_null() {
        return got.is_null(0) && expected.is_null();
    }
    match (&ty.kind, expected) {
        (TypeKind::Array(item), Value::Array(items)) => {
            let Some(list) = got.as_list_opt::<i32>().map(|list| list.value(0)) else { return false };
            list.len() == items.len() && items.iter().enumerate().all(|(i, value)| agrees(&list.slice(i, 1), value, item))
        }
        (TypeKind::Map(key, item), Value::Object(entries)) => {
            let Some(map) = got.as_map_opt().map(|map| map.value(0)) else { return false };
            let (keys, values) = (map.column(0), map.column(1));
            let has = |(name, value): (&String, &Value)| {
                let at = (0..map.len()).find(|i| agrees(&keys.slice(*i, 1), &number_or_text(name, key), key));
                at.is_some_and(|i| agrees(&values.slice(i, 1), value, item))
            };
            map.len() == entries.len() && entries.iter().all(has)
        }
        (TypeKind::Row(fields), Value::Object(row)) => {
            let (Some(row), Some(got)) = (row.get("row").and_then(Value::as_array), got.as_struct_opt()) else { return false };
            let mut columns = got.columns().iter().zip(fields).zip(row);
            row.len() == fields.len() && columns.all(|((column, f), value)| agrees(column.as_ref(), value, &f.ty))
        }
        (TypeKind::Decimal(..), Value::String(_) | Value::Number(_)) => same_decimal(&text_of(got, ty), expected),
        (kind, Value::String(_)) if kind.is_numeric() && !kind.is_approximate() => false,
        _ => column(expected, ty).is_ok_and(|expected| got.slice(0, 1).to_data() == expected.to_data()),
    }
}

fn number_or_text(key: &str, ty: &LogicalType) -> Value {
    if ty.kind.is_numeric() { serde_json::from_str(key).unwrap_or_else(|_| key.into()) } else { key_value(key) }
}

/// Whether two decimals are the same number, whatever zeros follow the point.
fn same_decimal(got: &str, expected: &Value) -> bool {
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    short(got) == short(&expected.as_str().map_or_else(|| expected.to_string(), str::to_string))
}

/// The value of the first row, to be read by people.
pub(crate) fn text_of(column: &dyn Array, ty: &LogicalType) -> String {
    let mut text = String::new();
    match column.is_null(0) {
        true => text.push_str("NULL"),
        false => write_nested_value(&mut text, column, 0, ty).unwrap_or_else(|e| text.push_str(&e.to_string())),
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same(value: Value, expected: Value, ty: LogicalType) -> bool {
        agrees(column(&value, &ty).expect("a column").as_ref(), &expected, &ty)
    }

    #[test]
    fn values_agree_with_themselves_and_with_no_others() {
        let row = |n: i64| json!({"kind": "+I", "row": [n, "x"]});
        let fields = [("a", TypeKind::Int), ("b", TypeKind::STRING)];
        let row_type = TypeKind::Row(fields.map(|(name, kind)| rheos_core::schema::Field::new(name, kind.nullable())).to_vec());
        let map = TypeKind::Map(Box::new(TypeKind::Int.nullable()), Box::new(TypeKind::Date.nullable()));
        let cases = [
            (json!(1), json!(2), TypeKind::Int),
            (json!(null), json!(0), TypeKind::BigInt),
            (json!("1.20"), json!("1.21"), TypeKind::Decimal(5, 3)),
            (json!(0.1), json!(0.2), TypeKind::Float),
            (json!("5"), json!(5), TypeKind::STRING),
            (json!([1, 2]), json!({"bytes": "x"}), TypeKind::BYTES),
            (json!("2020-01-01T10:00"), json!("2020-01-01T10:00:00.001"), TypeKind::Timestamp(3)),
            (json!({"java": "Duration.of(5,HOURS)"}), json!({"java": "Duration.ofHours(4)"}), TypeKind::IntervalDayTime),
            (json!([1, null]), json!([1]), TypeKind::Array(Box::new(TypeKind::Int.nullable()))),
            (json!({"1": "2020-01-01"}), json!({"2": "2020-01-01"}), map),
            (row(1), row(2), row_type),
        ];
        for (value, other, kind) in cases {
            assert!(same(value.clone(), value.clone(), kind.clone().nullable()), "{value}");
            assert!(!same(value.clone(), other, kind.nullable()), "{value}");
        }
        assert!(same(json!("1.2"), json!("1.20"), TypeKind::Decimal(5, 1).nullable()));
    }
}
