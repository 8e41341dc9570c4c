//! `temporal-join`: left rows with the version of the right side that was valid at their time. Keeps left rows until the watermark
//! has passed them, and of the versions of each key those that a left row may still ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, SchemaRef, UInt8Type, UInt64Type};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use crate::join::{Assembly, Condition, Pairs, resolve, retain};
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::row_time::{RowTimes, restore_watermark, save_watermark};
use crate::spec::{JoinKind, JoinSide, TemporalJoinSpec};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("temporal-join", |spec| Ok(Box::new(TemporalJoin::new(read_spec(spec)?)?)));
}

const LEFT: &str = "left";
const VERSIONS: &str = "versions";

struct TemporalJoin {
    spec: TemporalJoinSpec,
    output: SchemaRef,
    condition: Option<Condition>,
    keys: KeyIndex,
    left: Stored,
    right: Stored,
    /// Left rows that wait, by time, in order of arrival.
    waiting: BTreeMap<TimestampMs, Vec<u32>>,
    /// By key: how many left rows wait.
    waiting_of: Vec<u32>,
    /// By key: its versions, by the time from which they are valid.
    versions: Vec<Vec<(TimestampMs, u32)>>,
    /// By the time of a version, the keys that have earlier ones, or whose version it ends.
    superseded: BTreeMap<TimestampMs, Vec<Slot>>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// Rows of one input with what is kept beside each.
struct Stored {
    types: Vec<DataType>,
    keys: Vec<usize>,
    rows: RowStore,
    /// By row slot: its key, its kind, and when it arrived.
    key_of: Vec<Slot>,
    kinds: Vec<u8>,
    arrivals: Vec<u64>,
    next_arrival: u64,
}

impl Stored {
    fn new(side: &JoinSide) -> Self {
        let types: Vec<DataType> = side.schema.to_arrow().fields().iter().map(|f| f.data_type().clone()).collect();
        Stored {
            rows: RowStore::new(types.clone()),
            types,
            keys: side.keys.clone(),
            key_of: Vec::new(),
            kinds: Vec::new(),
            arrivals: Vec::new(),
            next_arrival: 0,
        }
    }

    fn keep(&mut self, columns: &[ArrayRef], keys: &[Slot], kinds: &[u8], arrivals: Option<&[u64]>) -> Result<Vec<u32>> {
        let mut slots = Vec::with_capacity(keys.len());
        self.rows.append(columns, keys.len(), &mut slots)?;
        let bound = self.rows.slot_bound();
        self.key_of.resize(bound, NO_SLOT);
        self.kinds.resize(bound, 0);
        self.arrivals.resize(bound, 0);
        for (i, slot) in slots.iter().enumerate() {
            let arrival = arrivals.map_or(self.next_arrival, |a| a[i]);
            self.next_arrival = self.next_arrival.max(arrival + 1);
            self.key_of[*slot as usize] = keys[i];
            self.kinds[*slot as usize] = kinds[i];
            self.arrivals[*slot as usize] = arrival;
        }
        Ok(slots)
    }

    fn snapshot(&mut self, name: &str, mode: SnapshotMode, key_group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let Stored { rows, kinds, arrivals, keys, .. } = self;
        let beside = |slots: &[u32]| -> Vec<ArrayRef> {
            vec![
                Arc::new(UInt8Array::from_iter_values(slots.iter().map(|s| kinds[*s as usize]))),
                Arc::new(UInt64Array::from_iter_values(slots.iter().map(|s| arrivals[*s as usize]))),
            ]
        };
        rows.snapshot(name, keys, &beside, mode, key_group_count, into)
    }

