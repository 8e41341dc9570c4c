//! `upsert-materialize`: of the rows of one sink key, the one that came last. Keeps all of them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, Slot};

use crate::idle_state::IdleState;
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::spec::UpsertMaterializeSpec;
use crate::stored_changes::StoredChanges;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("upsert-materialize", |spec| Ok(Box::new(UpsertMaterialize::new(read_spec(spec)?)?)));
}

const ROWS: &str = "rows";

struct UpsertMaterialize {
    spec: UpsertMaterializeSpec,
    schema: SchemaRef,
    types: Vec<DataType>,
    keys: KeyIndex,
    rows: RowStore,
    /// By row slot: when it came.
    arrivals: Vec<u64>,
    next_arrival: u64,
    /// By key: its rows, in the order in which they came.
    lists: Vec<Vec<u32>>,
    pending: StoredChanges,
    /// The keys that the batch at hand has changed.
    touched: Vec<Slot>,
    idle: IdleState,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl UpsertMaterialize {
    fn new(spec: UpsertMaterializeSpec) -> Result<Self> {
        let schema = spec.input.to_arrow();
        let types: Vec<DataType> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<DataType> = spec.keys.iter().map(|k| types[*k].clone()).collect();
        Ok(UpsertMaterialize {
            schema,
            keys: KeyIndex::new(&key_types)?,
            rows: RowStore::new(types.clone()),
            types,
            arrivals: Vec::new(),
            next_arrival: 0,
            lists: Vec::new(),
            pending: StoredChanges::default(),
            touched: Vec::new(),
            idle: IdleState::new(spec.state_ttl_ms),
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    fn resolve(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<Slot>> {
        let keys: Vec<&ArrayRef> = self.spec.keys.iter().map(|k| &columns[*k]).collect();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.keys.resolve(&keys, rows, &mut slots, &mut new_rows)?;
        self.lists.resize_with(self.keys.slot_bound(), Vec::new);
        self.idle.touch(slots.iter().copied());
        Ok(slots)
    }

    fn keep(&mut self, columns: &[ArrayRef], rows: usize, arrivals: impl Iterator<Item = u64>) -> Result<Vec<u32>> {
        let mut stored = Vec::with_capacity(rows);
        self.rows.append(columns, rows, &mut stored)?;
        self.arrivals.resize(self.rows.slot_bound(), 0);
        for (row, arrival) in stored.iter().zip(arrivals) {
            self.arrivals[*row as usize] = arrival;
            self.next_arrival = self.next_arrival.max(arrival + 1);
        }
        Ok(stored)
    }

    fn apply(&mut self, batch: &ColumnBatch) -> Result<()> {
        let columns = batch.columns();
        let slots = self.resolve(columns, batch.num_rows())?;
        let added: Vec<u32> = (0..batch.num_rows()).filter(|i| batch.kind(*i).is_addition()).map(|i| i as u32).collect();
        let arrivals = self.next_arrival..;
        let mut stored = self.keep(&take_rows(columns, &added)?, added.len(), arrivals)?.into_iter();
        let mut before: hashbrown::HashMap<Slot, u32> = hashbrown::HashMap::new();
        self.touched.clear();
        for (row, slot) in slots.iter().enumerate() {
            let list = &mut self.lists[*slot as usize];
            before.entry(*slot).or_insert_with(|| {
                self.touched.push(*slot);
                list.last().copied().unwrap_or(NO_ROW)
            });
            if batch.kind(row).is_addition() {
                list.push(stored.next().unwrap_or(NO_ROW));
            } else if let Some(at) = list.iter().rposition(|other| self.rows.equals(*other, columns, row)) {
                self.rows.remove(list.remove(at));
            } else {
                self.metrics.bad_records.add(1);
            }
        }
        for slot in &self.touched {
            let after = self.lists[*slot as usize].last().copied().unwrap_or(NO_ROW);
            if before[slot] != after {
                self.pending.replace(before[slot], after, self.spec.emit_update_before);
            }
        }
        Ok(())
    }
}

impl Operator for UpsertMaterialize {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.idle.set_env(context.env);
        let Some(restored) = restored else { return Ok(()) };
        let width = self.types.len();
        let types: Vec<DataType> = self.types.iter().cloned().chain([DataType::UInt64]).collect();
        for batch in restored.rows(ROWS, &types)? {
            let columns = &batch.columns()[..width];
            let slots = self.resolve(columns, batch.num_rows())?;
            let arrivals = batch.column(width).as_primitive::<UInt64Type>().values();
            let rows = self.keep(columns, slots.len(), arrivals.iter().copied())?;
            slots.iter().zip(rows).for_each(|(slot, row)| self.lists[*slot as usize].push(row));
            self.rows.settle()?;
        }
        let arrivals = &self.arrivals;
        self.lists.iter_mut().for_each(|list| list.sort_by_key(|row| arrivals[*row as usize]));
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.apply(&batch.into_columns()?)?;
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        if self.pending.emit(&mut self.rows, &self.schema, out)? == Progress::More {
            return Ok(Progress::More);
        }
        let mut empty = std::mem::take(&mut self.touched);
        empty.retain(|slot| self.lists[*slot as usize].is_empty());
        self.keys.remove(&empty);
        self.metrics.state_rows.set(self.rows.len() as i64);
        self.rows.settle()?;
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let idle = self.idle.take(now_ms, |key| self.keys.is_used(key));
        for key in &idle {
            std::mem::take(&mut self.lists[*key as usize]).into_iter().for_each(|row| self.rows.remove(row));
        }
        self.keys.remove(&idle);
        self.rows.settle()?;
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        let arrivals = &self.arrivals;
        let beside = |rows: &[u32]| -> Vec<ArrayRef> {
            vec![Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| arrivals[*row as usize])))]
        };
        self.rows.snapshot(ROWS, &self.spec.keys, &beside, mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
