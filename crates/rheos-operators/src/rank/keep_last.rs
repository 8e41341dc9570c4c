//! Deduplication that keeps the last row: +I for the first row of a key, then -U and +U when a row comes that is not
//! earlier. Keeps the last row of each key.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, Slot};

use crate::idle_state::IdleState;
use crate::records;
use crate::row_store::{MAX_SLOTS, NO_ROW, RowStore, take_rows};
use crate::row_time::RowTimes;
use crate::spec::DeduplicateSpec;
use crate::stored_changes::StoredChanges;

const ROWS: &str = "rows";
/// Marks a row number of the batch at hand among slots of the store.
const OF_BATCH: u32 = MAX_SLOTS as u32;

pub(super) struct KeepLast {
    schema: SchemaRef,
    key_columns: Vec<usize>,
    time: usize,
    keys: KeyIndex,
    rows: RowStore,
    /// By key: its last row, and that row's time.
    last: Vec<u32>,
    times: Vec<i64>,
    pending: StoredChanges,
    idle: IdleState,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl KeepLast {
    pub(super) fn new(spec: &DeduplicateSpec) -> Result<Self> {
        let schema = spec.input.to_arrow();
        let types: Vec<_> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<_> = spec.keys.iter().map(|c| types[*c].clone()).collect();
        Ok(KeepLast {
            schema,
            key_columns: spec.keys.clone(),
            time: spec.time,
            keys: KeyIndex::new(&key_types)?,
            rows: RowStore::new(types),
            last: Vec::new(),
            times: Vec::new(),
            pending: StoredChanges::default(),
            idle: IdleState::new(spec.state_ttl_ms),
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// Takes rows in; returns the keys that have another row now, with the row before.
    fn apply(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<(Slot, u32)>> {
        let keys: Vec<&ArrayRef> = self.key_columns.iter().map(|c| &columns[*c]).collect();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.keys.resolve(&keys, rows, &mut slots, &mut new_rows)?;
        self.last.resize(self.keys.slot_bound(), NO_ROW);
        self.times.resize(self.keys.slot_bound(), i64::MIN);
        self.idle.touch(slots.iter().copied());
        let times = RowTimes::of(&columns[self.time])?;
        let mut changed = Vec::new();
        for (row, key) in slots.iter().enumerate() {
            let Some(time) = times.get(row) else {
                self.metrics.bad_records.add(1);
                continue;
            };
            let (last, last_time) = (&mut self.last[*key as usize], &mut self.times[*key as usize]);
            if time >= *last_time {
                if *last == NO_ROW || *last & OF_BATCH == 0 {
                    changed.push((*key, *last));
                }
                (*last, *last_time) = (OF_BATCH | row as u32, time);
            }
        }
        Ok(changed)
    }

    /// Stores the new rows of keys in place of those before, which can be gathered until the store is settled.
    fn store(&mut self, columns: &[ArrayRef], changed: &[(Slot, u32)]) -> Result<Vec<ArrayRef>> {
        let rows: Vec<u32> = changed.iter().map(|(key, _)| self.last[*key as usize] & !OF_BATCH).collect();
        let columns = take_rows(columns, &rows)?;
        let mut slots = Vec::with_capacity(rows.len());
        self.rows.append(&columns, rows.len(), &mut slots)?;
        for ((key, before), slot) in changed.iter().zip(slots) {
            self.last[*key as usize] = slot;
            if *before != NO_ROW {
                self.rows.remove(*before);
            }
        }
        Ok(columns)
    }

    fn settle(&mut self) -> Result<()> {
        self.metrics.state_rows.set(self.rows.len() as i64);
        self.rows.settle()
    }
}

impl Operator for KeepLast {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.idle.set_env(context.env);
        let types: Vec<_> = self.schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let Some(restored) = restored else { return Ok(()) };
        for batch in restored.rows(ROWS, &types)? {
            let changed = self.apply(batch.columns(), batch.num_rows())?;
            self.store(batch.columns(), &changed)?;
            self.settle()?;
        }
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        if batch.kinds().is_some() {
            return Err(Error::bug("a deduplication over an input that takes rows back"));
        }
        let changed = self.apply(batch.columns(), batch.num_rows())?;
        let new = self.store(batch.columns(), &changed)?;
        if changed.len() <= out.room() && changed.iter().all(|(_, before)| *before == NO_ROW) {
            out.emit(ColumnBatch::inserts(records(&self.schema, new, changed.len())?));
            self.settle()?;
            return Ok(Progress::Done);
        }
        for (key, before) in changed {
            self.pending.replace(before, self.last[key as usize], true);
        }
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let progress = self.pending.emit(&mut self.rows, &self.schema, out)?;
        if progress == Progress::Done {
            self.settle()?;
        }
        Ok(progress)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let idle = self.idle.take(now_ms, |key| self.keys.is_used(key));
        for key in &idle {
            let row = std::mem::replace(&mut self.last[*key as usize], NO_ROW);
            self.times[*key as usize] = i64::MIN;
            if row != NO_ROW {
                self.rows.remove(row);
            }
        }
        self.keys.remove(&idle);
        self.settle()?;
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.rows.snapshot(ROWS, &self.key_columns, &|_| Vec::new(), mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}
