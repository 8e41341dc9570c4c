//! ROW(...), ARRAY[...] and MAP[...].

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, make_comparator};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, interleave};
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};
use rheos_core::schema::Field;
use rheos_core::types::{LogicalType, TypeKind};

use crate::build::common_type;
use crate::function::{Arg, Call, Signature, Value};
use crate::functions::kernel::{result, rows_to_compute};
use crate::functions::signature::count;

/// Fields are named as Flink names them: EXPR$0, EXPR$1.
pub(super) fn resolve_row(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let fields = args.iter().enumerate().map(|(i, arg)| Field::new(format!("EXPR${i}"), arg.ty().clone())).collect();
    Ok(Signature { args: args.iter().map(|a| a.ty().clone()).collect(), result: TypeKind::Row(fields).not_null() })
}

pub(super) fn row(call: &Call<'_>) -> Result<Value> {
    let DataType::Struct(fields) = call.result.to_arrow() else {
        return Err(Error::bug("ROW of a type that is none"));
    };
    let rows = rows_to_compute(call);
    let columns = call.args.iter().map(|a| a.clone().into_column(rows)).collect::<Result<Vec<_>>>()?;
    Ok(result(call, Arc::new(StructArray::try_new_with_length(fields, columns, None, rows)?)))
}

fn common<'a>(args: impl Iterator<Item = &'a Arg<'a>>, what: &str) -> Result<LogicalType, String> {
    let types: Vec<LogicalType> = args.map(|a| a.ty().clone()).collect();
    common_type(&types).ok_or_else(|| {
        let kinds = types.iter().map(|t| t.kind.to_string()).collect::<Vec<_>>();
        format!("the {what} have no common type: {}", kinds.join(", "))
    })
}

pub(super) fn resolve_array(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let element = common(args.iter(), "elements")?;
    Ok(Signature { args: vec![element.clone(); args.len()], result: TypeKind::Array(Box::new(element)).not_null() })
}

pub(super) fn array(call: &Call<'_>) -> Result<Value> {
    let DataType::List(field) = call.result.to_arrow() else {
        return Err(Error::bug("ARRAY of a type that is none"));
    };
    let rows = rows_to_compute(call);
    let parts: Vec<&Value> = call.args.iter().collect();
    let items = by_rows(&parts, rows)?;
    let offsets = OffsetBuffer::from_repeated_length(parts.len(), rows);
    Ok(result(call, Arc::new(ListArray::try_new(field, offsets, items, None)?)))
}

/// The values of all parts for the first row, then for the second, and so on.
fn by_rows(parts: &[&Value], rows: usize) -> Result<ArrayRef> {
    let sources: Vec<&dyn Array> = parts.iter().map(|p| p.array().as_ref()).collect();
    let places: Vec<(usize, usize)> =
        (0..rows).flat_map(|row| parts.iter().enumerate().map(move |(i, part)| (i, if part.is_constant() { 0 } else { row }))).collect();
    Ok(interleave(&sources, &places)?)
}

pub(super) fn resolve_map(args: &[Arg<'_>]) -> Result<Signature, String> {
    if args.is_empty() || args.len() % 2 == 1 {
        return Err(format!("takes keys and values in turn, got {} arguments", args.len()));
    }
    let key = common(args.iter().step_by(2), "keys")?;
    let value = common(args.iter().skip(1).step_by(2), "values")?;
    let types = (0..args.len()).map(|i| if i % 2 == 0 { key.clone() } else { value.clone() }).collect();
    Ok(Signature { args: types, result: TypeKind::Map(Box::new(key), Box::new(value)).not_null() })
}

/// Of equal keys the last counts.
pub(super) fn map(call: &Call<'_>) -> Result<Value> {
    let DataType::Map(entries, _) = call.result.to_arrow() else {
        return Err(Error::bug("MAP of a type that is none"));
    };
    let DataType::Struct(fields) = entries.data_type().clone() else {
        return Err(Error::bug("a MAP whose entries are no rows"));
    };
    let rows = rows_to_compute(call);
    let keys = by_rows(&call.args.iter().step_by(2).collect::<Vec<_>>(), rows)?;
    let values = by_rows(&call.args.iter().skip(1).step_by(2).collect::<Vec<_>>(), rows)?;
    if keys.null_count() > 0 {
        return Err(Error::input("a MAP key is NULL"));
    }
    let size = call.args.len() / 2;
    let same = make_comparator(keys.as_ref(), keys.as_ref(), SortOptions::default())?;
    let mut kept = Vec::with_capacity(keys.len());
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let of_row = row * size..(row + 1) * size;
        let before = kept.len();
        kept.extend(of_row.clone().filter(|i| (i + 1..of_row.end).all(|later| same(*i, later).is_ne())).map(|i| i as u32));
        lengths.push(kept.len() - before);
    }
    let (keys, values) = if kept.len() == keys.len() {
        (keys, values)
    } else {
        let kept = arrow::array::UInt32Array::from(kept);
        (arrow::compute::take(&keys, &kept, None)?, arrow::compute::take(&values, &kept, None)?)
    };
    let pairs = StructArray::try_new(fields, vec![keys, values], None)?;
    Ok(result(call, Arc::new(MapArray::try_new(entries, OffsetBuffer::from_lengths(lengths), pairs, None, false)?)))
}
