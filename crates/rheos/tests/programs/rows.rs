//! Recorded rows as batches.

use std::sync::Arc;

use arrow::datatypes::TimeUnit;
use rheos::{ColumnBatch, Error, Result, RowKind};
use rheos_core::batch::KindsBuilder;
use rheos_core::connector::TableSpec;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::{LogicalType, TypeKind};
use serde_json::{Value, json};

use super::program::Change;

/// The rows with the columns that the table projects; `None` where there are none.
pub(crate) fn batch<'a>(
    changes: impl Iterator<Item = &'a Change> + Clone,
    table: &TableSpec,
    metrics: &Arc<OperatorMetrics>,
) -> Result<Option<ColumnBatch>> {
    // The keys of JSON's maps are texts.
    let mut texts = table.clone();
    texts.schema = Schema::new(table.schema.fields.iter().map(|f| Field::new(f.name.clone(), text_keys(&f.ty))).collect());
    texts.options.insert("format".into(), "json".into());
    texts.options.insert("json.timestamp-format.standard".into(), "ISO-8601".into());
    let mut lines = String::new();
    for change in changes.clone() {
        // Some of Flink's rows have values for metadata that their table does not declare.
        if change.row.len() < table.schema.len() {
            return Err(Error::config(format!(
                "a row of {} values for the {} columns of '{}'",
                change.row.len(),
                table.schema.len(),
                table.name
            )));
        }
        let fields = table.schema.fields.iter().zip(&change.row);
        let object: serde_json::Map<String, Value> = fields.map(|(f, v)| (f.name.clone(), json_of(v, &f.ty))).collect();
        lines.push_str(&Value::Object(object).to_string());
        lines.push('\n');
    }
    let mut decoder = rheos::format::Format::of(&texts)?.decoder(&texts, Arc::clone(metrics));
    let read = decoder.decode(lines.as_bytes(), true, usize::MAX)?;
    assert_eq!(read, lines.len(), "all rows are read");
    let Some(decoded) = decoder.finish()? else { return Ok(None) };
    let schema = table.output_schema().to_arrow();
    let columns = decoded.columns().iter().zip(schema.fields()).map(|(column, field)| arrow::compute::cast(column, field.data_type()));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let (records, _) = decoded.with_columns(schema, columns)?.into_parts();
    let mut kinds = KindsBuilder::default();
    for change in changes {
        kinds.push(kind(&change.kind)?);
    }
    Ok(Some(kinds.finish(records)?))
}

/// The kind of a symbol such as `-U`.
pub(crate) fn kind(symbol: &str) -> Result<RowKind> {
    let kind = RowKind::ALL.into_iter().find(|k| k.symbol() == symbol);
    kind.ok_or_else(|| Error::config(format!("'{symbol}' is no kind of a row")))
}

fn text_keys(ty: &LogicalType) -> LogicalType {
    let kind = match &ty.kind {
        TypeKind::Map(_, value) => TypeKind::Map(Box::new(TypeKind::STRING.not_null()), value.clone()),
        other => other.clone(),
    };
    kind.with_nullable(ty.nullable)
}

/// A recorded value as the JSON format reads it.
fn json_of(value: &Value, ty: &LogicalType) -> Value {
    const MILLIS: &str = "DateTimeUtils.toLocalDateTime(";
    match (value, &ty.kind) {
        (Value::Object(o), TypeKind::Row(fields)) if o.contains_key("row") => {
            let values = o["row"].as_array().cloned().unwrap_or_default();
            Value::Object(fields.iter().zip(values).map(|(f, v)| (f.name.clone(), json_of(&v, &f.ty))).collect())
        }
        (Value::Object(o), _) if o.contains_key("java") => {
            let java = o["java"].as_str().unwrap_or_default();
            match java.strip_prefix(MILLIS).and_then(|rest| rest.strip_suffix(')')).and_then(|ms| ms.parse().ok()) {
                Some(ms) => {
                    let mut text = String::new();
                    rheos_core::text::write_timestamp(&mut text, ms, TimeUnit::Millisecond, 3);
                    json!(text.replace(' ', "T"))
                }
                None => json!(java),
            }
        }
        (Value::Array(items), TypeKind::Array(item)) => Value::Array(items.iter().map(|v| json_of(v, item)).collect()),
        // Java leaves seconds of zero out.
        (Value::String(text), TypeKind::Timestamp(_)) if text.len() == 16 => json!(format!("{text}:00")),
        (other, _) => other.clone(),
    }
}
