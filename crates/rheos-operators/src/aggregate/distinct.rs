//! DISTINCT: all DISTINCT calls over the same arguments share one set of values, with a count for each of their filters.
//! The accumulators behind it see a value when it appears in its group under their filter, and again when it disappears.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use rheos_core::error::Result;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Rows};
use super::multiset::{Changes, Multiset};

pub(super) struct Distinct {
    /// The argument columns.
    pub(super) args: Vec<usize>,
    /// The filter column of each lane.
    pub(super) filters: Vec<Option<usize>>,
    values: Multiset,
    /// What is behind each lane.
    states: Vec<(usize, Box<dyn Accumulator>)>,
    changes: Changes,
}

impl Distinct {
    /// A set for calls over `args`, with the filters that they have and the states behind them: each with its lane.
    pub(super) fn new(
        args: Vec<usize>,
        types: &[DataType],
        filters: Vec<Option<usize>>,
        states: Vec<(usize, Box<dyn Accumulator>)>,
    ) -> Result<Self> {
        let values = Multiset::new(types, filters.len())?;
        Ok(Distinct { args, filters, values, states, changes: Changes::default() })
    }

    /// The state number `index`.
    pub(super) fn state(&self, index: usize) -> &dyn Accumulator {
        self.states[index].1.as_ref()
    }

    pub(super) fn grow(&mut self, bound: usize) {
        self.values.grow(bound);
        self.states.iter_mut().for_each(|(_, s)| s.grow(bound));
    }

    /// Takes in the rows that pass the filter of `lane`.
    pub(super) fn update(&mut self, lane: usize, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        self.values.update(lane, rows, args, &mut self.changes)?;
        for (_, state) in self.states.iter_mut().filter(|(l, _)| *l == lane) {
            state.update(&self.changes.as_rows(), args)?;
        }
        Ok(())
    }

    /// To be called when all lanes were updated.
    pub(super) fn sweep(&mut self) -> Result<()> {
        self.values.sweep()
    }

    pub(super) fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        let states = &mut self.states;
        self.values.merge(from, into, |lane, rows, values| {
            states.iter_mut().filter(|(l, _)| *l == lane).try_for_each(|(_, state)| state.update(rows, values))
        })
    }

    pub(super) fn clear(&mut self, slots: &[Slot]) {
        self.values.clear(slots);
        self.states.iter_mut().for_each(|(_, s)| s.clear(slots));
    }

    pub(super) fn state_types(&self) -> Vec<DataType> {
        let behind = self.states.iter().flat_map(|(_, s)| s.state_types());
        self.values.state_types().into_iter().chain(behind).collect()
    }

    pub(super) fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = self.values.save(slots)?;
        for (_, state) in &self.states {
            columns.extend(state.save(slots)?);
        }
        Ok(columns)
    }

    pub(super) fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let (mine, mut rest) = columns.split_at(self.values.state_types().len());
        self.values.load(slots, mine)?;
        for (_, state) in &mut self.states {
            let (mine, others) = rest.split_at(state.state_types().len());
            state.load(slots, mine)?;
            rest = others;
        }
        Ok(())
    }
}
