//! The rows of a state: entries by slot, which have changed, and when they were used.

use rheos_core::time::TimestampMs;

use super::expiry::Expiry;
use super::slab::Slab;
use crate::changed_slots::ChangedSlots;
use crate::slots::Slot;

/// How many slots are looked at for cleaning up at each access.
pub(super) const CLEANED_PER_ACCESS: usize = 2;
/// How many at each snapshot.
pub(super) const CLEANED_PER_SNAPSHOT: usize = 1024;

/// Entries whose slots are the row numbers of segments.
#[derive(Debug)]
pub(super) struct Rows<E> {
    pub(super) slab: Slab<E>,
    pub(super) changed: ChangedSlots,
    pub(super) expiry: Expiry,
}

impl<E> Rows<E> {
    pub(super) fn new(expiry: Expiry) -> Self {
        Rows { slab: Slab::default(), changed: ChangedSlots::default(), expiry }
    }

    /// Takes in a new entry.
    #[inline]
    pub(super) fn insert(&mut self, entry: E) -> Slot {
        let slot = self.slab.insert(entry);
        self.changed.add_one(slot);
        self.expiry.wrote(slot);
        slot
    }

    /// Takes in an entry of a snapshot, last used at `used_ms`.
    pub(super) fn restore(&mut self, entry: E, used_ms: TimestampMs) -> Slot {
        let slot = self.slab.insert(entry);
        self.expiry.restore(slot, used_ms);
        slot
    }

    /// The entry, without a use of it.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&E> {
        self.slab.get(slot)
    }

    /// The entry, which is read.
    #[inline]
    pub(super) fn read(&mut self, slot: Slot) -> Option<&E> {
        self.note_read(slot);
        self.slab.get(slot)
    }

    /// The entry is read.
    #[inline]
    pub(super) fn note_read(&mut self, slot: Slot) {
        if self.expiry.read(slot) {
            self.changed.add_one(slot);
        }
    }

    /// The entry, which is changed.
    #[inline]
    pub(super) fn write(&mut self, slot: Slot) -> Option<&mut E> {
        self.changed.add_one(slot);
        self.expiry.wrote(slot);
        self.slab.get_mut(slot)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<E> {
        self.changed.add_one(slot);
        self.expiry.removed(slot);
        self.slab.remove(slot)
    }

    /// All entries that can be seen.
    pub(super) fn visible(&self) -> impl Iterator<Item = &E> {
        self.slab.iter().filter(|(slot, _)| !self.expiry.is_hidden(*slot)).map(|(_, entry)| entry)
    }
}
