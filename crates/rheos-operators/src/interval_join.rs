//! `interval-join`: rows of both sides whose times are near each other. Keeps a row until the watermark says that no partner can
//! come any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use crate::join::{Assembly, Condition, Cursor, KeyLists, MAX_STEPS, Pairs, collect, preserved, remove_unused, resolve, retain};
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::row_time::{RowTimes, restore_watermark, save_watermark};
use crate::spec::{IntervalJoinSpec, JoinKind, JoinSide};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("interval-join", |spec| Ok(Box::new(IntervalJoin::new(read_spec(spec)?)?)));
}

/// The names of the sides in a snapshot.
const SIDES: [&str; 2] = ["left", "right"];

struct IntervalJoin {
    spec: IntervalJoinSpec,
    output: SchemaRef,
    condition: Option<Condition>,
    /// The keys of both sides together: each key has one slot.
    keys: KeyIndex,
    sides: [Side; 2],
    work: Option<Work>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// What is kept of one input.
struct Side {
    schema: SchemaRef,
    keys: Vec<usize>,
    time: usize,
    /// A partner's time may be this much after a row's.
    reach_ms: i64,
    /// Whether rows without a partner matter.
    preserved: bool,
    rows: RowStore,
    lists: KeyLists,
    /// By row slot: its key, its time, and whether it has had a partner.
    key_of: Vec<Slot>,
    times: Vec<TimestampMs>,
    matched: Vec<bool>,
    /// The rows by time.
    by_time: BTreeMap<TimestampMs, Vec<u32>>,
}

/// A batch that is being joined.
struct Work {
    port: usize,
    batch: ColumnBatch,
    /// The key of each row; [`NO_SLOT`] where it can have no partner.
    keys: Vec<Slot>,
    times: Vec<TimestampMs>,
    /// The slot of each row that is kept, else [`NO_ROW`].
    slots: Vec<u32>,
    cursor: Cursor,
    /// Whether the row at the cursor has had a partner.
    matched: bool,
}

impl Side {
    fn new(spec: &JoinSide, time: usize, reach_ms: i64, preserved: bool) -> Self {
        let schema = spec.schema.to_arrow();
        let types = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        Side {
            schema,
            keys: spec.keys.clone(),
            time,
            reach_ms,
            preserved,
            rows: RowStore::new(types),
            lists: KeyLists::new(true),
            key_of: Vec::new(),
            times: Vec::new(),
            matched: Vec::new(),
            by_time: BTreeMap::new(),
        }
    }

    /// Whether a partner of a row of this time may still come.
    fn is_open(&self, time: TimestampMs, watermark: TimestampMs) -> bool {
        time.saturating_add(self.reach_ms) > watermark
    }

    /// Keeps rows (all of them have keys); returns their slots.
    fn keep(&mut self, columns: &[ArrayRef], keys: &[Slot], times: &[TimestampMs], matched: &[bool], key_bound: usize) -> Result<Vec<u32>> {
        let mut slots = Vec::with_capacity(keys.len());
        self.rows.append(columns, keys.len(), &mut slots)?;
        let bound = self.rows.slot_bound();
        self.lists.grow(key_bound, bound);
        self.key_of.resize(bound, NO_SLOT);
        self.times.resize(bound, 0);
        self.matched.resize(bound, false);
        for (i, slot) in slots.iter().enumerate() {
            self.key_of[*slot as usize] = keys[i];
            self.times[*slot as usize] = times[i];
            self.matched[*slot as usize] = matched[i];
            self.lists.add(keys[i], *slot);
            self.by_time.entry(times[i]).or_default().push(*slot);
        }
        Ok(slots)
    }

    /// Gives up rows of the earliest time that no partner can come for, at most `room`; returns them.
    fn expire_next(&mut self, watermark: TimestampMs, room: usize) -> Option<Vec<u32>> {
        let reach_ms = self.reach_ms;
        let mut entry = self.by_time.first_entry().filter(|e| e.key().saturating_add(reach_ms) <= watermark)?;
        let left = entry.get().len().saturating_sub(room);
        let rows = if left > 0 { entry.get_mut().split_off(left) } else { entry.remove() };
        for row in &rows {
            self.lists.remove(self.key_of[*row as usize], *row);
            self.rows.remove(*row);
        }
        Some(rows)
    }

