//! What a lookup join knows of its table: the rows of some keys, or of all.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use rheos_core::error::Result;
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use crate::join::{KeyLists, find, resolve};
use crate::row_store::{NO_ROW, RowStore, take_rows};

/// Rows by their key. A key may be known to have none.
pub(super) struct Known {
    keys: KeyIndex,
    pub(super) lists: KeyLists,
    pub(super) rows: RowStore,
    /// The columns of the key, in the rows.
    key_columns: Vec<usize>,
    /// By key: when it was fetched, and when it was asked for last, in milliseconds since the epoch.
    fetched_ms: Vec<TimestampMs>,
    asked_ms: Vec<TimestampMs>,
}

impl Known {
    /// Nothing is known. `types` are those of the rows' columns.
    pub(super) fn new(types: &[DataType], key_columns: &[usize]) -> Result<Self> {
        let key_types: Vec<DataType> = key_columns.iter().map(|k| types[*k].clone()).collect();
        Ok(Known {
            keys: KeyIndex::new(&key_types)?,
            lists: KeyLists::new(true),
            rows: RowStore::new(types.to_vec()),
            key_columns: key_columns.to_vec(),
            fetched_ms: Vec::new(),
            asked_ms: Vec::new(),
        })
    }

    /// How many keys are known.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The key of each row; [`NO_SLOT`] where it is not known, or a part of it is NULL.
    pub(super) fn find(&mut self, keys: &[usize], columns: &[ArrayRef], rows: usize) -> Result<Vec<Slot>> {
        find(&mut self.keys, keys, columns, rows)
    }

    /// Makes keys known, so far without rows. None of them is known yet.
    pub(super) fn add_keys(&mut self, keys: &[ArrayRef], count: usize, now_ms: TimestampMs) -> Result<()> {
        let all: Vec<usize> = (0..keys.len()).collect();
        let slots = resolve(&mut self.keys, &all, keys, count)?;
        self.grow(0);
        for slot in slots.into_iter().filter(|slot| *slot != NO_SLOT) {
            self.fetched_ms[slot as usize] = now_ms;
            self.asked_ms[slot as usize] = now_ms;
        }
        Ok(())
    }

    /// Keeps rows. Those with a NULL in the key are found by nobody; where `only_known`, neither are those of other keys.
    pub(super) fn add_rows(&mut self, rows: &RecordBatch, only_known: bool) -> Result<()> {
        let keys = match only_known {
            true => find(&mut self.keys, &self.key_columns, rows.columns(), rows.num_rows())?,
            false => resolve(&mut self.keys, &self.key_columns, rows.columns(), rows.num_rows())?,
        };
        let kept: Vec<u32> = (0..rows.num_rows() as u32).filter(|row| keys[*row as usize] != NO_SLOT).collect();
        let mut slots = Vec::with_capacity(kept.len());
        self.rows.append(&take_rows(rows.columns(), &kept)?, kept.len(), &mut slots)?;
        self.grow(self.rows.slot_bound());
        for (row, slot) in kept.iter().zip(slots) {
            self.lists.add(keys[*row as usize], slot);
        }
        self.rows.settle()
    }

    fn grow(&mut self, rows: usize) {
        let bound = self.keys.slot_bound();
        self.lists.grow(bound, rows);
        self.fetched_ms.resize(bound, 0);
        self.asked_ms.resize(bound, 0);
    }

    /// Remembers that keys were asked for.
    pub(super) fn touch(&mut self, keys: &[Slot], now_ms: TimestampMs) {
        keys.iter().filter(|key| **key != NO_SLOT).for_each(|key| self.asked_ms[*key as usize] = now_ms);
    }

    /// Whether a key was fetched or asked for too long ago.
    pub(super) fn is_expired(&self, key: Slot, fetched_before_ms: TimestampMs, asked_before_ms: TimestampMs) -> bool {
        self.fetched_ms[key as usize] <= fetched_before_ms || self.asked_ms[key as usize] <= asked_before_ms
    }

    /// The keys that have no rows.
    pub(super) fn without_rows(&self) -> Vec<Slot> {
        self.keys.slots().into_iter().filter(|key| self.lists.count(*key) == 0).collect()
    }

    /// All keys, those asked for longest ago first.
    pub(super) fn by_age(&self) -> Vec<Slot> {
        let mut keys = self.keys.slots();
        keys.sort_by_key(|key| self.asked_ms[*key as usize]);
        keys
    }

    /// Forgets keys with their rows.
    pub(super) fn forget(&mut self, keys: &[Slot]) -> Result<()> {
        for key in keys {
            let mut row = self.lists.first(*key);
            while row != NO_ROW {
                let next = self.lists.after(row);
                self.lists.remove(*key, row);
                self.rows.remove(row);
                row = next;
            }
        }
        self.keys.remove(keys);
        self.rows.settle()
    }
}

/// The first row of each key among `rows` (numbers of rows without a NULL in the key), and those keys' columns.
pub(super) fn distinct(keys: &[ArrayRef], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    let keys = take_rows(keys, rows)?;
    let types: Vec<DataType> = keys.iter().map(|k| k.data_type().clone()).collect();
    let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
    KeyIndex::new(&types)?.resolve(&keys.iter().collect::<Vec<_>>(), rows.len(), &mut slots, &mut new_rows)?;
    take_rows(&keys, &new_rows)
}
