//! Window functions over event time: a row waits until the watermark has passed it, and then comes out with its values, once.
//!
//! State: the rows that wait; the accumulators of unbounded frames for each partition; and of the rows put out, those that a
//! bounded frame or LAG may still look at. Where all frames are bounded in time, a partition is forgotten one and a half times the
//! longest frame after its last row; until then, as in Apache Flink, a row counts as late where something later of its partition
//! has come out, or its forgetting was due, and not by the watermark alone.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, Int64Builder, ListBuilder, UInt64Array, new_empty_array};
use arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt64Type};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyedTable, Slot, SlotColumns};

use super::frames::{Frames, Member, Sequence, Work};
use crate::rank::RowOrder;
use crate::records;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::row_time::{RowTimes, restore_watermark, save_watermark};
use crate::spec::{Frame, OverCall, OverSpec};

const ROWS: &str = "rows";
const PARTITIONS: &str = "partitions";

pub(super) struct InTime {
    spec: OverSpec,
    time: usize,
    types: Vec<DataType>,
    output: SchemaRef,
    /// The columns that the calls read.
    read: Vec<usize>,
    partitions: KeyedTable<Partitions>,
    rows: RowStore,
    /// By row slot: its partition, and when it arrived.
    partition_of: Vec<Slot>,
    arrivals: Vec<u64>,
    next_arrival: u64,
    /// By row slot: whether it was put out.
    is_out: Vec<bool>,
    /// The rows that wait, by time.
    waiting: BTreeMap<TimestampMs, Vec<u32>>,
    /// The order of rows of one time, where more than the time says it.
    order: Option<RowOrder>,
    /// The longest frame, where all are bounded in time: partitions are forgotten then.
    reach_ms: Option<i64>,
    /// Whether something counts all rows of a partition, so that a row may not come behind the watermark.
    counts_all: bool,
    /// Partitions by when they are to be forgotten, unless rows came meanwhile.
    expiring: BTreeMap<TimestampMs, Vec<Slot>>,
    /// By partition slot, between calls all [`NO_ROW`]: its position in the work at hand.
    position_of: Vec<u32>,
    /// By row slot, between calls all [`NO_ROW`]: its position among the rows that are read.
    row_positions: Vec<u32>,
    /// Rows with their values that did not fit the collector.
    ready: Option<ColumnBatch>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// What is kept of each partition.
struct Partitions {
    frames: Frames,
    /// Rows up to this time are late.
    last_ms: Vec<i64>,
    /// When it was and is to be forgotten, ascending: it is at the last of these times, and nothing is in time that is not later than
    /// one of them that has passed.
    expiries: Vec<Vec<i64>>,
    /// The rows put out that are still needed, in order; while work is planned, those that come out too.
    kept: Vec<VecDeque<Member>>,
    /// For each partition and frame the first row of `kept` that is counted.
    starts: Vec<u32>,
}

impl Partitions {
    fn starts_of(&mut self, slot: Slot) -> &mut [u32] {
        let frames = self.frames.len();
        &mut self.starts[slot as usize * frames..][..frames]
    }
}

impl SlotColumns for Partitions {
    fn types(&self) -> Vec<DataType> {
        [DataType::Int64, DataType::new_list(DataType::Int64, true)].into_iter().chain(self.frames.types()).collect()
    }

