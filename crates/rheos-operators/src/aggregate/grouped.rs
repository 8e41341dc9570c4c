//! Aggregates of groups that can lose all their rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::Result;
use rheos_state::{Slot, SlotColumns};

use super::accumulator::Rows;
use super::set::AggregateSet;
use crate::spec::AggregateCall;

/// Aggregates with the number of rows of each group, which tells when a group is gone. Counted only where rows are taken
/// back: without that, a group that exists has rows.
pub(crate) struct Grouped {
    pub(crate) aggregates: AggregateSet,
    row_counts: Option<Vec<i64>>,
}

impl Grouped {
    pub(crate) fn new(calls: &[AggregateCall], retracts: bool) -> Result<Self> {
        Ok(Grouped { aggregates: AggregateSet::new(calls, retracts)?, row_counts: retracts.then(Vec::new) })
    }

    /// Counts rows. Those that take back from a group without rows at that point are not counted, and returned, ascending.
    pub(crate) fn count_known(&mut self, slots: &[Slot], signs: &[i8]) -> Vec<u32> {
        let mut unknown = Vec::new();
        if let Some(counts) = &mut self.row_counts {
            for (row, (slot, sign)) in slots.iter().zip(signs).enumerate() {
                let count = &mut counts[*slot as usize];
                if *sign < 0 && *count <= 0 {
                    unknown.push(row as u32);
                } else {
                    *count += i64::from(*sign);
                }
            }
        }
        unknown
    }

    /// Whether a group has rows.
    pub(crate) fn has_rows(&self, slot: Slot) -> bool {
        self.row_counts.as_ref().is_none_or(|counts| counts[slot as usize] > 0)
    }

    /// Takes rows in, and counts them.
    pub(crate) fn update(&mut self, rows: &Rows<'_>, columns: &[ArrayRef]) -> Result<()> {
        if let Some(counts) = &mut self.row_counts {
            rows.for_each(None, |slot, _, sign| counts[slot] += sign);
        }
        self.aggregates.update(rows, columns)
    }

    /// Adds states, a row of columns for each of `slots`, to the groups in these, which are below `bound`. Rows are not counted: states
    /// are never taken back.
    pub(crate) fn merge_states(&mut self, bound: usize, slots: &[Slot], states: &[ArrayRef]) -> Result<()> {
        // They are put behind all groups for a moment.
        let staged: Vec<Slot> = (bound..bound + slots.len()).map(|slot| slot as Slot).collect();
        self.aggregates.grow(bound + slots.len());
        self.aggregates.load(&staged, states)?;
        self.aggregates.merge(&staged, slots)?;
        self.aggregates.clear(&staged);
        Ok(())
    }

    pub(crate) fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        if let Some(counts) = &mut self.row_counts {
            from.iter().zip(into).for_each(|(f, t)| counts[*t as usize] += counts[*f as usize]);
        }
        self.aggregates.merge(from, into)
    }
}

impl SlotColumns for Grouped {
    fn types(&self) -> Vec<DataType> {
        self.row_counts.iter().map(|_| DataType::Int64).chain(self.aggregates.types()).collect()
    }

    fn grow(&mut self, bound: usize) {
        if let Some(counts) = &mut self.row_counts {
            counts.resize(bound, 0);
        }
        self.aggregates.grow(bound);
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        if let Some(counts) = &self.row_counts {
            columns.push(Arc::new(Int64Array::from_iter_values(slots.iter().map(|s| counts[*s as usize]))));
        }
        columns.extend(self.aggregates.save(slots)?);
        Ok(columns)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let mut columns = columns;
        if let Some(counts) = &mut self.row_counts {
            slots.iter().zip(columns[0].as_primitive::<Int64Type>().values()).for_each(|(s, c)| counts[*s as usize] = *c);
            columns = &columns[1..];
        }
        self.aggregates.load(slots, columns)
    }

    fn clear(&mut self, slots: &[Slot]) {
        if let Some(counts) = &mut self.row_counts {
            slots.iter().for_each(|s| counts[*s as usize] = 0);
        }
        self.aggregates.clear(slots);
    }
}
