//! When the entries of a state were last used, and so which have expired.

use rheos_core::time::{MAX_WATERMARK, TimestampMs};
use rheos_core::{Error, Result};

use super::ttl::{TimeDomain, Ttl, TtlUpdate, TtlVisibility};
use crate::slots::Slot;

/// No time: what it is where nobody has said, and where a slot is not in use.
pub(super) const UNKNOWN: TimestampMs = TimestampMs::MIN;
const NEVER: TimestampMs = TimestampMs::MAX;

/// The times of a state's slots; without a TTL it keeps none.
#[derive(Debug)]
pub(super) struct Expiry {
    ttl: Option<Ttl>,
    /// The time, as last said.
    now_ms: TimestampMs,
    /// The time that was said first: that of entries from before it.
    first_ms: TimestampMs,
    /// By slot.
    used_ms: Vec<TimestampMs>,
    /// Which slot is to be looked at next for cleaning up.
    cursor: usize,
}

impl Expiry {
    pub(super) fn new(ttl: Option<Ttl>) -> Result<Self> {
        if ttl.is_some_and(|ttl| ttl.after_ms == 0) {
            return Err(Error::config("entries that expire after 0 ms: at least 1 is needed"));
        }
        Ok(Expiry { ttl, now_ms: UNKNOWN, first_ms: UNKNOWN, used_ms: Vec::new(), cursor: 0 })
    }

    /// The same, where time goes on from a snapshot.
    pub(super) fn since(self, now_ms: TimestampMs, first_ms: TimestampMs) -> Self {
        Expiry { now_ms, first_ms, ..self }
    }

    /// The time that is gone by.
    pub(super) fn clock(&self) -> Option<TimeDomain> {
        self.ttl.map(|ttl| ttl.clock)
    }

    pub(super) fn is_on(&self) -> bool {
        self.ttl.is_some()
    }

    /// Whether a read is a use.
    pub(super) fn is_read_noted(&self) -> bool {
        self.ttl.is_some_and(|ttl| ttl.update == TtlUpdate::OnReadAndWrite)
    }

    pub(super) fn now_ms(&self) -> TimestampMs {
        self.now_ms
    }

    pub(super) fn first_ms(&self) -> TimestampMs {
        self.first_ms
    }

    /// Time goes on, if it is the one that is asked for. It never goes back, and the end of a stream is no time.
    pub(super) fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        if self.ttl.is_some_and(|ttl| ttl.clock == domain) && now_ms > self.now_ms && now_ms != MAX_WATERMARK {
            self.now_ms = now_ms;
            if self.first_ms == UNKNOWN {
                self.first_ms = now_ms;
            }
        }
    }

    /// Whether entries last used at `used_ms` have expired.
    pub(super) fn is_past(&self, used_ms: TimestampMs) -> bool {
        let Some(ttl) = self.ttl else { return false };
        let used_ms = if used_ms == UNKNOWN { self.first_ms } else { used_ms };
        self.now_ms != UNKNOWN && self.now_ms >= used_ms.saturating_add_unsigned(ttl.after_ms)
    }

    /// Whether the entry of a slot has expired.
    #[inline]
    pub(super) fn is_expired(&self, slot: Slot) -> bool {
        self.ttl.is_some() && self.is_past(self.used_ms[slot as usize])
    }

    /// Whether the entry of a slot is as if it were not there.
    #[inline]
    pub(super) fn is_hidden(&self, slot: Slot) -> bool {
        self.ttl.is_some_and(|ttl| ttl.visibility == TtlVisibility::NeverReturnExpired) && self.is_expired(slot)
    }

    /// When the entry of a slot was last used.
    pub(super) fn used_ms(&self, slot: Slot) -> TimestampMs {
        match self.used_ms.get(slot as usize) {
            Some(&UNKNOWN) | None => self.first_ms,
            Some(at) => *at,
        }
    }

    /// Whether the entry of a slot was last used now, or times do not matter.
    #[inline]
    pub(super) fn is_of_now(&self, slot: Slot) -> bool {
        self.ttl.is_none() || self.used_ms[slot as usize] == self.now_ms
    }

    /// The entry of a slot was last used at `used_ms`.
    pub(super) fn restore(&mut self, slot: Slot, used_ms: TimestampMs) {
        if self.ttl.is_some() {
            let at = slot as usize;
            if at >= self.used_ms.len() {
                self.used_ms.resize(at + 1, NEVER);
            }
            self.used_ms[at] = used_ms;
        }
    }

    /// The entry of a slot is used now.
    #[inline]
    pub(super) fn wrote(&mut self, slot: Slot) {
        if self.ttl.is_some() {
            let used_ms = self.used_ms.get(slot as usize).copied().unwrap_or(NEVER);
            if used_ms < self.now_ms || used_ms == NEVER {
                self.restore(slot, self.now_ms);
            }
        }
    }

    /// The entry of a slot is read: a use of it where that is so declared and it has not expired. Returns whether that is news.
    #[inline]
    pub(super) fn read(&mut self, slot: Slot) -> bool {
        if !self.is_read_noted() || self.used_ms[slot as usize] >= self.now_ms || self.is_expired(slot) {
            return false;
        }
        self.used_ms[slot as usize] = self.now_ms;
        true
    }

    /// The slot is free.
    pub(super) fn removed(&mut self, slot: Slot) {
        self.restore(slot, NEVER);
    }

    /// An expired slot among the next `budget`, which becomes what is left of it.
    pub(super) fn next_expired(&mut self, budget: &mut usize) -> Option<Slot> {
        if self.now_ms == UNKNOWN || self.used_ms.is_empty() {
            return None;
        }
        while *budget > 0 {
            *budget -= 1;
            let slot = self.cursor;
            self.cursor = if slot + 1 < self.used_ms.len() { slot + 1 } else { 0 };
            if self.is_past(self.used_ms[slot]) {
                return Some(slot as Slot);
            }
        }
        None
    }
}
