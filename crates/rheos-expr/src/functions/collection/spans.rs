//! Arrays by row as ranges of their elements, and arrays put together by picking elements.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave;
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};

use crate::function::Call;
use crate::functions::kernel::argument;

/// An argument of type ARRAY, MAP or MULTISET: where the elements of each row are.
pub(super) struct Spans<'a> {
    offsets: &'a [i32],
    nulls: Option<&'a NullBuffer>,
    constant: bool,
    /// All elements (of a map: its entries) of all rows.
    pub(super) elements: ArrayRef,
}

impl<'a> Spans<'a> {
    pub(super) fn of(call: &Call<'a>, index: usize) -> Result<Spans<'a>> {
        let value = argument(call, index)?;
        let array = value.array();
        let (offsets, elements): (&[i32], ArrayRef) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (list.value_offsets(), Arc::clone(list.values()))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                (map.value_offsets(), Arc::new(map.entries().clone()))
            }
            other => return Err(Error::bug(format!("a function of arrays is given a value of type {other}"))),
        };
        Ok(Spans { offsets, nulls: array.nulls(), constant: value.is_constant(), elements })
    }

    /// The elements of a row, `None` for NULL.
    pub(super) fn get(&self, row: usize) -> Option<Range<usize>> {
        let row = if self.constant { 0 } else { row };
        if self.nulls.is_some_and(|n| n.is_null(row)) {
            return None;
        }
        Some(self.offsets[row] as usize..self.offsets[row + 1] as usize)
    }
}

/// Collects arrays whose elements are picked from several columns.
#[derive(Default, Clone)]
pub(super) struct Picks {
    /// Which column, and which of its values.
    picked: Vec<(usize, usize)>,
    lengths: Vec<usize>,
    valid: Vec<bool>,
    begun: usize,
}

impl Picks {
    /// Adds an element to the current array.
    pub(super) fn pick(&mut self, source: usize, index: usize) {
        self.picked.push((source, index));
    }

    /// The elements of the current array so far.
    pub(super) fn current(&self) -> &[(usize, usize)] {
        &self.picked[self.begun..]
    }

    /// The same, to be rearranged.
    pub(super) fn current_mut(&mut self) -> &mut [(usize, usize)] {
        &mut self.picked[self.begun..]
    }

    /// Ends the current array; NULL if not `valid`.
    pub(super) fn end(&mut self, valid: bool) {
        self.lengths.push(self.picked.len() - self.begun);
        self.valid.push(valid);
        self.begun = self.picked.len();
    }

    /// The picked elements, where each array ends, and which are NULL.
    pub(super) fn finish(self, sources: &[&dyn Array]) -> Result<(ArrayRef, OffsetBuffer<i32>, Option<NullBuffer>)> {
        let nulls = self.valid.contains(&false).then(|| NullBuffer::from(self.valid));
        Ok((interleave(sources, &self.picked)?, OffsetBuffer::from_lengths(self.lengths), nulls))
    }

    /// The arrays, of the type of the call's result.
    pub(super) fn finish_list(self, call: &Call<'_>, sources: &[&dyn Array]) -> Result<ArrayRef> {
        let DataType::List(field) = call.result.to_arrow() else {
            return Err(Error::bug(format!("a function of arrays gives {}", call.result)));
        };
        let (elements, offsets, nulls) = self.finish(sources)?;
        Ok(Arc::new(ListArray::try_new(field, offsets, elements, nulls)?))
    }
}
