//! Arrays as sets and lists of elements, put together.

use std::cmp::Ordering;

use arrow::array::{Array, DynComparator, make_comparator};
use arrow::compute::SortOptions;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, result, rows_to_compute};

use super::spans::{Picks, Spans};

/// Equality of elements of two columns; NULL equals NULL.
struct Equality {
    /// By the left column, then the right.
    comparators: [[DynComparator; 2]; 2],
}

impl Equality {
    fn of(left: &dyn Array, right: &dyn Array) -> Result<Equality> {
        let compare = |a, b| make_comparator(a, b, SortOptions::default());
        Ok(Equality { comparators: [[compare(left, left)?, compare(left, right)?], [compare(right, left)?, compare(right, right)?]] })
    }

    fn equal(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        self.comparators[a.0][b.0](a.1, b.1) == Ordering::Equal
    }
}

pub(super) fn distinct(call: &Call<'_>) -> Result<Value> {
    let spans = Spans::of(call, 0)?;
    let elements = spans.elements.as_ref();
    let compare = make_comparator(elements, elements, SortOptions::default())?;
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let span = spans.get(row);
        for i in span.clone().into_iter().flatten() {
            if !picks.current().iter().any(|(_, seen)| compare(*seen, i) == Ordering::Equal) {
                picks.pick(0, i);
            }
        }
        picks.end(span.is_some());
    }
    Ok(result(call, picks.finish_list(call, &[elements])?))
}

/// Elements of two arrays, each once. `keep` says of an element whether it is wanted, given whether the right array has it.
fn as_sets(call: &Call<'_>, with_right: bool, keep: fn(bool) -> bool) -> Result<Value> {
    let (left, right) = (Spans::of(call, 0)?, Spans::of(call, 1)?);
    let equality = Equality::of(left.elements.as_ref(), right.elements.as_ref())?;
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let (Some(left), Some(right)) = (left.get(row), right.get(row)) else {
            picks.end(false);
            continue;
        };
        let more = if with_right { right.clone() } else { 0..0 };
        for candidate in left.map(|i| (0, i)).chain(more.map(|i| (1, i))) {
            let seen = picks.current().iter().any(|seen| equality.equal(*seen, candidate));
            if !seen && keep(right.clone().any(|i| equality.equal(candidate, (1, i)))) {
                picks.pick(candidate.0, candidate.1);
            }
        }
        picks.end(true);
    }
    Ok(result(call, picks.finish_list(call, &[left.elements.as_ref(), right.elements.as_ref()])?))
}

pub(super) fn union(call: &Call<'_>) -> Result<Value> {
    as_sets(call, true, |_| true)
}

pub(super) fn except(call: &Call<'_>) -> Result<Value> {
    as_sets(call, false, |in_right| !in_right)
}

pub(super) fn intersect(call: &Call<'_>) -> Result<Value> {
    as_sets(call, false, |in_right| in_right)
}

pub(super) fn concat(call: &Call<'_>) -> Result<Value> {
    let parts = (0..call.args.len()).map(|i| Spans::of(call, i)).collect::<Result<Vec<_>>>()?;
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let spans: Option<Vec<_>> = parts.iter().map(|part| part.get(row)).collect();
        for (source, span) in spans.iter().flatten().enumerate() {
            span.clone().for_each(|i| picks.pick(source, i));
        }
        picks.end(spans.is_some());
    }
    let sources: Vec<&dyn Array> = parts.iter().map(|p| p.elements.as_ref()).collect();
    Ok(result(call, picks.finish_list(call, &sources)?))
}

pub(super) fn append(call: &Call<'_>) -> Result<Value> {
    extend(call, false)
}

pub(super) fn prepend(call: &Call<'_>) -> Result<Value> {
    extend(call, true)
}

fn extend(call: &Call<'_>, in_front: bool) -> Result<Value> {
    let (spans, added) = (Spans::of(call, 0)?, argument(call, 1)?);
    let mut picks = Picks::default();
    for row in 0..rows_to_compute(call) {
        let Some(span) = spans.get(row) else {
            picks.end(false);
            continue;
        };
        let new = if added.is_constant() { 0 } else { row };
        if in_front {
            picks.pick(1, new);
        }
        span.for_each(|i| picks.pick(0, i));
        if !in_front {
            picks.pick(1, new);
        }
        picks.end(true);
    }
    Ok(result(call, picks.finish_list(call, &[spans.elements.as_ref(), added.array().as_ref()])?))
}
