//! `group-aggregate`: GROUP BY over an unbounded input, its result kept up to date.
//!
//! The second input takes states of the aggregates in the place of rows, as a first phase before an exchange gives them.
//!
//! State: the aggregates of every group, for ever. For each batch: the slots of all rows at once; the results of the touched
//! groups as they were; the accumulators, column by column; the results as they are. What differs is put out: a change for
//! each touched group, in the order in which the batch touched them.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt8Array, UInt32Array};
use arrow::compute;
use arrow::datatypes::{DataType, SchemaRef};
use serde_json::Value;

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyedTable, Slot};

use crate::aggregate::{Grouped, Rows};
use crate::idle_state::IdleState;
use crate::spec::GroupAggregateSpec;
use crate::{difference, read_spec, records};

/// The input that takes states of a first phase.
const STATES: usize = 1;

/// Adds `group-aggregate`.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("group-aggregate", |spec: &Value| Ok(Box::new(GroupAggregate::new(read_spec(spec)?)?)));
}

pub(crate) struct GroupAggregate {
    spec: GroupAggregateSpec,
    output: SchemaRef,
    groups: KeyedTable<Grouped>,
    context: Option<OperatorContext>,
    /// Whether every batch changes the result of every group that it touches: rows are counted and never taken back.
    always_changes: bool,
    /// Whether keys must be put out as the state has them, since equal keys may look different.
    keys_from_state: bool,
    batch: Touched,
    idle: IdleState,
}

/// Which groups a batch touches. Kept between batches for its memory.
#[derive(Debug, Default)]
struct Touched {
    number: u32,
    /// The number of the last batch that touched each slot.
    stamps: Vec<u32>,
    /// Whether a result of the group in each slot was put out and stands.
    emitted: Vec<bool>,
    slots: Vec<Slot>,
    new_rows: Vec<u32>,
    signs: Vec<i8>,
    /// The groups, each once, and the row that touched each first.
    groups: Vec<Slot>,
    first_rows: Vec<u32>,
}

impl GroupAggregate {
    pub(crate) fn new(spec: GroupAggregateSpec) -> Result<Self> {
        let key_types: Vec<DataType> = spec.keys.iter().map(|k| spec.input.fields[*k].ty.to_arrow()).collect();
        let aggregates = Grouped::new(&spec.aggregates, spec.input_retracts)?;
        let counts_rows = spec.aggregates.iter().any(|c| c.function == "COUNT" && c.args.is_empty() && c.filter.is_none());
        Ok(GroupAggregate {
            output: spec.output.to_arrow(),
            always_changes: counts_rows && !spec.input_retracts,
            keys_from_state: key_types.iter().any(|t| t.is_floating()),
            groups: KeyedTable::new(&key_types, 0, aggregates)?,
            context: None,
            batch: Touched::default(),
            idle: IdleState::new(spec.state_ttl_ms),
            spec,
        })
    }
}

impl Operator for GroupAggregate {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        if let Some(snapshot) = restored {
            let slots = self.groups.restore("groups", &snapshot)?;
            self.batch.make_room(self.groups.index().slot_bound());
            slots.iter().for_each(|s| self.batch.emitted[*s as usize] = true);
        }
        self.idle.set_env(context.env.clone());
        self.idle.touch(self.groups.index().slots());
        context.metrics.state_rows.set(self.groups.index().len() as i64);
        self.context = Some(context);
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let input = batch.into_columns()?;
        let keys: Vec<ArrayRef> = self.keys_in(port).map(|k| Arc::clone(input.column(k))).collect();
        let keys: Vec<&ArrayRef> = keys.iter().collect();
        self.groups.resolve(&keys, input.num_rows(), &mut self.batch.slots, &mut self.batch.new_rows)?;
        self.batch.begin(self.groups.index().slot_bound());
        self.idle.touch(self.batch.groups.iter().copied());
        let needs_old = !self.always_changes || self.spec.emit_update_before;
        let old = if needs_old { Some(self.groups.values.aggregates.evaluate(&self.batch.groups)?) } else { None };
        if port == STATES {
            let bound = self.groups.index().slot_bound();
            self.groups.values.merge_states(bound, &self.batch.slots, &input.columns()[self.spec.keys.len()..])?;
        } else {
            self.update(&input)?;
        }
        let new = self.groups.values.aggregates.evaluate(&self.batch.groups)?;
        if let Some(changes) = self.changes(port, &input, old.as_deref(), &new)? {
            out.emit(changes);
        }
        self.forget_empty();
        if let Some(context) = &self.context {
            context.metrics.state_rows.set(self.groups.index().len() as i64);
        }
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let idle = self.idle.take(now_ms, |slot| self.groups.index().is_used(slot));
        idle.iter().for_each(|slot| self.batch.emitted[*slot as usize] = false);
        self.groups.remove(&idle);
        if let Some(context) = &self.context {
            context.metrics.state_rows.set(self.groups.index().len() as i64);
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let context = self.context.as_ref().ok_or_else(|| Error::bug("a snapshot of an operator that is not open"))?;
        let mut snapshot = OperatorSnapshot::new();
        self.groups.snapshot("groups", mode, context.subtask.key_group_count, &mut snapshot)?;
        Ok(snapshot)
    }
}

