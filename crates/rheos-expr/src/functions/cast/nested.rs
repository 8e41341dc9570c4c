//! ARRAY, MAP, MULTISET and ROW, part by part.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::{Conversion, conversion as between};
use crate::expr::EvalConfig;

/// A part that cannot be converted is an error: see `super::or_null_as_a_whole` for TRY_CAST.
pub(super) fn conversion(from: &LogicalType, to: &LogicalType, config: &EvalConfig) -> Result<Conversion> {
    let wrong = |array: &ArrayRef| Error::bug(format!("no conversion of {}", array.data_type()));
    let count = TypeKind::Int.not_null();
    match (&from.kind, &to.kind, to.to_arrow()) {
        (TypeKind::Array(a), TypeKind::Array(b), DataType::List(field)) => {
            let element = between(a, b, false, config)?;
            Ok(Conversion::new(move |array| {
                let list = array.as_list_opt::<i32>().ok_or_else(|| wrong(array))?;
                let (offsets, start, length) = compact(list.offsets());
                let items = (element.apply)(&list.values().slice(start, length))?;
                Ok(Arc::new(ListArray::try_new(Arc::clone(&field), offsets, items, list.nulls().cloned())?))
            }))
        }
        (TypeKind::Map(ak, av), TypeKind::Map(bk, bv), arrow) => entries((ak, av), (bk, bv), arrow, config),
        (TypeKind::Multiset(a), TypeKind::Multiset(b), arrow) => entries((a, &count), (b, &count), arrow, config),
        (TypeKind::Row(a), TypeKind::Row(b), DataType::Struct(fields)) if a.len() == b.len() => {
            let parts = a.iter().zip(b).map(|(a, b)| between(&a.ty, &b.ty, false, config)).collect::<Result<Vec<_>>>()?;
            Ok(Conversion::new(move |array| {
                let row = array.as_struct_opt().ok_or_else(|| wrong(array))?;
                let columns = row.columns().iter().zip(&parts).map(|(c, part)| (part.apply)(c)).collect::<Result<Vec<_>>>()?;
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, row.nulls().cloned(), row.len())?))
            }))
        }
        _ => Err(Error::config(format!("a value of {from} cannot be cast to {to}"))),
    }
}

fn entries(
    from: (&LogicalType, &LogicalType),
    to: (&LogicalType, &LogicalType),
    arrow: DataType,
    config: &EvalConfig,
) -> Result<Conversion> {
    let DataType::Map(entries, _) = arrow else {
        return Err(Error::bug("a MAP that is carried by something else"));
    };
    let DataType::Struct(fields) = entries.data_type().clone() else {
        return Err(Error::bug("a MAP whose entries are no rows"));
    };
    let (key, value) = (between(from.0, to.0, false, config)?, between(from.1, to.1, false, config)?);
    Ok(Conversion::new(move |array| {
        let map = array.as_map_opt().ok_or_else(|| Error::bug(format!("no conversion of {}", array.data_type())))?;
        let (offsets, start, length) = compact(map.offsets());
        let keys = (key.apply)(&map.keys().slice(start, length))?;
        if keys.null_count() > 0 {
            return Err(Error::input("the key of a MAP cannot be cast"));
        }
        let values = (value.apply)(&map.values().slice(start, length))?;
        let pairs = StructArray::try_new_with_length(fields.clone(), vec![keys, values], None, length)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(&entries), offsets, pairs, map.nulls().cloned(), false)?))
    }))
}

/// The offsets from zero, and which part of the values they are about: what a slice has left out need not be converted.
fn compact(offsets: &OffsetBuffer<i32>) -> (OffsetBuffer<i32>, usize, usize) {
    let (start, end) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let shifted = if start == 0 { offsets.clone() } else { OffsetBuffer::from_lengths(offsets.windows(2).map(|w| (w[1] - w[0]) as usize)) };
    (shifted, start as usize, (end - start) as usize)
}
