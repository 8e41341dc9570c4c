//! Finds a stored row by its values, where equal rows may occur many times.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::NO_ROW;

/// The rows of a [`super::RowStore`] by the hash of their values. Equal rows share one entry and are chained, so that a row
/// that occurs a million times is added and removed in constant time.
#[derive(Debug, Default)]
pub(crate) struct RowIndex {
    entries: HashTable<(u64, u32)>,
    /// By slot: the equal row that was added before it.
    previous: Vec<u32>,
}

impl RowIndex {
    /// Adds the row at `slot`; `is_equal` tells whether the row at another slot equals it.
    pub(crate) fn add(&mut self, hash: u64, slot: u32, mut is_equal: impl FnMut(u32) -> bool) {
        if self.previous.len() <= slot as usize {
            self.previous.resize(slot as usize + 1, NO_ROW);
        }
        self.previous[slot as usize] = match self.entries.entry(hash, |(h, s)| *h == hash && is_equal(*s), |(h, _)| *h) {
            Entry::Occupied(mut entry) => std::mem::replace(&mut entry.get_mut().1, slot),
            Entry::Vacant(entry) => {
                entry.insert((hash, slot));
                NO_ROW
            }
        };
    }

    /// Takes out the row at `slot`; `is_equal` tells whether the row at another slot equals it.
    pub(crate) fn remove_slot(&mut self, hash: u64, slot: u32, mut is_equal: impl FnMut(u32) -> bool) {
        let Ok(mut entry) = self.entries.find_entry(hash, |(h, s)| *h == hash && is_equal(*s)) else { return };
        let before = self.previous[slot as usize];
        let mut at = entry.get().1;
        if at == slot {
            match before {
                NO_ROW => drop(entry.remove()),
                before => entry.get_mut().1 = before,
            }
            return;
        }
        while at != NO_ROW {
            if self.previous[at as usize] == slot {
                self.previous[at as usize] = before;
                return;
            }
            at = self.previous[at as usize];
        }
    }

    /// Takes out the row, of those for which `is_equal` is true, that was added last.
    pub(crate) fn remove(&mut self, hash: u64, mut is_equal: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut entry = self.entries.find_entry(hash, |(h, s)| *h == hash && is_equal(*s)).ok()?;
        let slot = entry.get().1;
        match self.previous[slot as usize] {
            NO_ROW => {
                entry.remove();
            }
            previous => entry.get_mut().1 = previous,
        }
        Some(slot)
    }
}