impl GroupAggregate {
    /// Takes the rows into the accumulators. A row that takes back from a group without rows is counted and dropped.
    fn update(&mut self, input: &ColumnBatch) -> Result<()> {
        let Touched { slots, signs, .. } = &mut self.batch;
        let groups = &mut self.groups.values;
        if !self.spec.input_retracts {
            return groups.update(&Rows { slots, rows: None, signs: None }, input.columns());
        }
        signs.clear();
        match input.kinds() {
            Some(kinds) => signs.extend(kinds.values().iter().map(|k| RowKind::from_byte(*k).sign() as i8)),
            None => signs.resize(slots.len(), 1),
        }
        let unknown = groups.count_known(slots, signs);
        if unknown.is_empty() {
            return groups.aggregates.update(&Rows { slots, rows: None, signs: Some(signs) }, input.columns());
        }
        if let Some(context) = &self.context {
            context.metrics.bad_records.add(unknown.len() as u64);
        }
        let mut unknown = unknown.into_iter().peekable();
        let kept: Vec<u32> = (0..slots.len() as u32).filter(|row| unknown.next_if_eq(row).is_none()).collect();
        let slots: Vec<Slot> = kept.iter().map(|row| slots[*row as usize]).collect();
        let signs: Vec<i8> = kept.iter().map(|row| signs[*row as usize]).collect();
        groups.aggregates.update(&Rows { slots: &slots, rows: Some(&kept), signs: Some(&signs) }, input.columns())
    }

    /// The changes of the touched groups, from their results before (where needed) and after.
    fn changes(&mut self, port: usize, input: &ColumnBatch, old: Option<&[ArrayRef]>, new: &[ArrayRef]) -> Result<Option<ColumnBatch>> {
        let batch = &mut self.batch;
        let differs = match old {
            Some(old) if !self.always_changes => Some(difference::rows_that_differ(old, new, batch.groups.len())?),
            _ => None,
        };
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(batch.groups.len() * 2);
        let mut kinds: Vec<u8> = Vec::with_capacity(batch.groups.len() * 2);
        let mut push = |source: usize, group: usize, kind: RowKind| {
            picks.push((source, group));
            kinds.push(kind as u8);
        };
        for (i, slot) in batch.groups.iter().enumerate() {
            let (was, is) = (batch.emitted[*slot as usize], self.groups.values.has_rows(*slot));
            match (was, is) {
                (false, true) => push(1, i, RowKind::Insert),
                (true, false) => push(0, i, RowKind::Delete),
                (true, true) if differs.as_ref().is_none_or(|d| d[i]) => {
                    if self.spec.emit_update_before {
                        push(0, i, RowKind::UpdateBefore);
                    }
                    push(1, i, RowKind::UpdateAfter);
                }
                _ => {}
            }
            batch.emitted[*slot as usize] = is;
        }
        if picks.is_empty() {
            return Ok(None);
        }
        let mut columns = self.keys_of(port, input, &picks)?;
        columns.extend(difference::pick(old, new, &picks)?);
        let records = records(&self.output, columns, picks.len())?;
        ColumnBatch::changes(records, UInt8Array::from(kinds)).map(Some)
    }

    fn keys_of(&self, port: usize, input: &ColumnBatch, picks: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
        if self.keys_from_state {
            let slots: Vec<Slot> = picks.iter().map(|(_, group)| self.batch.groups[*group]).collect();
            return self.groups.index().keys(&slots);
        }
        let rows = UInt32Array::from_iter_values(picks.iter().map(|(_, group)| self.batch.first_rows[*group]));
        self.keys_in(port).map(|k| Ok(compute::take(input.column(k), &rows, None)?)).collect()
    }

    /// Where the keys are in the rows of an input: states have them in front.
    fn keys_in(&self, port: usize) -> impl Iterator<Item = usize> {
        self.spec.keys.iter().enumerate().map(move |(i, k)| if port == STATES { i } else { *k })
    }

    fn forget_empty(&mut self) {
        let values = &self.groups.values;
        let empty: Vec<Slot> = self.batch.groups.iter().copied().filter(|s| !values.has_rows(*s)).collect();
        if !empty.is_empty() {
            self.groups.remove(&empty);
        }
    }
}

impl Touched {
    fn make_room(&mut self, bound: usize) {
        self.stamps.resize(bound, 0);
        self.emitted.resize(bound, false);
    }

    /// Finds the groups of the rows, whose slots are known by now.
    fn begin(&mut self, bound: usize) {
        self.make_room(bound);
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.stamps.fill(0);
            self.number = 1;
        }
        self.groups.clear();
        self.first_rows.clear();
        for (row, slot) in self.slots.iter().enumerate() {
            let stamp = &mut self.stamps[*slot as usize];
            if *stamp != self.number {
                *stamp = self.number;
                self.groups.push(*slot);
                self.first_rows.push(row as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests;
