//! `local-aggregate`: the first phase of an aggregation in two, before rows cross an exchange. Keeps no state.
//!
//! The rows of one batch that agree in their key (and, for windows, in the slice of event time) become one row with the state of
//! the aggregates over them; the second phase merges such states into its own. Nothing is held back from one batch to the next. Where
//! hardly any rows of a batch agree, the next ones are not looked at for a while: each row then becomes a state by itself, without
//! hashing.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::{Operator, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::MIN_WATERMARK;
use rheos_state::{KeyIndex, Slot, SlotColumns};

use crate::aggregate::{AggregateSet, Rows};
use crate::row_store::take_rows;
use crate::spec::LocalAggregateSpec;
use crate::window::{Placement, Slicing};
use crate::{read_spec, records};

/// Of so many batches in a row only the first is looked at, where that has shown that few rows agree.
const LOOK_AT_ONE_IN: u32 = 16;
/// A batch of fewer rows tells nothing about the next.
const MIN_SAMPLE_ROWS: usize = 64;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("local-aggregate", |spec| Ok(Box::new(LocalAggregate::new(read_spec(spec)?)?)));
}

struct LocalAggregate {
    spec: LocalAggregateSpec,
    output: SchemaRef,
    slicing: Option<Slicing>,
    keys: KeyIndex,
    states: AggregateSet,
    placement: Placement,
    slots: Vec<Slot>,
    new_rows: Vec<u32>,
    /// How many of the next batches are not looked at.
    passed_on: u32,
}

impl LocalAggregate {
    fn new(spec: LocalAggregateSpec) -> Result<Self> {
        let slicing = spec.slices.as_ref().map(|(_, window)| Slicing::new(window)).transpose()?;
        let mut key_types: Vec<DataType> = spec.keys.iter().map(|k| spec.input.fields[*k].ty.to_arrow()).collect();
        key_types.extend(slicing.map(|_| DataType::Int64));
        Ok(LocalAggregate {
            output: spec.output.to_arrow(),
            slicing,
            keys: KeyIndex::new(&key_types)?,
            states: AggregateSet::new(&spec.aggregates, false)?,
            placement: Placement::default(),
            slots: Vec::new(),
            new_rows: Vec::new(),
            passed_on: 0,
            spec,
        })
    }

    /// Gives each row the slot of its group; the first rows of the groups go into `new_rows`.
    fn group(&mut self, input: &ColumnBatch) -> Result<()> {
        let rows = input.num_rows();
        let mut keys: Vec<ArrayRef> = self.spec.keys.iter().map(|k| Arc::clone(input.column(*k))).collect();
        if let (Some((time, _)), Some(slicing)) = (&self.spec.slices, &self.slicing) {
            // Which rows are late is for the second phase to say.
            self.placement.by_time(input.column(*time), rows, slicing, MIN_WATERMARK)?;
            keys.push(Arc::new(arrow::array::Int64Array::from(std::mem::take(&mut self.placement.ends))));
        }
        self.keys.resolve(&keys.iter().collect::<Vec<_>>(), rows, &mut self.slots, &mut self.new_rows)
    }

    /// Each row as a group of its own.
    fn pass_on(&mut self, rows: usize) {
        self.slots.clear();
        self.slots.extend(0..rows as Slot);
        self.new_rows.clear();
        self.new_rows.extend(0..rows as u32);
    }
}

impl Operator for LocalAggregate {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let input = batch.into_columns()?;
        let rows = input.num_rows();
        let looks = self.passed_on == 0;
        if looks {
            self.group(&input)?;
        } else {
            self.passed_on -= 1;
            self.pass_on(rows);
        }
        let groups: Vec<Slot> = self.new_rows.iter().map(|row| self.slots[*row as usize]).collect();
        self.states.grow(groups.iter().max().map_or(0, |slot| *slot as usize + 1));
        self.states.update(&Rows { slots: &self.slots, rows: None, signs: None }, input.columns())?;
        let kept: Vec<usize> = self.spec.keys.iter().copied().chain(self.spec.slices.as_ref().map(|(time, _)| *time)).collect();
        let kept: Vec<ArrayRef> = kept.into_iter().map(|column| Arc::clone(input.column(column))).collect();
        let mut columns = take_rows(&kept, &self.new_rows)?;
        columns.extend(self.states.save(&groups)?);
        self.states.clear(&groups);
        if looks {
            self.keys.remove(&groups);
            if rows >= MIN_SAMPLE_ROWS && groups.len() * 2 > rows {
                self.passed_on = LOOK_AT_ONE_IN - 1;
            }
        }
        out.emit(ColumnBatch::inserts(records(&self.output, columns, groups.len())?));
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

#[cfg(test)]
mod tests;
