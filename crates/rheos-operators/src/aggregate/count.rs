//! COUNT: rows, or rows in which no argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::Result;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};

#[derive(Debug, Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl Accumulator for Count {
    fn grow(&mut self, bound: usize) {
        self.counts.resize(bound, 0);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let mut nulls = None;
        for arg in args {
            nulls = NullBuffer::union(nulls.as_ref(), arg.logical_nulls().as_ref());
        }
        rows.for_each(nulls.as_ref(), |slot, _, sign| self.counts[slot] += sign);
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            self.counts[*t as usize] += self.counts[*f as usize];
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from_iter_values(slots.iter().map(|s| self.counts[*s as usize]))))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.counts[*s as usize] = 0);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Int64]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(Int64Array::from_iter_values(slots.iter().map(|s| self.counts[*s as usize])))])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        for (slot, count) in slots.iter().zip(columns[0].as_primitive::<Int64Type>().values()) {
            self.counts[*slot as usize] = *count;
        }
        Ok(())
    }
}