    /// Takes in what was snapshotted; returns the slots in order of arrival with their times.
    fn restore(&mut self, name: &str, from: &OperatorSnapshot, index: &mut KeyIndex, time: usize) -> Result<Vec<(TimestampMs, u32)>> {
        let mut types = self.types.clone();
        types.extend([DataType::UInt8, DataType::UInt64]);
        let mut all: Vec<(u64, TimestampMs, u32)> = Vec::new();
        for batch in from.rows(name, &types)? {
            let (columns, beside) = batch.columns().split_at(self.types.len());
            let keys = resolve(index, &self.keys, columns, batch.num_rows())?;
            let kinds = beside[0].as_primitive::<UInt8Type>().values();
            let arrivals = beside[1].as_primitive::<UInt64Type>().values();
            let slots = self.keep(columns, &keys, kinds, Some(arrivals))?;
            let times = RowTimes::of(&columns[time])?;
            for (i, slot) in slots.into_iter().enumerate() {
                all.push((arrivals[i], times.get_ms(i).unwrap_or(TimestampMs::MIN), slot));
            }
        }
        all.sort_unstable();
        self.rows.settle()?;
        Ok(all.into_iter().map(|(_, time, slot)| (time, slot)).collect())
    }
}

impl TemporalJoin {
    fn new(spec: TemporalJoinSpec) -> Result<Self> {
        if !matches!(spec.kind, JoinKind::Inner | JoinKind::Left) {
            return Err(Error::bug(format!("a temporal join of kind {:?}", spec.kind)));
        }
        let condition = spec.condition.as_ref().map(|c| Condition::compile(c, spec.left.schema.len(), &spec.config)).transpose()?;
        let left = spec.left.schema.to_arrow();
        let key_types: Vec<DataType> = spec.left.keys.iter().map(|k| left.field(*k).data_type().clone()).collect();
        Ok(TemporalJoin {
            output: spec.output.to_arrow(),
            condition,
            keys: KeyIndex::new(&key_types)?,
            left: Stored::new(&spec.left),
            right: Stored::new(&spec.right),
            waiting: BTreeMap::new(),
            waiting_of: Vec::new(),
            versions: Vec::new(),
            superseded: BTreeMap::new(),
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    fn grow(&mut self) {
        self.waiting_of.resize(self.keys.slot_bound(), 0);
        self.versions.resize_with(self.keys.slot_bound(), Vec::new);
    }

    fn wait(&mut self, time: TimestampMs, slot: u32) {
        let key = self.left.key_of[slot as usize];
        if key != NO_SLOT {
            self.waiting_of[key as usize] += 1;
        }
        self.waiting.entry(time).or_default().push(slot);
    }

    /// Adds a version; one of the same time takes the place of the one before.
    fn add_version(&mut self, time: TimestampMs, slot: u32) {
        let key = self.right.key_of[slot as usize];
        let versions = &mut self.versions[key as usize];
        let at = versions.partition_point(|(t, _)| *t < time);
        match versions.get_mut(at).filter(|(t, _)| *t == time) {
            Some(same) => {
                let before = std::mem::replace(&mut same.1, slot);
                self.right.rows.remove(before);
            }
            None => versions.insert(at, (time, slot)),
        }
        // Every version but the first ends the one before it; a deletion goes as well, once the watermark has passed it.
        let deletes = !RowKind::from_byte(self.right.kinds[slot as usize]).is_addition();
        let ends = versions.get(at.max(1)).map(|(later, _)| *later);
        let ends = ends.into_iter().chain((deletes && at == 0).then_some(time));
        ends.for_each(|time| self.superseded.entry(time).or_default().push(key));
    }

    /// The version of a key at a time; [`NO_ROW`] where there is none, or it was deleted.
    fn version_at(&self, key: Slot, time: TimestampMs) -> u32 {
        if key == NO_SLOT {
            return NO_ROW;
        }
        let versions = &self.versions[key as usize];
        let found = versions.partition_point(|(t, _)| *t <= time).checked_sub(1).map(|i| versions[i].1);
        found.filter(|slot| RowKind::from_byte(self.right.kinds[*slot as usize]).is_addition()).unwrap_or(NO_ROW)
    }

    /// Puts out the next left rows that the watermark has passed, about `room` of them; `false` where there are none.
    fn put_out(&mut self, room: usize, out: &mut Collector) -> Result<bool> {
        let mut due: Vec<(TimestampMs, u32)> = Vec::new();
        while due.len() < room
            && let Some(mut entry) = self.waiting.first_entry().filter(|e| *e.key() <= self.watermark)
        {
            let time = *entry.key();
            let fits = room - due.len();
            let slots = if entry.get().len() > fits { entry.get_mut().drain(..fits).collect() } else { entry.remove() };
            due.extend(slots.into_iter().map(|slot| (time, slot)));
        }
        if due.is_empty() {
            return Ok(false);
        }
        let slots: Vec<u32> = due.iter().map(|(_, slot)| *slot).collect();
        let rows = self.left.rows.gather_all(&slots)?;
        let mut partners: Vec<u32> = due.iter().map(|(time, slot)| self.version_at(self.left.key_of[*slot as usize], *time)).collect();
        if let Some(condition) = &mut self.condition {
            let mut pairs = Pairs::default();
            for (row, partner) in partners.iter().enumerate().filter(|(_, p)| **p != NO_ROW) {
                pairs.own.push(row as u32);
                pairs.other.push(*partner);
            }
            retain(condition, &mut pairs, 0, &rows, &mut self.right.rows)?;
            partners.fill(NO_ROW);
            pairs.own.iter().zip(&pairs.other).for_each(|(row, partner)| partners[*row as usize] = *partner);
        }
        let mut result = Assembly::default();
        let retracts = self.spec.left.retracts;
        for (row, partner) in partners.iter().enumerate() {
            if *partner == NO_ROW && self.spec.kind == JoinKind::Inner {
                continue;
            }
            match retracts {
                true => result.push(row as u32, *partner, RowKind::from_byte(self.left.kinds[slots[row] as usize])),
                false => result.insert(row as u32, *partner),
            }
        }
        if result.len() > 0 {
            out.emit(result.build(&self.output, 0, &rows, &mut self.right.rows, false)?);
        }
        let mut touched = Vec::new();
        for slot in slots {
            let key = self.left.key_of[slot as usize];
            if key != NO_SLOT {
                self.waiting_of[key as usize] -= 1;
                touched.push(key);
            }
            self.left.rows.remove(slot);
        }
        self.left.rows.settle()?;
        self.forget(touched);
        Ok(true)
    }

    /// Gives up the versions that no left row in time can ask for any more: all before the last that the watermark has passed.
    fn prune(&mut self) -> Result<()> {
        let mut touched = Vec::new();
        while let Some(entry) = self.superseded.first_entry().filter(|e| *e.key() <= self.watermark) {
            for key in entry.remove() {
                let versions = &mut self.versions[key as usize];
                let passed = versions.partition_point(|(t, _)| *t <= self.watermark);
                versions.drain(..passed.saturating_sub(1)).for_each(|(_, slot)| self.right.rows.remove(slot));
                touched.push(key);
            }
        }
        // A deletion that the watermark has passed is as no version at all.
        for key in &touched {
            let versions = &mut self.versions[*key as usize];
            if let [(time, slot), ..] = versions.as_slice()
                && *time <= self.watermark
                && !RowKind::from_byte(self.right.kinds[*slot as usize]).is_addition()
            {
                self.right.rows.remove(*slot);
                versions.remove(0);
            }
        }
        self.right.rows.settle()?;
        self.forget(touched);
        Ok(())
    }

    /// Forgets the keys of which nothing is left.
    fn forget(&mut self, mut keys: Vec<Slot>) {
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| self.waiting_of[*key as usize] == 0 && self.versions[*key as usize].is_empty());
        self.keys.remove(&keys);
    }

    fn report(&self) {
        self.metrics.state_rows.set((self.left.rows.len() + self.right.rows.len()) as i64);
    }

    fn take_left(&mut self, batch: &ColumnBatch) -> Result<()> {
        let keys = resolve(&mut self.keys, &self.left.keys, batch.columns(), batch.num_rows())?;
        self.grow();
        let kinds: Vec<u8> = (0..batch.num_rows()).map(|row| batch.kind(row) as u8).collect();
        let slots = self.left.keep(batch.columns(), &keys, &kinds, None)?;
        let times = RowTimes::of(batch.column(self.spec.left_time))?;
        for (row, slot) in slots.into_iter().enumerate() {
            // A row without a time has no version, and need not wait.
            self.wait(times.get_ms(row).unwrap_or(TimestampMs::MIN), slot);
        }
        self.left.rows.settle()
    }

    fn take_right(&mut self, batch: &ColumnBatch) -> Result<()> {
        let times = RowTimes::of(batch.column(self.spec.right_time))?;
        let wanted: Vec<u32> = (0..batch.num_rows())
            .filter(|row| batch.kind(*row) != RowKind::UpdateBefore && times.get_ms(*row).is_some())
            .map(|row| row as u32)
            .collect();
        let columns = take_rows(batch.columns(), &wanted)?;
        let keys = resolve(&mut self.keys, &self.right.keys, &columns, wanted.len())?;
        self.grow();
        // A version without a key is found by nobody.
        let known: Vec<u32> = (0..wanted.len() as u32).filter(|i| keys[*i as usize] != NO_SLOT).collect();
        let columns = take_rows(&columns, &known)?;
        let keys: Vec<Slot> = known.iter().map(|i| keys[*i as usize]).collect();
        let rows: Vec<usize> = known.iter().map(|i| wanted[*i as usize] as usize).collect();
        let kinds: Vec<u8> = rows.iter().map(|row| batch.kind(*row) as u8).collect();
        let slots = self.right.keep(&columns, &keys, &kinds, None)?;
        for (row, slot) in rows.into_iter().zip(slots) {
            self.add_version(times.get_ms(row).unwrap_or(TimestampMs::MIN), slot);
        }
        self.right.rows.settle()
    }
}

impl Operator for TemporalJoin {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.condition = self.condition.take().map(|c| c.with_env(context.env));
        let Some(restored) = restored else { return Ok(()) };
        let left = self.left.restore(LEFT, &restored, &mut self.keys, self.spec.left_time)?;
        let right = self.right.restore(VERSIONS, &restored, &mut self.keys, self.spec.right_time)?;
        self.grow();
        left.into_iter().for_each(|(time, slot)| self.wait(time, slot));
        right.into_iter().for_each(|(time, slot)| self.add_version(time, slot));
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        if port == 0 {
            self.take_left(&batch)?
        } else {
            self.take_right(&batch)?
        };
        self.report();
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
            if !self.put_out(out.room(), out)? {
                self.prune()?;
                self.report();
                return Ok(Progress::Done);
            }
        }
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.left.snapshot(LEFT, mode, self.key_group_count, &mut taken)?;
        self.right.snapshot(VERSIONS, mode, self.key_group_count, &mut taken)?;
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
