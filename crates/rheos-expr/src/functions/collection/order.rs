//! Elements in order: sorted, reversed, cut out, the least and the greatest.

use std::cmp::Ordering;

use arrow::array::{BooleanArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::Int64Type;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, booleans, numbers, result, rows_to_compute};

use super::element::take_elements;
use super::spans::{Picks, Spans};

/// NULL elements do not count.
pub(super) fn extreme(call: &Call<'_>, greatest: bool) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    let elements = spans.elements.as_ref();
    let compare = make_comparator(elements, elements, SortOptions::default())?;
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let places = (0..rows_to_compute(call)).map(|row| {
        let candidates = spans.get(row).into_iter().flatten().filter(|i| elements.is_valid(*i));
        Ok(candidates.reduce(|best, i| if compare(i, best) == wanted { i } else { best }))
    });
    take_elements(call, &spans.elements, places)
}

pub(super) fn reverse(call: &Call<'_>) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let span = spans.get(row);
        span.clone().into_iter().flatten().rev().for_each(|i| picks.pick(0, i));
        picks.end(span.is_some());
    }
    Ok(result(call, picks.finish_list(call, &[spans.elements.as_ref()])?))
}

/// Positions count from 1, from the end if negative; 0 is taken as 1. Both ends are included.
pub(super) fn slice(call: &Call<'_>) -> Result<Value> {
    let (spans, start) = (Spans::of(call, 0)?, numbers::<Int64Type>(call, 1)?);
    let end: Option<Rows<'_, _>> = if call.args.len() > 2 { Some(numbers::<Int64Type>(call, 2)?) } else { None };
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let end = end.as_ref().map_or(Some(-1), |e| e.get(row));
        let (Some(span), Some(start), Some(end)) = (spans.get(row), start.get(row), end) else {
            picks.end(false);
            continue;
        };
        let length = span.len() as i64;
        let position = |i: i64| match i {
            0 => 1,
            i if i < 0 => i.saturating_add(length + 1),
            i => i,
        };
        let (first, last) = (position(start).max(1), position(end).min(length));
        for i in first..=last {
            picks.pick(0, span.start + i as usize - 1);
        }
        picks.end(true);
    }
    Ok(result(call, picks.finish_list(call, &[spans.elements.as_ref()])?))
}

/// Ascending unless told otherwise; NULL first if ascending, unless told otherwise.
pub(super) fn sort(call: &Call<'_>) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    let option = |index: usize| if call.args.len() > index { booleans(call, index).map(Some) } else { Ok(None) };
    let (ascending, nulls_first): (Option<Rows<'_, BooleanArray>>, _) = (option(1)?, option(2)?);
    let elements = spans.elements.as_ref();
    let options = [false, true].map(|descending| [false, true].map(|nulls_first| SortOptions { descending, nulls_first }));
    let comparators = options.map(|pair| pair.map(|options| make_comparator(elements, elements, options)));
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let ascending = ascending.as_ref().map_or(Some(true), |a| a.get(row));
        let nulls_first = nulls_first.as_ref().map_or(ascending, |n| n.get(row));
        let (Some(span), Some(ascending), Some(nulls_first)) = (spans.get(row), ascending, nulls_first) else {
            picks.end(false);
            continue;
        };
        span.for_each(|i| picks.pick(0, i));
        let compare = comparators[usize::from(!ascending)][usize::from(nulls_first)].as_ref();
        let compare = compare.map_err(|e| rheos_core::error::Error::bug(e.to_string()))?;
        picks.current_mut().sort_by(|(_, a), (_, b)| compare(*a, *b));
        picks.end(true);
    }
    Ok(result(call, picks.finish_list(call, &[elements])?))
}