    fn grow(&mut self, bound: usize) {
        self.frames.grow(bound);
        self.last_ms.resize(bound, i64::MIN);
        self.expiries.resize(bound, Vec::new());
        self.kept.resize_with(bound, VecDeque::new);
        self.starts.resize(bound * self.frames.len(), 0);
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let last = Arc::new(Int64Array::from_iter_values(slots.iter().map(|s| self.last_ms[*s as usize])));
        let mut expiries = ListBuilder::new(Int64Builder::new());
        for slot in slots {
            expiries.values().append_slice(&self.expiries[*slot as usize]);
            expiries.append(true);
        }
        let columns: [ArrayRef; 2] = [last, Arc::new(expiries.finish())];
        Ok(columns.into_iter().chain(self.frames.save(slots)?).collect())
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let (last, expiries) = (columns[0].as_primitive::<Int64Type>(), columns[1].as_list::<i32>());
        for (i, slot) in slots.iter().enumerate() {
            self.last_ms[*slot as usize] = last.value(i);
            self.expiries[*slot as usize] = expiries.value(i).as_primitive::<Int64Type>().values().to_vec();
        }
        self.frames.load(slots, &columns[2..])
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.frames.clear(slots);
        for slot in slots {
            self.last_ms[*slot as usize] = i64::MIN;
            self.expiries[*slot as usize] = Vec::new();
            self.kept[*slot as usize].clear();
            self.starts_of(*slot).fill(0);
        }
    }
}

impl InTime {
    pub(super) fn new(spec: OverSpec) -> Result<Self> {
        let time = spec.time.ok_or_else(|| Error::bug("window functions over event time without a time"))?;
        let types: Vec<DataType> = spec.input.to_arrow().fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<DataType> = spec.partition.iter().map(|k| types[*k].clone()).collect();
        let frames = Frames::new(&spec.calls)?;
        let read = frames.columns_read();
        check(&spec)?;
        let partitions = Partitions { frames, last_ms: Vec::new(), expiries: Vec::new(), kept: Vec::new(), starts: Vec::new() };
        let reach_ms = |call: &OverCall| match call {
            OverCall::Aggregate { frame: Frame::Range { preceding_ms }, .. } => *preceding_ms,
            _ => None,
        };
        let counts_all = |call: &OverCall| match call {
            OverCall::Aggregate { frame: Frame::Range { preceding_ms }, .. } => preceding_ms.is_none(),
            OverCall::Aggregate { frame: Frame::Rows { preceding }, .. } => preceding.is_none(),
            _ => true,
        };
        Ok(InTime {
            reach_ms: spec.calls.iter().map(reach_ms).collect::<Option<Vec<_>>>().and_then(|ms| ms.into_iter().max()),
            counts_all: spec.calls.iter().any(counts_all),
            order: (spec.order.len() > 1).then(|| RowOrder::new(&spec.order, &spec.input.to_arrow())).transpose()?,
            time,
            read,
            partitions: KeyedTable::new(&key_types, 0, partitions)?,
            rows: RowStore::new(types.clone()),
            types,
            output: spec.output.to_arrow(),
            partition_of: Vec::new(),
            arrivals: Vec::new(),
            next_arrival: 0,
            is_out: Vec::new(),
            waiting: BTreeMap::new(),
            expiring: BTreeMap::new(),
            position_of: Vec::new(),
            row_positions: Vec::new(),
            ready: None,
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    /// Keeps rows of partitions `slots` that arrived at these points.
    fn keep(&mut self, columns: &[ArrayRef], slots: &[Slot], arrivals: impl Iterator<Item = u64>) -> Result<Vec<u32>> {
        let mut rows = Vec::with_capacity(slots.len());
        self.rows.append(columns, slots.len(), &mut rows)?;
        let bound = self.rows.slot_bound();
        self.partition_of.resize(bound, 0);
        self.arrivals.resize(bound, 0);
        self.is_out.resize(bound, false);
        for ((row, slot), arrival) in rows.iter().zip(slots).zip(arrivals) {
            self.partition_of[*row as usize] = *slot;
            self.arrivals[*row as usize] = arrival;
            self.is_out[*row as usize] = false;
        }
        Ok(rows)
    }

    /// Whether a row of this partition and time came too late to be put in its place.
    fn is_late(&self, slot: Slot, time: TimestampMs) -> bool {
        (self.counts_all && time <= self.watermark) || time <= self.partitions.values.last_ms[slot as usize]
    }

    /// When a partition is to be forgotten whose last row is of this time; and when it may be, so that a row now and then does
    /// not move the time on at once.
    fn expiry(time: TimestampMs, reach_ms: i64) -> (TimestampMs, TimestampMs) {
        let after = |ms: i64| time.saturating_add(ms).saturating_add(1);
        (after(reach_ms), after(reach_ms.saturating_add(reach_ms / 2)))
    }

    /// Takes the next rows that are due, about `room` of them, in order.
    fn due(&mut self, room: usize) -> Result<Vec<Member>> {
        let mut due = Vec::new();
        while due.len() < room
            && let Some(entry) = self.waiting.first_entry().filter(|e| *e.key() <= self.watermark)
        {
            let time = *entry.key();
            let rows = entry.remove();
            due.extend(self.in_order(rows)?.into_iter().map(|row| (time, row)));
        }
        Ok(due)
    }

    /// Rows, given by time and then by arrival, in the order that was asked for.
    fn in_order(&mut self, rows: Vec<u32>) -> Result<Vec<u32>> {
        let Some(order) = &self.order else { return Ok(rows) };
        let keys = order.keys(&self.rows.gather_all(&rows)?)?;
        let mut positions: Vec<usize> = (0..rows.len()).collect();
        positions.sort_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        Ok(positions.into_iter().map(|i| rows[i]).collect())
    }

    /// The rows that are due, with their values.
    fn values_of(&mut self, due: &[Member]) -> Result<ColumnBatch> {
        self.position_of.resize(self.partitions.index().slot_bound(), NO_ROW);
        let mut touched: Vec<Slot> = Vec::new();
        let mut done: Vec<usize> = Vec::new();
        // By due row: its partition's position, and its own among the partition's.
        let mut places: Vec<(u32, usize)> = Vec::with_capacity(due.len());
        let values = &mut self.partitions.values;
        for (time, row) in due {
            let slot = self.partition_of[*row as usize];
            if self.position_of[slot as usize] == NO_ROW {
                self.position_of[slot as usize] = touched.len() as u32;
                touched.push(slot);
                done.push(values.kept[slot as usize].len());
            }
            let position = self.position_of[slot as usize];
            places.push((position, values.kept[slot as usize].len() - done[position as usize]));
            values.kept[slot as usize].push_back((*time, *row));
            let last = &mut values.last_ms[slot as usize];
            *last = (*last).max(*time);
            self.is_out[*row as usize] = true;
            self.rows.touch(*row);
        }
        touched.iter().for_each(|slot| self.position_of[*slot as usize] = NO_ROW);
        self.partitions.touch(&touched);

        let mut starts: Vec<u32> = Vec::with_capacity(touched.len() * self.partitions.values.frames.len());
        touched.iter().for_each(|slot| starts.extend_from_slice(self.partitions.values.starts_of(*slot)));
        let Partitions { frames, kept, .. } = &mut self.partitions.values;
        let width = frames.len();
        let mut rest = starts.as_mut_slice();
        let mut sequences: Vec<Sequence<'_>> = Vec::with_capacity(touched.len());
        for (slot, done) in touched.iter().zip(&done) {
            let (mine, others) = rest.split_at_mut(width);
            rest = others;
            sequences.push(Sequence { slot: *slot, rows: &kept[*slot as usize], done: *done, starts: mine });
        }
        let work = frames.plan(&mut sequences);
        drop(sequences);
        let results = execute(frames, work, &mut self.rows, &self.read, &mut self.row_positions)?;
        for (i, slot) in touched.iter().enumerate() {
            self.partitions.values.starts_of(*slot).copy_from_slice(&starts[i * width..][..width]);
        }

        // From the order of partitions to that of time.
        let kept = &self.partitions.values.kept;
        let mut first = 0;
        let mut firsts = Vec::with_capacity(touched.len());
        for (slot, done) in touched.iter().zip(&done) {
            firsts.push(first);
            first += kept[*slot as usize].len() - done;
        }
        let order: Vec<u32> = places.iter().map(|(partition, nth)| (firsts[*partition as usize] + nth) as u32).collect();
        let mut columns = self.rows.gather_all(&due.iter().map(|(_, row)| *row).collect::<Vec<_>>())?;
        columns.extend(take_rows(&results, &order)?);
        let batch = ColumnBatch::inserts(records(&self.output, columns, due.len())?);
        touched.iter().for_each(|slot| self.trim(*slot));
        self.rows.settle()?;
        Ok(batch)
    }

    /// Gives up the rows of a partition that nothing looks at any more.
    fn trim(&mut self, slot: Slot) {
        let values = &mut self.partitions.values;
        let frames = values.frames.len();
        let starts = &mut values.starts[slot as usize * frames..][..frames];
        let kept = &mut values.kept[slot as usize];
        let gone = values.frames.first_needed(kept.len(), starts);
        kept.drain(..gone).for_each(|(_, row)| self.rows.remove(row));
        starts.iter_mut().for_each(|start| *start = start.saturating_sub(gone as u32));
    }

    /// Forgets the partitions whose time has come.
    fn expire(&mut self) -> Result<()> {
        let mut gone: Vec<Slot> = Vec::new();
        while let Some(entry) = self.expiring.first_entry().filter(|e| *e.key() <= self.watermark) {
            let at = *entry.key();
            for slot in entry.remove() {
                self.partitions.touch(&[slot]);
                let values = &mut self.partitions.values;
                let last = &mut values.last_ms[slot as usize];
                *last = (*last).max(at);
                let expiries = &mut values.expiries[slot as usize];
                expiries.retain(|expiry| *expiry > at);
                if expiries.is_empty() {
                    gone.push(slot);
                }
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        // None of their rows wait: a row moves the time of its partition to after its own.
        for slot in &gone {
            let kept = std::mem::take(&mut self.partitions.values.kept[*slot as usize]);
            kept.into_iter().for_each(|(_, row)| self.rows.remove(row));
        }
        self.partitions.remove(&gone);
        self.rows.settle()
    }

    fn report(&self) {
        self.metrics.state_rows.set((self.rows.len() + self.partitions.index().len()) as i64);
        self.metrics.next_close_ms.set(self.expiring.keys().next().copied().unwrap_or(TimestampMs::MAX));
    }
}

/// Whether what is asked for can be known once the watermark has passed a row.
fn check(spec: &OverSpec) -> Result<()> {
    let by_place = |call: &OverCall| match call {
        OverCall::Aggregate { frame, .. } => matches!(frame, Frame::Range { .. }),
        call => matches!(call, OverCall::Rank | OverCall::DenseRank),
    };
    if spec.calls.iter().any(|call| matches!(call, OverCall::Offset { rows_before, .. } if *rows_before < 0)) {
        return Err(Error::bug("LEAD over event time, where later rows are not known: it needs an order that is updated"));
    }
    if spec.order.len() > 1 && spec.calls.iter().any(by_place) {
        return Err(Error::bug("peers of more than event time: they need an order that is updated"));
    }
    Ok(())
}

/// Computes the values of the new rows. `position` is by row slot, all [`NO_ROW`] before and after.
fn execute(frames: &mut Frames, mut work: Work, store: &mut RowStore, read: &[usize], position: &mut Vec<u32>) -> Result<Vec<ArrayRef>> {
    position.resize(store.slot_bound(), NO_ROW);
    let mut needed = Vec::new();
    work.renumber(|row| {
        let at = &mut position[row as usize];
        if *at == NO_ROW {
            *at = needed.len() as u32;
            needed.push(row);
        }
        *at
    });
    needed.iter().for_each(|row| position[*row as usize] = NO_ROW);
    let columns = sparse(store, read, &needed)?;
    frames.execute(work, &columns)
}

/// All columns of a store by position, of which only those in `read` have the rows; the others are empty.
fn sparse(store: &mut RowStore, read: &[usize], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    let mut columns: Vec<ArrayRef> = vec![new_empty_array(&DataType::Null); store.width()];
    for (at, column) in read.iter().zip(store.gather(read, rows)?) {
        columns[*at] = column;
    }
    Ok(columns)
}

impl Operator for InTime {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        let Some(restored) = restored else { return Ok(()) };
        self.partitions.restore(PARTITIONS, &restored)?;
        self.restore_rows(&restored)?;
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        if batch.kinds().is_some() {
            return Err(Error::bug("window functions over event time of an input that takes rows back"));
        }
        let keys: Vec<&ArrayRef> = self.spec.partition.iter().map(|k| batch.column(*k)).collect();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.partitions.resolve(&keys, batch.num_rows(), &mut slots, &mut new_rows)?;
        let times = RowTimes::of(batch.column(self.time))?;
        let (mut taken, mut taken_slots, mut taken_times, mut unused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, slot) in slots.iter().enumerate() {
            match times.get_ms(row) {
                Some(time) if !self.is_late(*slot, time) => {
                    taken.push(row as u32);
                    taken_slots.push(*slot);
                    taken_times.push(time);
                }
                Some(_) => self.metrics.late_rows.add(1),
                None => self.metrics.bad_records.add(1),
            }
        }
        // A partition of which only late rows came is no partition.
        if taken.len() < slots.len() && !new_rows.is_empty() {
            let used: HashSet<Slot> = taken_slots.iter().copied().collect();
            unused.extend(new_rows.iter().map(|row| slots[*row as usize]).filter(|slot| !used.contains(slot)));
            self.partitions.remove(&unused);
        }
        let arrivals = self.next_arrival..;
        self.next_arrival += taken.len() as u64;
        let rows = self.keep(&take_rows(batch.columns(), &taken)?, &taken_slots, arrivals)?;
        for ((row, time), slot) in rows.into_iter().zip(taken_times).zip(taken_slots) {
            self.waiting.entry(time).or_default().push(row);
            if let Some(reach_ms) = self.reach_ms {
                let (least, at) = Self::expiry(time, reach_ms);
                let expiries = &mut self.partitions.values.expiries[slot as usize];
                if expiries.last().is_none_or(|last| *last < least) {
                    expiries.push(at);
                    self.expiring.entry(at).or_default().push(slot);
                }
            }
        }
        self.rows.settle()?;
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
            // Rows of one time come together, however many they are.
            if let Some(ready) = self.ready.take() {
                let fits = out.room().min(ready.num_rows());
                self.ready = (fits < ready.num_rows()).then(|| ready.slice(fits, ready.num_rows() - fits));
                out.emit(ready.slice(0, fits));
                continue;
            }
            let due = self.due(out.room())?;
            if due.is_empty() {
                self.expire()?;
                self.report();
                return Ok(Progress::Done);
            }
            self.ready = Some(self.values_of(&due)?);
        }
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.partitions.snapshot(PARTITIONS, mode, self.key_group_count, &mut taken)?;
        let (arrivals, is_out) = (&self.arrivals, &self.is_out);
        let beside = |rows: &[u32]| -> Vec<ArrayRef> {
            vec![
                Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| arrivals[*row as usize]))),
                Arc::new(rows.iter().map(|row| Some(is_out[*row as usize])).collect::<BooleanArray>()),
            ]
        };
        self.rows.snapshot(ROWS, &self.spec.partition, &beside, mode, self.key_group_count, &mut taken)?;
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

impl InTime {
    fn restore_rows(&mut self, restored: &OperatorSnapshot) -> Result<()> {
        let width = self.types.len();
        let mut types = self.types.clone();
        types.extend([DataType::UInt64, DataType::Boolean]);
        let mut out: Vec<(TimestampMs, u64, u32)> = Vec::new();
        let mut waiting: Vec<(TimestampMs, u64, u32)> = Vec::new();
        for batch in restored.rows(ROWS, &types)? {
            let columns = &batch.columns()[..width];
            let keys: Vec<&ArrayRef> = self.spec.partition.iter().map(|k| &columns[*k]).collect();
            let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
            self.partitions.resolve(&keys, batch.num_rows(), &mut slots, &mut new_rows)?;
            let arrivals = batch.column(width).as_primitive::<UInt64Type>().values();
            let was_out = batch.column(width + 1).as_boolean();
            let rows = self.keep(columns, &slots, arrivals.iter().copied())?;
            let times = RowTimes::of(&columns[self.time])?;
            for (i, row) in rows.into_iter().enumerate() {
                let time = times.get_ms(i).ok_or_else(|| Error::corrupt("a row without its time"))?;
                self.next_arrival = self.next_arrival.max(arrivals[i] + 1);
                self.is_out[row as usize] = was_out.value(i);
                if was_out.value(i) { &mut out } else { &mut waiting }.push((time, arrivals[i], row));
            }
        }
        waiting.sort_unstable();
        for (time, _, row) in waiting {
            self.waiting.entry(time).or_default().push(row);
        }
        out.sort_unstable();
        let (times, rows): (Vec<TimestampMs>, Vec<u32>) = out.into_iter().map(|(time, _, row)| (time, row)).unzip();
        // The order begins with the time, so it is within a time that rows move.
        let all = self.in_order(rows)?;
        for (time, row) in times.into_iter().zip(&all) {
            let slot = self.partition_of[*row as usize];
            self.partitions.values.kept[slot as usize].push_back((time, *row));
        }
        // Bounded frames are counted anew from the rows that they are over.
        let mut position = vec![NO_ROW; self.rows.slot_bound()];
        all.iter().enumerate().for_each(|(i, row)| position[*row as usize] = i as u32);
        let columns = sparse(&mut self.rows, &self.read, &all)?;
        let Partitions { frames, kept, starts, expiries, .. } = &mut self.partitions.values;
        let numbered: Vec<(Slot, VecDeque<Member>)> = (0..kept.len())
            .filter(|slot| !kept[*slot].is_empty())
            .map(|slot| (slot as Slot, kept[slot].iter().map(|(time, row)| (*time, position[*row as usize])).collect()))
            .collect();
        for (slot, rows) in &numbered {
            let mine = &mut starts[*slot as usize * frames.len()..][..frames.len()];
            frames.refill(&mut [Sequence { slot: *slot, rows, done: rows.len(), starts: mine }], &columns)?;
        }
        for (slot, at) in expiries.iter().enumerate().flat_map(|(slot, all)| all.iter().map(move |at| (slot, at))) {
            self.expiring.entry(*at).or_default().push(slot as Slot);
        }
        self.rows.settle()
    }
}
