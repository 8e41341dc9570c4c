//! Keys of any length as bytes in one arena, by hash.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::slots::{NO_SLOT, Slot};

/// From key to slot, and back. Each key's bytes are in the arena once; those of removed keys are reclaimed when they are
/// more than half of it.
#[derive(Debug, Default)]
pub(crate) struct BytesTable {
    table: HashTable<Entry>,
    arena: Vec<u8>,
    /// Bytes of the arena that belong to removed keys.
    dead_bytes: usize,
    /// Where the key of each slot is; of no length where the slot is not of this table.
    spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: usize,
    length: u32,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    span: Span,
    slot: Slot,
}

/// Below this size the arena is not worth being compacted.
const MIN_COMPACTED_BYTES: usize = 64 * 1024;

#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(key);
    hasher.finish()
}

impl Span {
    #[inline]
    fn of(self, arena: &[u8]) -> &[u8] {
        &arena[self.start..self.start + self.length as usize]
    }
}

impl BytesTable {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Slot {
        self.table.find(hash, |e| e.hash == hash && e.span.of(&self.arena) == key).map_or(NO_SLOT, |e| e.slot)
    }

    /// Adds a key that is not there; a key has at least one byte.
    pub(crate) fn insert(&mut self, hash: u64, key: &[u8], slot: Slot) {
        let span = Span { start: self.arena.len(), length: key.len() as u32 };
        self.arena.extend_from_slice(key);
        self.table.insert_unique(hash, Entry { hash, span, slot }, |e| e.hash);
        if self.spans.len() <= slot as usize {
            self.spans.resize(slot as usize + 1, Span::default());
        }
        self.spans[slot as usize] = span;
    }

    /// Whether the slot's key is here.
    pub(crate) fn contains(&self, slot: Slot) -> bool {
        self.spans.get(slot as usize).is_some_and(|s| s.length > 0)
    }

    pub(crate) fn key(&self, slot: Slot) -> &[u8] {
        self.spans[slot as usize].of(&self.arena)
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let span = std::mem::take(&mut self.spans[slot as usize]);
        if let Ok(entry) = self.table.find_entry(hash(span.of(&self.arena)), |e| e.slot == slot) {
            entry.remove();
        }
        self.dead_bytes += span.length as usize;
        if self.dead_bytes > self.arena.len() / 2 && self.arena.len() > MIN_COMPACTED_BYTES {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let mut arena = Vec::with_capacity(self.arena.len() - self.dead_bytes);
        for entry in self.table.iter_mut() {
            let start = arena.len();
            arena.extend_from_slice(entry.span.of(&self.arena));
            entry.span.start = start;
            self.spans[entry.slot as usize].start = start;
        }
        self.arena = arena;
        self.dead_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_removal_of_others() {
        let mut table = BytesTable::default();
        let key = |i: u32| format!("a key that is long enough to fill the arena {i}").into_bytes();
        for i in 0..4000 {
            table.insert(hash(&key(i)), &key(i), i);
        }
        for i in (0..4000).filter(|i| i % 4 != 0) {
            table.remove(i);
        }
        assert!(table.arena.len() < 3 * 1000 * key(0).len(), "the arena was compacted");
        assert_eq!(table.len(), 1000);
        for i in 0..4000 {
            assert_eq!(table.find(hash(&key(i)), &key(i)), if i % 4 == 0 { i } else { NO_SLOT });
        }
        assert_eq!(table.key(8), key(8));
        assert!(table.contains(8) && !table.contains(9));
    }
}
