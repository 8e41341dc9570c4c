//! A heap of slots by time, out of which any can be taken.

use std::cmp::Ordering;

use rheos_core::time::TimestampMs;

use crate::slots::{NO_SLOT, Slot};

/// A binary heap, the earliest first, that knows where each slot is. Who asks says how slots of the same time are ordered.
#[derive(Debug, Default)]
pub(super) struct TimerHeap {
    heap: Vec<(TimestampMs, Slot)>,
    /// By slot: where it is in the heap.
    places: Vec<u32>,
}

impl TimerHeap {
    pub(super) fn first(&self) -> Option<(TimestampMs, Slot)> {
        self.heap.first().copied()
    }

    pub(super) fn push(&mut self, time_ms: TimestampMs, slot: Slot, order: impl Fn(Slot, Slot) -> Ordering) {
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, NO_SLOT);
        }
        self.heap.push((time_ms, slot));
        self.rise(self.heap.len() - 1, &order);
    }

    /// Takes the first out if it is due.
    pub(super) fn pop_until(&mut self, until_ms: TimestampMs, order: impl Fn(Slot, Slot) -> Ordering) -> Option<Slot> {
        let (_, slot) = self.first().filter(|(time_ms, _)| *time_ms <= until_ms)?;
        self.remove(slot, order);
        Some(slot)
    }

    /// Takes a slot out that is there.
    pub(super) fn remove(&mut self, slot: Slot, order: impl Fn(Slot, Slot) -> Ordering) {
        let at = self.places[slot as usize] as usize;
        self.places[slot as usize] = NO_SLOT;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.rise(at, &order);
            self.sink(self.places[self.heap[at].1 as usize] as usize, &order);
        }
    }

    /// Moves what is at `at` up to where it belongs.
    fn rise(&mut self, mut at: usize, order: &impl Fn(Slot, Slot) -> Ordering) {
        while at > 0 && self.is_before(at, (at - 1) / 2, order) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        self.places[self.heap[at].1 as usize] = at as u32;
    }

    /// Moves what is at `at` down to where it belongs.
    fn sink(&mut self, mut at: usize, order: &impl Fn(Slot, Slot) -> Ordering) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut first = at;
            if left < self.heap.len() && self.is_before(left, first, order) {
                first = left;
            }
            if right < self.heap.len() && self.is_before(right, first, order) {
                first = right;
            }
            if first == at {
                break;
            }
            self.swap(at, first);
            at = first;
        }
        self.places[self.heap[at].1 as usize] = at as u32;
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a].1 as usize] = a as u32;
        self.places[self.heap[b].1 as usize] = b as u32;
    }

    #[inline]
    fn is_before(&self, a: usize, b: usize, order: &impl Fn(Slot, Slot) -> Ordering) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        a.0.cmp(&b.0).then_with(|| order(a.1, b.1)).is_lt()
    }
}
