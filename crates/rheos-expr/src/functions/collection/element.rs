//! What arrays hold: how much, the only one, all as a text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, UInt32Array};
use arrow::compute::take;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{collect, result, rows_to_compute, texts, write_texts};

use super::spans::Spans;

pub(super) fn cardinality(call: &Call<'_>) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    collect::<Int32Array, _>(call, |row| Some(spans.get(row)?.len() as i32))
}

/// The element at a place for each row, NULL where there is none.
pub(super) fn take_elements(call: &Call<'_>, elements: &ArrayRef, places: impl Iterator<Item = Result<Option<usize>>>) -> Result<Value> {
    let places = places.map(|p| Ok(p?.map(|p| p as u32))).collect::<Result<UInt32Array>>()?;
    Ok(result(call, take(elements, &places, None)?))
}

pub(super) fn element(call: &Call<'_>) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    let only = (0..rows_to_compute(call)).map(|row| match spans.get(row) {
        Some(span) if span.len() > 1 => Err(Error::input(format!("ELEMENT: an array has {} elements instead of one", span.len()))),
        Some(span) if span.len() == 1 => Ok(Some(span.start)),
        _ => Ok(None),
    });
    take_elements(call, &spans.elements, only)
}

/// Without a replacement, NULL elements are left out.
pub(super) fn join(call: &Call<'_>) -> Result<Value> {
    let (spans, delimiter) = (Spans::of(call, 0)?, texts(call, 1)?);
    let replacement = if call.args.len() > 2 { Some(texts(call, 2)?) } else { None };
    let elements = Arc::clone(&spans.elements);
    let elements = elements.as_string::<i32>();
    write_texts(call, |row, out| {
        let (span, delimiter) = (spans.get(row)?, delimiter.get(row)?);
        let replacement = match &replacement {
            Some(texts) => Some(texts.get(row)?),
            None => None,
        };
        let mut first = true;
        for i in span {
            let Some(text) = (if elements.is_valid(i) { Some(elements.value(i)) } else { replacement }) else { continue };
            if !std::mem::take(&mut first) {
                out.push_str(delimiter);
            }
            out.push_str(text);
        }
        Some(())
    })
}