    /// One row of NULLs can be taken from these columns.
    fn no_rows(&self) -> Vec<ArrayRef> {
        RecordBatch::new_empty(self.schema.clone()).columns().to_vec()
    }
}

impl IntervalJoin {
    fn new(spec: IntervalJoinSpec) -> Result<Self> {
        let condition = spec.condition.as_ref().map(|c| Condition::compile(c, spec.left.schema.len(), &spec.config)).transpose()?;
        let left = spec.left.schema.to_arrow();
        let key_types: Vec<DataType> = spec.left.keys.iter().map(|k| left.field(*k).data_type().clone()).collect();
        let [keep_left, keep_right] = preserved(spec.kind);
        // SEMI needs no left row alone: those with a partner come out when that is found.
        let keep_left = keep_left && spec.kind != JoinKind::Semi;
        let interval = spec.interval;
        Ok(IntervalJoin {
            output: spec.output.to_arrow(),
            condition,
            keys: KeyIndex::new(&key_types)?,
            sides: [
                Side::new(&spec.left, interval.left_time, interval.upper_ms, keep_left),
                Side::new(&spec.right, interval.right_time, interval.lower_ms.saturating_neg(), keep_right),
            ],
            work: None,
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    fn left_only(&self) -> bool {
        matches!(self.spec.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Takes a batch in: keeps the rows that may still find a partner later.
    fn admit(&mut self, port: usize, batch: ColumnBatch) -> Result<Work> {
        if batch.kinds().is_some() {
            return Err(Error::bug("an interval join over an input that takes rows back"));
        }
        let side = &mut self.sides[port];
        let mut keys = resolve(&mut self.keys, &side.keys, batch.columns(), batch.num_rows())?;
        let row_times = RowTimes::of(batch.column(side.time))?;
        let mut times = Vec::with_capacity(keys.len());
        let (mut kept, mut kept_keys, mut kept_times) = (Vec::new(), Vec::new(), Vec::new());
        for (row, key) in keys.iter_mut().enumerate() {
            let Some(time) = row_times.get_ms(row) else {
                *key = NO_SLOT;
                times.push(TimestampMs::MIN);
                continue;
            };
            times.push(time);
            if *key != NO_SLOT && side.is_open(time, self.watermark) {
                kept.push(row as u32);
                kept_keys.push(*key);
                kept_times.push(time);
            }
        }
        let matched = vec![false; kept.len()];
        let stored = side.keep(&take_rows(batch.columns(), &kept)?, &kept_keys, &kept_times, &matched, self.keys.slot_bound())?;
        let mut slots = vec![NO_ROW; batch.num_rows()];
        kept.iter().zip(stored).for_each(|(row, slot)| slots[*row as usize] = slot);
        Ok(Work { port, batch, keys, times, slots, cursor: Cursor::default(), matched: false })
    }

    /// Whether rows of these times, left and right, are near enough.
    fn is_near(&self, left: TimestampMs, right: TimestampMs) -> bool {
        let apart = right.saturating_sub(left);
        self.spec.interval.lower_ms <= apart && apart <= self.spec.interval.upper_ms
    }

    /// Pairs the next rows of the batch at hand, about `room` of them.
    fn step(&mut self, work: &mut Work, room: usize) -> Result<Option<ColumnBatch>> {
        let (own, other) = (work.port, 1 - work.port);
        let first_row = work.cursor.row;
        let alone = usize::from(self.sides[own].preserved);
        let mut pairs = collect(&mut work.cursor, &work.keys, &self.sides[other].lists, room, alone, |_| false);
        let near: Vec<bool> = (pairs.own.iter().zip(&pairs.other))
            .map(|(row, slot)| {
                let (mine, theirs) = (work.times[*row as usize], self.sides[other].times[*slot as usize]);
                if own == 0 { self.is_near(mine, theirs) } else { self.is_near(theirs, mine) }
            })
            .collect();
        pairs.retain(|i| near[i]);
        if let Some(condition) = &mut self.condition {
            retain(condition, &mut pairs, own, work.batch.columns(), &mut self.sides[other].rows)?;
        }
        let rows = self.matches(work, first_row, &pairs);
        if rows.len() == 0 {
            return Ok(None);
        }
        let left_only = self.left_only();
        rows.build(&self.output, own, work.batch.columns(), &mut self.sides[other].rows, left_only).map(Some)
    }

    /// The rows to put out for these pairs, and for the rows that are complete and will find no partner.
    fn matches(&mut self, work: &mut Work, first_row: usize, pairs: &Pairs) -> Assembly {
        let (own, other) = (work.port, 1 - work.port);
        let mut rows = Assembly::default();
        let mut pair = 0;
        let last = work.cursor.row.min(work.keys.len().saturating_sub(1));
        for row in first_row..=last {
            while pairs.own.get(pair) == Some(&(row as u32)) {
                let slot = pairs.other[pair];
                let first_of_own = !std::mem::replace(&mut work.matched, true);
                let first_of_other = !std::mem::replace(&mut self.sides[other].matched[slot as usize], true);
                if first_of_other {
                    self.sides[other].rows.touch(slot);
                }
                match self.spec.kind {
                    JoinKind::Semi if own == 0 && first_of_own => rows.insert(row as u32, NO_ROW),
                    JoinKind::Semi if own == 1 && first_of_other => rows.insert(NO_ROW, slot),
                    JoinKind::Semi | JoinKind::Anti => {}
                    _ => rows.insert(row as u32, slot),
                }
                pair += 1;
            }
            if row < work.cursor.row {
                let matched = std::mem::take(&mut work.matched);
                match work.slots[row] {
                    NO_ROW if !matched && self.sides[own].preserved => rows.insert(row as u32, NO_ROW),
                    NO_ROW => {}
                    slot => self.sides[own].matched[slot as usize] |= matched,
                }
            }
        }
        rows
    }

    /// Puts out rows of a side that found no partner in time.
    fn put_alone(&mut self, side: usize, expired: &[u32], out: &mut Collector) -> Result<()> {
        let mut rows = Assembly::default();
        for row in expired.iter().filter(|row| self.sides[side].preserved && !self.sides[side].matched[**row as usize]) {
            rows.insert(NO_ROW, *row);
        }
        if rows.len() > 0 {
            let none = self.sides[1 - side].no_rows();
            let left_only = self.left_only();
            out.emit(rows.build(&self.output, 1 - side, &none, &mut self.sides[side].rows, left_only)?);
        }
        let [left, right] = &self.sides;
        let keys = expired.iter().map(|row| self.sides[side].key_of[*row as usize]).collect();
        remove_unused(&mut self.keys, [&left.lists, &right.lists], keys);
        self.sides[side].rows.settle()
    }

    /// Forgets keys that came with a batch of which no row is kept.
    fn settle(&mut self, work: &Work) -> Result<()> {
        let [left, right] = &self.sides;
        let keys = work.keys.iter().copied().filter(|k| *k != NO_SLOT).collect();
        remove_unused(&mut self.keys, [&left.lists, &right.lists], keys);
        self.sides[work.port].rows.settle()?;
        self.report();
        Ok(())
    }

    fn report(&self) {
        self.metrics.state_rows.set((self.sides[0].rows.len() + self.sides[1].rows.len()) as i64);
        let next = |side: &Side| side.by_time.keys().next().map(|time| time.saturating_add(side.reach_ms));
        self.metrics.next_close_ms.set(self.sides.iter().filter_map(next).min().unwrap_or(TimestampMs::MAX));
    }
}

impl Operator for IntervalJoin {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.condition = self.condition.take().map(|c| c.with_env(context.env));
        let Some(restored) = restored else { return Ok(()) };
        for (side, name) in self.sides.iter_mut().zip(SIDES) {
            let mut types: Vec<DataType> = side.schema.fields().iter().map(|f| f.data_type().clone()).collect();
            types.push(DataType::Boolean);
            for batch in restored.rows(name, &types)? {
                let (columns, matched) = batch.columns().split_at(types.len() - 1);
                let keys = resolve(&mut self.keys, &side.keys, columns, batch.num_rows())?;
                let row_times = RowTimes::of(&columns[side.time])?;
                let times: Vec<TimestampMs> = (0..batch.num_rows()).map(|row| row_times.get_ms(row).unwrap_or(TimestampMs::MIN)).collect();
                let matched: Vec<bool> = matched[0].as_boolean().values().iter().collect();
                side.keep(columns, &keys, &times, &matched, self.keys.slot_bound())?;
            }
            side.rows.settle()?;
        }
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let work = self.admit(port, batch.into_columns()?)?;
        self.work = Some(work);
        self.resume(out)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        // After a restore the inputs may begin behind what was seen.
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn output_watermark(&self, at: TimestampMs) -> TimestampMs {
        if at == MAX_WATERMARK {
            return at;
        }
        let interval = self.spec.interval;
        at.saturating_sub(interval.upper_ms.max(interval.lower_ms.saturating_neg()).max(0))
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        if let Some(mut work) = self.work.take() {
            let first = work.cursor.steps;
            while work.cursor.row < work.batch.num_rows() {
                if out.is_full() || work.cursor.steps - first >= MAX_STEPS {
                    self.work = Some(work);
                    return Ok(Progress::More);
                }
                if let Some(rows) = self.step(&mut work, out.room())? {
                    out.emit(rows);
                }
            }
            self.settle(&work)?;
            return Ok(Progress::Done);
        }
        for side in 0..2 {
            while !out.is_full() {
                let mut expired = Vec::new();
                while expired.len() < out.room()
                    && let Some(rows) = self.sides[side].expire_next(self.watermark, out.room() - expired.len())
                {
                    expired.extend(rows);
                }
                if expired.is_empty() {
                    break;
                }
                self.put_alone(side, &expired, out)?;
            }
        }
        self.report();
        Ok(if out.is_full() { Progress::More } else { Progress::Done })
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        for (side, name) in self.sides.iter_mut().zip(SIDES) {
            let Side { rows, matched, keys, .. } = side;
            let beside = |slots: &[u32]| -> Vec<ArrayRef> {
                vec![Arc::new(slots.iter().map(|slot| Some(matched[*slot as usize])).collect::<BooleanArray>())]
            };
            rows.snapshot(name, keys, &beside, mode, self.key_group_count, &mut taken)?;
        }
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
