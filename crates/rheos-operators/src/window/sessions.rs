//! The sessions of each key: found, extended and merged as rows come, closed in order of time.
//!
//! A session is `[first row, last row + gap)`; a row belongs to every session that its own `[time, time + gap)` overlaps, and
//! those become one. A row that would be late by itself is kept where it joins a session that is open.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, NO_SLOT, Slot, SlotColumns, Slots, snapshot};

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
    /// The first session of each key, by the key's slot. A key has at least one.
    first: Vec<Slot>,
    slots: Slots,
    sessions: Vec<Session>,
    /// When each session may close: its end as it was when it was last looked at, its slot and its serial number. Entries of
    /// sessions that are gone stay until they come up.
    timers: BinaryHeap<Reverse<(TimestampMs, Slot, u64)>>,
    next_serial: u64,
    pub(crate) values: V,
}

#[derive(Debug, Clone, Copy)]
struct Session {
    window: Window,
    key: Slot,
    /// The next session of the key.
    next: Slot,
    /// Tells sessions in one slot apart; 0 where there is none.
    serial: u64,
    /// Into which session it was merged in this batch.
    merged_into: Slot,
}

const NO_SESSION: Session = Session { window: Window { start: 0, end: 0 }, key: NO_SLOT, next: NO_SLOT, serial: 0, merged_into: NO_SLOT };

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
            first: Vec::new(),
            slots: Slots::default(),
            sessions: Vec::new(),
            timers: BinaryHeap::new(),
            next_serial: 1,
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
        self.first.resize(self.keys.slot_bound(), NO_SLOT);
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
        // Keys whose only rows were late.
        let empty: Vec<Slot> =
            new_rows.iter().map(|row| key_slots[*row as usize]).filter(|key| self.first[*key as usize] == NO_SLOT).collect();
        self.keys.remove(&empty);
        Ok(())
    }

    fn session_of(&mut self, key: Slot, time: TimestampMs, sign: i8, watermark: TimestampMs, merges: &mut Vec<(Slot, Slot)>) -> Slot {
        let window = Window { start: time, end: time.saturating_add(self.gap_ms) };
        let (mut found, mut previous, mut at) = (NO_SLOT, NO_SLOT, self.first[key as usize]);
        while at != NO_SLOT {
            let session = self.sessions[at as usize];
            if sign < 0 && session.window.start <= time && time < session.window.end {
                return at;
            }
            // Windows that only touch are one session, as in Flink: two rows exactly one gap apart.
            let overlaps = sign > 0 && session.window.start <= window.end && window.start <= session.window.end;
            if overlaps && found != NO_SLOT {
                // The row joins two sessions: this one goes into the one found before.
                self.sessions[previous as usize].next = session.next;
                self.sessions[at as usize].merged_into = found;
                merges.push((at, found));
                self.extend(found, session.window);
                at = session.next;
                continue;
            }
            if overlaps {
                found = at;
            }
            (previous, at) = (at, session.next);
        }
        if found != NO_SLOT {
            self.extend(found, window);
            return found;
        }
        if sign < 0 || window.is_closed(watermark) {
            return NO_SLOT;
        }
        self.begin(key, window)
    }

    fn extend(&mut self, slot: Slot, by: Window) {
        let window = &mut self.sessions[slot as usize].window;
        *window = Window { start: window.start.min(by.start), end: window.end.max(by.end) };
    }

    /// A new session of a key.
    fn begin(&mut self, key: Slot, window: Window) -> Slot {
        let slot = self.slots.take();
        let session = Session { window, key, next: self.first[key as usize], serial: self.next_serial, merged_into: NO_SLOT };
        self.sessions.resize(self.slots.bound(), NO_SESSION);
        self.sessions[slot as usize] = session;
        self.first[key as usize] = slot;
        self.timers.push(Reverse((window.end, slot, self.next_serial)));
        self.next_serial += 1;
        slot
    }

    fn survivor(&self, slot: Slot) -> Slot {
        let mut at = slot;
        while self.sessions[at as usize].merged_into != NO_SLOT {
            at = self.sessions[at as usize].merged_into;
        }
        at
    }

    fn give_back(&mut self, slots: &[Slot]) {
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
            let Session { key, next, .. } = self.sessions[*slot as usize];
            let first = &mut self.first[key as usize];
            if *first == *slot {
                *first = next;
                if next == NO_SLOT {
                    empty.push(key);
                }
            } else {
                let mut at = *first;
                while self.sessions[at as usize].next != *slot {
                    at = self.sessions[at as usize].next;
                }
                self.sessions[at as usize].next = next;
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

    /// Writes all sessions under `name`: keys, start, end, values.
    pub(crate) fn snapshot(&self, name: &str, group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let slots: Vec<Slot> = self.slots.iter().collect();
        for (group, rows) in snapshot::by_key_group(&self.keys(&slots)?, slots.len(), group_count)? {
            let slots: Vec<Slot> = rows.iter().map(|row| slots[*row as usize]).collect();
            let mut columns = self.keys(&slots)?;
            let windows = slots.iter().map(|s| self.window(*s));
            columns.push(Arc::new(Int64Array::from_iter_values(windows.clone().map(|w| w.start))));
            columns.push(Arc::new(Int64Array::from_iter_values(windows.map(|w| w.end))));
            columns.extend(self.values.save(&slots)?);
            into.put_keyed(name, group, snapshot::encode(&columns, slots.len())?);
        }
        Ok(())
    }

    /// Puts back what [`Sessions::snapshot`] wrote.
    pub(crate) fn restore(&mut self, name: &str, from: &OperatorSnapshot) -> Result<()> {
        let key_count = self.keys.types().len();
        let mut types = self.keys.types().to_vec();
        types.extend([DataType::Int64, DataType::Int64]);
        types.extend(self.values.types());
        for (group, bytes) in from.keyed(name) {
            for batch in snapshot::decode(bytes, &types).map_err(|e| e.context(format!("state '{name}' of key group {group}")))? {
                let (mut keys, mut new_rows) = (Vec::new(), Vec::new());
                let key_columns: Vec<&ArrayRef> = batch.columns()[..key_count].iter().collect();
                self.keys.resolve(&key_columns, batch.num_rows(), &mut keys, &mut new_rows)?;
                self.first.resize(self.keys.slot_bound(), NO_SLOT);
                let starts = batch.column(key_count).as_primitive::<Int64Type>();
                let ends = batch.column(key_count + 1).as_primitive::<Int64Type>();
                let windows = starts.values().iter().zip(ends.values()).map(|(start, end)| Window { start: *start, end: *end });
                let slots: Vec<Slot> = keys.iter().zip(windows).map(|(key, window)| self.begin(*key, window)).collect();
                self.values.grow(self.slots.bound());
                self.values.load(&slots, &batch.columns()[key_count + 2..])?;
            }
        }
        Ok(())
    }
}
