//! Elements looked for. NULL is found where NULL is.

use std::cmp::Ordering;

use arrow::array::{BooleanArray, Int32Array, make_comparator};
use arrow::compute::SortOptions;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, collect, result, rows_to_compute};

use super::spans::{Picks, Spans};

/// The arrays, and whether an element (of all) equals the one that a row looks for.
fn sought<'a>(call: &Call<'a>) -> Result<(Spans<'a>, impl Fn(usize, usize) -> bool + use<'a>)> {
    let spans = Spans::of(call, 0)?;
    let wanted = argument(call, 1)?;
    let compare = make_comparator(spans.elements.as_ref(), wanted.array().as_ref(), SortOptions::default())?;
    Ok((spans, move |element, row| compare(element, if wanted.is_constant() { 0 } else { row }) == Ordering::Equal))
}

pub(super) fn contains(call: &Call<'_>) -> Result<Value> {
    let (spans, equals) = sought(call)?;
    collect::<BooleanArray, _>(call, |row| Some(spans.get(row)?.any(|i| equals(i, row))))
}

/// From 1, 0 if nowhere; NULL if the element is.
pub(super) fn position(call: &Call<'_>) -> Result<Value> {
    let (spans, equals) = sought(call)?;
    let wanted = argument(call, 1)?;
    collect::<Int32Array, _>(call, |row| {
        let mut span = spans.get(row)?;
        if wanted.array().is_null(if wanted.is_constant() { 0 } else { row }) {
            return None;
        }
        Some(span.position(|i| equals(i, row)).map_or(0, |at| at as i32 + 1))
    })
}

pub(super) fn remove(call: &Call<'_>) -> Result<Value> {
    let (spans, equals) = sought(call)?;
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let span = spans.get(row);
        picks_all(&mut picks, span.clone().into_iter().flatten().filter(|i| !equals(*i, row)));
        picks.end(span.is_some());
    }
    Ok(result(call, picks.finish_list(call, &[spans.elements.as_ref()])?))
}

fn picks_all(picks: &mut Picks, elements: impl Iterator<Item = usize>) {
    elements.for_each(|i| picks.pick(0, i));
}
