//! The columns of a channel: which types can cross processes, and their names and types as JSON.
//!
//! Arrow's own reader of schemas panics on some bytes, and types that refer to dictionaries need more than one message; so the
//! schema is JSON, and the types are those that SQL has.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use rheos_core::error::{Error, Result};

/// How deep types may be nested.
const DEEPEST: usize = 32;

/// The schema as bytes; an error where one of its types cannot cross processes.
pub(crate) fn encode(schema: &Schema) -> Result<Vec<u8>> {
    check(schema).map_err(|(field, ty)| {
        Error::config(format!(
            "column {field} of type {ty} cannot cross processes; cast it to a type of SQL, or run the job in one process"
        ))
    })?;
    Ok(serde_json::to_vec(schema)?)
}

/// The schema of what [`encode`] gave.
pub(crate) fn decode(bytes: &[u8]) -> Result<SchemaRef> {
    let schema: Schema = serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("a schema cannot be read: {e}")).caused_by(e))?;
    check(&schema)
        .map_err(|(field, ty)| Error::corrupt(format!("a schema has column {field} of type {ty}, which cannot cross processes")))?;
    Ok(schema.into())
}

fn check(schema: &Schema) -> Result<(), (String, DataType)> {
    schema.fields().iter().try_for_each(|f| check_field(f, 0).map_err(|ty| (f.name().clone(), ty)))
}

fn check_field(field: &Field, depth: usize) -> Result<(), DataType> {
    let ty = field.data_type();
    let refuse = || Err(ty.clone());
    if depth > DEEPEST {
        return refuse();
    }
    match ty {
        DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => Ok(()),
        DataType::FixedSizeBinary(width) if *width >= 0 => Ok(()),
        DataType::List(item) | DataType::LargeList(item) => check_field(item, depth + 1),
        DataType::FixedSizeList(item, size) if *size >= 0 => check_field(item, depth + 1),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => check_field(entries, depth + 1),
            _ => refuse(),
        },
        DataType::Struct(fields) => fields.iter().try_for_each(|f| check_field(f, depth + 1)),
        ty if ty.is_primitive() => Ok(()),
        _ => refuse(),
    }
}
