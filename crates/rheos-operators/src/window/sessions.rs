//! The sessions of each key: found, extended and merged as rows come, closed in order of time.
//!
//! A session is `[first row, last row + gap)`; a row belongs to every session that its own `[time, time + gap)` overlaps, and
//! those become one. A row that would be late by itself is kept where it joins a session that is open. So the sessions of a key
//! neither overlap nor touch, and have one order; what a row touches is found from its end backwards.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_core::key_group::KeyGroup;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::snapshot::{self, Slotted};
use rheos_state::{ChangedSlots, KeyIndex, NO_SLOT, Slot, SlotColumns, Slots};

use super::placement::null_time;
use super::slicing::Window;
use crate::row_time::RowTimes;

/// What is kept for each session.
pub(crate) trait SessionValues: SlotColumns {
    /// Adds session `from`, which is forgotten then, to session `into`.
    fn merge(&mut self, from: Slot, into: Slot) -> Result<()>;
}

/// Sessions by slot, their values beside them.
pub(crate) struct Sessions<V> {
    gap_ms: i64,
    keys: KeyIndex,
    /// How many sessions each key has, by the key's slot: at least one.
    open: Vec<Open>,
    /// All sessions by the key's slot and their start.
    by_start: BTreeMap<(Slot, TimestampMs), Slot>,
    /// The sessions that the row at hand touches; kept for its memory.
    touched: Vec<Slot>,
    /// How many sessions were looked at to find those of rows.
    #[cfg(test)]
    looked_at: usize,
    slots: Slots,
    sessions: Vec<Session>,
    /// When each session may close: its end as it was when it was last looked at, its slot and its serial number. Entries of
    /// sessions that are gone stay until they come up.
    timers: BinaryHeap<Reverse<(TimestampMs, Slot, u64)>>,
    next_serial: u64,
    /// The sessions that changed since the last snapshot.
    changed: ChangedSlots,
    pub(crate) values: V,
}

/// The sessions of a key.
#[derive(Debug, Clone, Copy)]
struct Open {
    count: u32,
    /// The session where there is one only, as most keys have it: found without a search.
    only: Slot,
}

const NOTHING_OPEN: Open = Open { count: 0, only: NO_SLOT };

#[derive(Debug, Clone, Copy)]
struct Session {
    window: Window,
    key: Slot,
    /// Tells sessions in one slot apart; 0 where there is none.
    serial: u64,
    /// Into which session it was merged in this batch.
    merged_into: Slot,
}

const NO_SESSION: Session = Session { window: Window { start: 0, end: 0 }, key: NO_SLOT, serial: 0, merged_into: NO_SLOT };

/// The rows of a batch that are not late, each with its session.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    pub(crate) slots: Vec<Slot>,
    pub(crate) rows: Vec<u32>,
    pub(crate) signs: Vec<i8>,
    pub(crate) late: u64,
}

impl<V: SessionValues> Sessions<V> {
    pub(crate) fn new(key_types: &[DataType], gap_ms: i64, values: V) -> Result<Self> {
        if gap_ms <= 0 {
            return Err(Error::config(format!("a session's gap must be positive, not {gap_ms} ms")));
        }
        Ok(Sessions {
            gap_ms,
            keys: KeyIndex::new(key_types)?,
            open: Vec::new(),
            by_start: BTreeMap::new(),
            touched: Vec::new(),
            #[cfg(test)]
            looked_at: 0,
            slots: Slots::default(),
            sessions: Vec::new(),
            timers: BinaryHeap::new(),
            next_serial: 1,
            changed: ChangedSlots::default(),
            values,
        })
    }

    /// Finds the session of each row, a sign of -1 meaning that the row is taken back; merges sessions and their values. The
    /// rows themselves are not in the values yet.
    pub(crate) fn assign(
        &mut self,
        keys: &[&ArrayRef],
        times: &ArrayRef,
        signs: Option<&[i8]>,
        watermark: TimestampMs,
        assigned: &mut Assigned,
    ) -> Result<()> {
        let (rows, times) = (times.len(), RowTimes::of(times)?);
        let (mut key_slots, mut new_rows) = (Vec::new(), Vec::new());
        self.keys.resolve(keys, rows, &mut key_slots, &mut new_rows)?;
        self.open.resize(self.keys.slot_bound(), NOTHING_OPEN);
        *assigned = Assigned::default();
        let mut merges = Vec::new();
        for (row, key) in key_slots.iter().enumerate() {
            let time = times.get_ms(row).ok_or_else(null_time)?;
            let sign = signs.map_or(1, |signs| signs[row]);
            match self.session_of(*key, time, sign, watermark, &mut merges) {
                NO_SLOT => assigned.late += 1,
                slot => {
                    assigned.slots.push(slot);
                    assigned.rows.push(row as u32);
                    assigned.signs.push(sign);
                }
            }
        }
        self.values.grow(self.slots.bound());
        for (from, into) in &merges {
            self.values.merge(*from, *into)?;
        }
        if !merges.is_empty() {
            assigned.slots.iter_mut().for_each(|slot| *slot = self.survivor(*slot));
            let gone: Vec<Slot> = merges.iter().map(|(from, _)| *from).collect();
            self.give_back(&gone);
        }
        self.changed.add(&assigned.slots);
        // Keys whose only rows were late.
        let empty: Vec<Slot> =
            new_rows.iter().map(|row| key_slots[*row as usize]).filter(|key| self.open[*key as usize].count == 0).collect();
        self.keys.remove(&empty);
        Ok(())
    }

