//! Deduplication that keeps the first row: put out when the watermark reaches its time, so that no earlier one can come.
//! Keeps the earliest row of each key until then, and the key itself after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::key_group::KeyGroup;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::snapshot::{self, Slotted};
use rheos_state::{ChangedSlots, KeyIndex, Slot};

use crate::idle_state::IdleState;
use crate::records;
use crate::row_store::{MAX_SLOTS, NO_ROW, RowStore, take_rows};
use crate::row_time::{RowTimes, restore_watermark, save_watermark, units_per_ms};
use crate::spec::DeduplicateSpec;

const PENDING: &str = "pending";
const DONE: &str = "done";
/// Marks a row number of the batch at hand among slots of the store.
const OF_BATCH: u32 = MAX_SLOTS as u32;
/// Stands for the row of a key that was put out.
const PUT_OUT: u32 = NO_ROW - 1;

pub(super) struct KeepFirst {
    schema: SchemaRef,
    key_columns: Vec<usize>,
    time: usize,
    units_per_ms: i64,
    keys: KeyIndex,
    rows: RowStore,
    /// By key: its earliest row ([`PUT_OUT`] once that is gone), and that row's time.
    first: Vec<u32>,
    times: Vec<i64>,
    /// Keys by the time of a row that they have or had.
    due: BTreeMap<TimestampMs, Vec<Slot>>,
    watermark: TimestampMs,
    /// The keys whose row was put out since the last snapshot.
    put_out: ChangedSlots,
    idle: IdleState,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl KeepFirst {
    pub(super) fn new(spec: &DeduplicateSpec) -> Result<Self> {
        let schema = spec.input.to_arrow();
        let types: Vec<_> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<_> = spec.keys.iter().map(|c| types[*c].clone()).collect();
        Ok(KeepFirst {
            units_per_ms: units_per_ms(&types[spec.time])?,
            schema,
            key_columns: spec.keys.clone(),
            time: spec.time,
            keys: KeyIndex::new(&key_types)?,
            rows: RowStore::new(types),
            first: Vec::new(),
            times: Vec::new(),
            due: BTreeMap::new(),
            watermark: MIN_WATERMARK,
            put_out: ChangedSlots::default(),
            idle: IdleState::new(spec.state_ttl_ms),
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// The key of each row, and the first rows of those that are new.
    fn resolve(&mut self, keys: &[&ArrayRef], rows: usize) -> Result<(Vec<Slot>, Vec<u32>)> {
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.keys.resolve(keys, rows, &mut slots, &mut new_rows)?;
        self.first.resize(self.keys.slot_bound(), NO_ROW);
        self.times.resize(self.keys.slot_bound(), i64::MAX);
        for row in &new_rows {
            let key = slots[*row as usize] as usize;
            (self.first[key], self.times[key]) = (NO_ROW, i64::MAX);
        }
        self.idle.touch(slots.iter().copied());
        Ok((slots, new_rows))
    }

    fn apply(&mut self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let keys: Vec<&ArrayRef> = self.key_columns.iter().map(|c| &columns[*c]).collect();
        let (slots, new_rows) = self.resolve(&keys, rows)?;
        let times = RowTimes::of(&columns[self.time])?;
        let (mut changed, mut replaced) = (Vec::new(), Vec::new());
        for (row, key) in slots.iter().enumerate() {
            let (Some(time), Some(ms)) = (times.get(row), times.get_ms(row)) else {
                self.metrics.bad_records.add(1);
                continue;
            };
            if ms <= self.watermark {
                self.metrics.late_rows.add(1);
                continue;
            }
            let (first, first_time) = (&mut self.first[*key as usize], &mut self.times[*key as usize]);
            if *first == NO_ROW || (*first != PUT_OUT && time < *first_time) {
                if *first == NO_ROW || *first & OF_BATCH == 0 {
                    changed.push(*key);
                    replaced.extend((*first != NO_ROW).then_some(*first));
                }
                (*first, *first_time) = (OF_BATCH | row as u32, time);
            }
        }
        // Keys of which all rows were late are not kept.
        let unused = new_rows.iter().map(|row| slots[*row as usize]).filter(|key| self.first[*key as usize] == NO_ROW);
        self.keys.remove(&unused.collect::<Vec<_>>());
        let kept: Vec<u32> = changed.iter().map(|key| self.first[*key as usize] & !OF_BATCH).collect();
        let mut slots = Vec::with_capacity(kept.len());
        self.rows.append(&take_rows(columns, &kept)?, kept.len(), &mut slots)?;
        replaced.into_iter().for_each(|row| self.rows.remove(row));
        for (key, slot) in changed.into_iter().zip(slots) {
            self.first[key as usize] = slot;
            self.due.entry(self.times[key as usize].div_euclid(self.units_per_ms)).or_default().push(key);
        }
        self.rows.settle()?;
        self.report();
        Ok(())
    }

    /// Takes out keys whose row's time has come, at most `room`.
    fn due_rows(&mut self, room: usize) -> Vec<u32> {
        let mut rows = Vec::new();
        while let Some(mut entry) = self.due.first_entry().filter(|e| *e.key() <= self.watermark) {
            let ms = *entry.key();
            while let Some(key) = entry.get_mut().pop() {
                let first = &mut self.first[key as usize];
                // A key is also listed at the times of rows that gave way to earlier ones.
                if *first < OF_BATCH && self.times[key as usize].div_euclid(self.units_per_ms) == ms {
                    rows.push(std::mem::replace(first, PUT_OUT));
                    self.put_out.add_one(key);
                    if rows.len() == room {
                        return rows;
                    }
                }
            }
            entry.remove();
        }
        rows
    }

    fn report(&self) {
        self.metrics.state_rows.set(self.keys.len() as i64);
        self.metrics.next_close_ms.set(self.due.keys().next().copied().unwrap_or(TimestampMs::MAX));
    }
}

impl Operator for KeepFirst {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.idle.set_env(context.env);
        let Some(restored) = restored else { return Ok(()) };
        let types: Vec<_> = self.schema.fields().iter().map(|f| f.data_type().clone()).collect();
        for batch in restored.rows(PENDING, &types)? {
            self.apply(batch.columns(), batch.num_rows())?;
        }
        let types = self.keys.types().to_vec();
        for batch in restored.rows(DONE, &types)? {
            for key in self.resolve(&batch.columns().iter().collect::<Vec<_>>(), batch.num_rows())?.0 {
                self.first[key as usize] = PUT_OUT;
            }
        }
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        if batch.kinds().is_some() {
            return Err(Error::bug("a deduplication over an input that takes rows back"));
        }
        self.apply(batch.columns(), batch.num_rows())?;
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        // After a restore the inputs may begin behind what was seen.
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        loop {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let rows = self.due_rows(out.room());
            if rows.is_empty() {
                self.report();
                return Ok(Progress::Done);
            }
            let columns = self.rows.gather_all(&rows)?;
            out.emit(ColumnBatch::inserts(records(&self.schema, columns, rows.len())?));
            rows.into_iter().for_each(|row| self.rows.remove(row));
            self.rows.settle()?;
        }
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let idle = self.idle.take(now_ms, |key| self.keys.is_used(key));
        // A key whose row still waits for its time lives on.
        let (done, waiting): (Vec<Slot>, Vec<Slot>) = idle.into_iter().partition(|key| self.first[*key as usize] == PUT_OUT);
        self.idle.touch(waiting);
        done.iter().for_each(|key| self.first[*key as usize] = NO_ROW);
        self.put_out.add(&done);
        self.keys.remove(&done);
        self.report();
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.rows.snapshot(PENDING, &self.key_columns, &|_| Vec::new(), mode, self.key_group_count, &mut taken)?;
        let mut done = Done { keys: &self.keys, first: &self.first };
        taken.put_keyed(DONE, snapshot::segment(&mut done, &mut self.put_out, mode, self.key_group_count)?);
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

/// The keys whose row was put out, as a snapshot sees them.
struct Done<'a> {
    keys: &'a KeyIndex,
    first: &'a [u32],
}

impl Slotted for Done<'_> {
    fn live(&self) -> Vec<Slot> {
        self.keys.slots().into_iter().filter(|key| self.is_live(*key)).collect()
    }

    fn is_live(&self, key: Slot) -> bool {
        self.first[key as usize] == PUT_OUT
    }

    fn key_groups(&self, columns: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
        snapshot::key_groups(&columns[..self.keys.types().len()], rows, group_count)
    }

    fn columns(&mut self, keys: &[Slot]) -> Result<Vec<ArrayRef>> {
        self.keys.keys(keys)
    }
}
