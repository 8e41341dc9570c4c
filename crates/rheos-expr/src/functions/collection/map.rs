//! Maps taken apart and put together.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, result, rows_to_compute};

use super::spans::{Picks, Spans};

/// An array of the map's entries or of one of their columns, without copying.
fn list_of(call: &Call<'_>, part: fn(&StructArray) -> ArrayRef) -> Result<Value> {
    let DataType::List(field) = call.result.to_arrow() else {
        return Err(Error::bug(format!("a function of maps gives {}", call.result)));
    };
    let map = argument(call, 0)?.array().as_map_opt().ok_or_else(|| Error::bug("a function of maps is given none"))?;
    let mut elements = part(map.entries());
    // The same columns under the fields of the result.
    if let (DataType::Struct(fields), Some(entries)) = (field.data_type(), elements.as_struct_opt()) {
        elements = Arc::new(StructArray::try_new(fields.clone(), entries.columns().to_vec(), entries.nulls().cloned())?);
    }
    Ok(result(call, Arc::new(ListArray::try_new(field, map.offsets().clone(), elements, map.nulls().cloned())?)))
}

pub(super) fn keys(call: &Call<'_>) -> Result<Value> {
    list_of(call, |entries| Arc::clone(entries.column(0)))
}

pub(super) fn values(call: &Call<'_>) -> Result<Value> {
    list_of(call, |entries| Arc::clone(entries.column(1)))
}

pub(super) fn entries(call: &Call<'_>) -> Result<Value> {
    list_of(call, |entries| Arc::new(entries.clone()))
}

/// Keys and values picked alike, as maps of the type of the call's result.
fn finish(call: &Call<'_>, keys: (Picks, &[&dyn Array]), values: (Picks, &[&dyn Array])) -> Result<Value> {
    let DataType::Map(field, sorted) = call.result.to_arrow() else {
        return Err(Error::bug(format!("a function of maps gives {}", call.result)));
    };
    let DataType::Struct(fields) = field.data_type() else { return Err(Error::bug("the entries of a map are no rows")) };
    let (values, ..) = values.0.finish(values.1)?;
    let (keys, offsets, nulls) = keys.0.finish(keys.1)?;
    if keys.null_count() > 0 {
        return Err(Error::input("a key of a map is NULL"));
    }
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    Ok(result(call, Arc::new(MapArray::try_new(field, offsets, entries, nulls, sorted)?)))
}

/// Of equal keys the last counts, at the place of the first.
pub(super) fn from_arrays(call: &Call<'_>) -> Result<Value> {
    let (keys, values) = (Spans::of(call, 0)?, Spans::of(call, 1)?);
    let (key_elements, value_elements) = (keys.elements.as_ref(), values.elements.as_ref());
    let compare = make_comparator(key_elements, key_elements, SortOptions::default())?;
    let (mut picked_keys, mut picked_values) = (Picks::default(), Picks::default());
    for row in 0..rows_to_compute(call) {
        let (Some(keys), Some(values)) = (keys.get(row), values.get(row)) else {
            picked_keys.end(false);
            picked_values.end(false);
            continue;
        };
        if keys.len() != values.len() {
            return Err(Error::input(format!("MAP_FROM_ARRAYS: there are {} keys, but {} values", keys.len(), values.len())));
        }
        for (key, value) in keys.zip(values) {
            match picked_keys.current().iter().position(|(_, seen)| compare(*seen, key) == Ordering::Equal) {
                Some(at) => picked_values.current_mut()[at] = (0, value),
                None => {
                    picked_keys.pick(0, key);
                    picked_values.pick(0, value);
                }
            }
        }
        picked_keys.end(true);
        picked_values.end(true);
    }
    finish(call, (picked_keys, &[key_elements]), (picked_values, &[value_elements]))
}

/// Of equal keys that of the last map counts, at the place of the first.
pub(super) fn union(call: &Call<'_>) -> Result<Value> {
    let maps = (0..call.args.len()).map(|i| Spans::of(call, i)).collect::<Result<Vec<_>>>()?;
    let column = |i: usize| maps.iter().map(move |m| m.elements.as_struct().column(i).as_ref()).collect::<Vec<&dyn Array>>();
    let (keys, values) = (column(0), column(1));
    let mut comparators = Vec::with_capacity(maps.len());
    for left in &keys {
        comparators.push(keys.iter().map(|right| make_comparator(*left, *right, SortOptions::default())).collect::<Result<Vec<_>, _>>()?);
    }
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let spans: Option<Vec<_>> = maps.iter().map(|map| map.get(row)).collect();
        for (source, span) in spans.iter().flatten().enumerate() {
            for i in span.clone() {
                match picks.current().iter().position(|(s, seen)| comparators[*s][source](*seen, i) == Ordering::Equal) {
                    Some(at) => picks.current_mut()[at] = (source, i),
                    None => picks.pick(source, i),
                }
            }
        }
        picks.end(spans.is_some());
    }
    finish(call, (picks.clone(), &keys), (picks, &values))
}