    fn session_of(&mut self, key: Slot, time: TimestampMs, sign: i8, watermark: TimestampMs, merges: &mut Vec<(Slot, Slot)>) -> Slot {
        let window = Window { start: time, end: time.saturating_add(self.gap_ms) };
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        self.find(key, window, sign, &mut touched);
        // The one that began last takes in the others.
        let found = touched.iter().copied().max_by_key(|slot| self.sessions[*slot as usize].serial);
        if let (Some(found), true) = (found, sign > 0) {
            for at in touched.iter().copied().filter(|at| *at != found) {
                self.unlink(at);
                self.sessions[at as usize].merged_into = found;
                merges.push((at, found));
                self.extend(found, self.sessions[at as usize].window);
            }
            self.extend(found, window);
        }
        self.touched = touched;
        match found {
            Some(found) => found,
            None if sign < 0 || window.is_closed(watermark) => NO_SLOT,
            None => self.begin(key, window),
        }
    }

    /// The sessions of the key that a row's window touches; where the row is taken back, the one that has its time.
    fn find(&mut self, key: Slot, window: Window, sign: i8, touched: &mut Vec<Slot>) {
        // Windows that only touch are one session, as in Flink: two rows exactly one gap apart.
        let (first, last) = if sign > 0 { (window.start, window.end) } else { (window.start.saturating_add(1), window.start) };
        let touches = |session: Window| session.start <= last && first <= session.end;
        let open = self.open[key as usize];
        if open.count <= 1 {
            touched.extend((open.count == 1 && touches(self.sessions[open.only as usize].window)).then_some(open.only));
            return;
        }
        for (_, slot) in self.by_start.range((key, TimestampMs::MIN)..=(key, last)).rev() {
            #[cfg(test)]
            {
                self.looked_at += 1;
            }
            if !touches(self.sessions[*slot as usize].window) {
                break;
            }
            touched.push(*slot);
        }
    }

    fn extend(&mut self, slot: Slot, by: Window) {
        let Session { window, key, .. } = &mut self.sessions[slot as usize];
        let start = window.start.min(by.start);
        if start < window.start {
            self.by_start.remove(&(*key, window.start));
            self.by_start.insert((*key, start), slot);
        }
        *window = Window { start, end: window.end.max(by.end) };
    }

    /// A new session of a key.
    fn begin(&mut self, key: Slot, window: Window) -> Slot {
        let slot = self.slots.take();
        let session = Session { window, key, serial: self.next_serial, merged_into: NO_SLOT };
        self.sessions.resize(self.slots.bound(), NO_SESSION);
        self.sessions[slot as usize] = session;
        self.by_start.insert((key, window.start), slot);
        self.open[key as usize] = Open { count: self.open[key as usize].count + 1, only: slot };
        self.timers.push(Reverse((window.end, slot, self.next_serial)));
        self.next_serial += 1;
        slot
    }

    /// Takes a session from its key; returns how many the key has left.
    fn unlink(&mut self, slot: Slot) -> u32 {
        let Session { key, window, .. } = self.sessions[slot as usize];
        self.by_start.remove(&(key, window.start));
        let open = &mut self.open[key as usize];
        open.count -= 1;
        if open.count == 1
            && let Some((_, only)) = self.by_start.range((key, TimestampMs::MIN)..).next()
        {
            open.only = *only;
        }
        open.count
    }

    fn survivor(&self, slot: Slot) -> Slot {
        let mut at = slot;
        while self.sessions[at as usize].merged_into != NO_SLOT {
            at = self.sessions[at as usize].merged_into;
        }
        at
    }

    fn give_back(&mut self, slots: &[Slot]) {
        self.changed.add(slots);
        self.values.clear(slots);
        for slot in slots {
            self.sessions[*slot as usize] = NO_SESSION;
            self.slots.give_back(*slot);
        }
    }

