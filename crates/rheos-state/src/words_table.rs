//! Keys that fit in one machine word or two, by hash.

use hashbrown::HashTable;

use crate::slots::{NO_SLOT, Slot};

/// A key of fixed width: `u64` or `u128`.
pub(crate) trait Word: Copy + Eq + Default {
    /// A hash whose every bit depends on every bit of the key.
    fn hash(self) -> u64;
    /// Part of a key at a bit position.
    fn shifted(part: u64, shift: u32) -> Self;
    /// The 64 bits from a bit position on.
    fn part(self, shift: u32) -> u64;
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;

/// Multiplies to 128 bits and folds the halves together (as wyhash and foldhash do).
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Word for u64 {
    #[inline]
    fn hash(self) -> u64 {
        folded(self ^ SEED, FACTOR)
    }

    #[inline]
    fn shifted(part: u64, shift: u32) -> Self {
        part << shift
    }

    #[inline]
    fn part(self, shift: u32) -> u64 {
        self >> shift
    }
}

impl Word for u128 {
    #[inline]
    fn hash(self) -> u64 {
        folded(folded(self as u64 ^ SEED, FACTOR) ^ (self >> 64) as u64 ^ SEED, FACTOR)
    }

    #[inline]
    fn shifted(part: u64, shift: u32) -> Self {
        u128::from(part) << shift
    }

    #[inline]
    fn part(self, shift: u32) -> u64 {
        (self >> shift) as u64
    }
}

/// From key to slot, and back.
#[derive(Debug, Default)]
pub(crate) struct WordsTable<W> {
    table: HashTable<(W, Slot)>,
    /// The key of each slot; others' slots hold anything.
    keys: Vec<W>,
}

impl<W: Word> WordsTable<W> {
    #[inline]
    pub(crate) fn find(&self, key: W) -> Slot {
        self.table.find(key.hash(), |entry| entry.0 == key).map_or(NO_SLOT, |entry| entry.1)
    }

    /// Adds a key that is not there.
    pub(crate) fn insert(&mut self, key: W, slot: Slot) {
        self.table.insert_unique(key.hash(), (key, slot), |entry| entry.0.hash());
        if self.keys.len() <= slot as usize {
            self.keys.resize(slot as usize + 1, W::default());
        }
        self.keys[slot as usize] = key;
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let key = self.keys[slot as usize];
        if let Ok(entry) = self.table.find_entry(key.hash(), |entry| entry.1 == slot) {
            entry.remove();
        }
    }

    /// The key of a slot; anything where the slot is not of this table.
    #[inline]
    pub(crate) fn key(&self, slot: Slot) -> W {
        self.keys.get(slot as usize).copied().unwrap_or_default()
    }
}