    /// At most `limit` sessions that the watermark closes, in order of their ends. They stay until [`Sessions::remove`].
    pub(crate) fn closed(&mut self, watermark: TimestampMs, limit: usize) -> Vec<Slot> {
        let mut closed = Vec::new();
        while closed.len() < limit && self.settle_first().is_some_and(|window| window.is_closed(watermark)) {
            if let Some(Reverse((_, slot, _))) = self.timers.pop() {
                closed.push(slot);
            }
        }
        closed
    }

    /// Brings the session that ends first to the front of the timers; returns it.
    fn settle_first(&mut self) -> Option<Window> {
        loop {
            let Reverse((end, slot, serial)) = *self.timers.peek()?;
            let session = &self.sessions[slot as usize];
            if session.serial == serial && session.window.end == end {
                return Some(session.window);
            }
            self.timers.pop();
            if session.serial == serial {
                self.timers.push(Reverse((session.window.end, slot, serial)));
            }
        }
    }

    /// Forgets sessions, their values, and keys that have no other.
    pub(crate) fn remove(&mut self, slots: &[Slot]) {
        let mut empty = Vec::new();
        for slot in slots {
            if self.unlink(*slot) == 0 {
                empty.push(self.sessions[*slot as usize].key);
            }
        }
        self.give_back(slots);
        self.keys.remove(&empty);
    }

    /// The key columns of sessions.
    pub(crate) fn keys(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        self.keys.keys(&slots.iter().map(|s| self.sessions[*s as usize].key).collect::<Vec<_>>())
    }

    /// What time a session takes up.
    pub(crate) fn window(&self, slot: Slot) -> Window {
        self.sessions[slot as usize].window
    }

    /// How many sessions are open.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Says how many sessions are open and when the next closes.
    pub(crate) fn report(&mut self, metrics: &OperatorMetrics) {
        metrics.open_windows.set(self.slots.len() as i64);
        metrics.next_close_ms.set(self.settle_first().map_or(TimestampMs::MAX, |window| window.end.saturating_sub(1)));
    }

    /// Puts all sessions, or those that changed, under `name`: keys, start, end, values.
    pub(crate) fn snapshot(&mut self, name: &str, mode: SnapshotMode, group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let mut changed = std::mem::take(&mut self.changed);
        let segment = snapshot::segment(self, &mut changed, mode, group_count);
        self.changed = changed;
        into.put_keyed(name, segment?);
        Ok(())
    }

    /// Puts back what [`Sessions::snapshot`] gave.
    pub(crate) fn restore(&mut self, name: &str, from: &OperatorSnapshot) -> Result<()> {
        let key_count = self.keys.types().len();
        let mut types = self.keys.types().to_vec();
        types.extend([DataType::Int64, DataType::Int64]);
        types.extend(self.values.types());
        for batch in from.rows(name, &types)? {
            let (mut keys, mut new_rows) = (Vec::new(), Vec::new());
            let key_columns: Vec<&ArrayRef> = batch.columns()[..key_count].iter().collect();
            self.keys.resolve(&key_columns, batch.num_rows(), &mut keys, &mut new_rows)?;
            self.open.resize(self.keys.slot_bound(), NOTHING_OPEN);
            let starts = batch.column(key_count).as_primitive::<Int64Type>();
            let ends = batch.column(key_count + 1).as_primitive::<Int64Type>();
            let windows = starts.values().iter().zip(ends.values()).map(|(start, end)| Window { start: *start, end: *end });
            let slots: Vec<Slot> = keys.iter().zip(windows).map(|(key, window)| self.begin(*key, window)).collect();
            self.values.grow(self.slots.bound());
            self.values.load(&slots, &batch.columns()[key_count + 2..])?;
        }
        Ok(())
    }
}

impl<V: SessionValues> Slotted for Sessions<V> {
    fn live(&self) -> Vec<Slot> {
        self.slots.iter().collect()
    }

    fn is_live(&self, slot: Slot) -> bool {
        self.slots.is_used(slot)
    }

    fn key_groups(&self, columns: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
        snapshot::key_groups(&columns[..self.keys.types().len()], rows, group_count)
    }

    fn columns(&mut self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = self.keys(slots)?;
        let windows = slots.iter().map(|s| self.window(*s));
        columns.push(Arc::new(Int64Array::from_iter_values(windows.clone().map(|w| w.start))));
        columns.push(Arc::new(Int64Array::from_iter_values(windows.map(|w| w.end))));
        columns.extend(self.values.save(slots)?);
        Ok(columns)
    }
}

#[cfg(test)]
mod tests;
