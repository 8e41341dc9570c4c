//! What a join keeps of one input.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array};
use arrow::datatypes::{DataType, UInt32Type};
use rheos_core::error::{Error, Result};
use rheos_core::key_group::hash_columns;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, Slot};

use super::changes::resolve;
use super::lists::KeyLists;
use crate::idle_state::IdleState;
use crate::row_store::{RowIndex, RowStore};
use crate::spec::JoinSide;

/// The rows of one input, by key, and by value where they can be taken back.
pub(super) struct Side {
    /// The key columns.
    pub(super) keys: Vec<usize>,
    pub(super) rows: RowStore,
    pub(super) lists: KeyLists,
    /// Finds a row that is taken back; `None` where none is.
    pub(super) index: Option<RowIndex>,
    /// The columns whose hash finds a row: those that are unique, or all.
    identity: Vec<usize>,
    /// By row slot: how many rows of the other side it matches. Kept only where that cannot be told from the number of rows
    /// of the key: with a condition, or where rows are forgotten, and this side's rows without a match matter.
    pub(super) degrees: Option<Vec<u32>>,
    /// Rows that are to be forgotten some time after they came.
    pub(super) idle: IdleState,
    /// By row slot: its key; kept only where rows are forgotten.
    key_of: Vec<u32>,
    /// The columns of a snapshot: the rows', then the number of matches where it is kept.
    stored: Vec<DataType>,
}

impl Side {
    pub(super) fn new(spec: &JoinSide, counts_matches: bool) -> Self {
        let schema = spec.schema.to_arrow();
        let types: Vec<DataType> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let mut stored = types.clone();
        stored.extend(counts_matches.then_some(DataType::UInt32));
        Side {
            keys: spec.keys.clone(),
            identity: spec.unique_key.clone().unwrap_or_else(|| (0..types.len()).collect()),
            rows: RowStore::new(types),
            lists: KeyLists::new(spec.retracts || spec.state_ttl_ms.is_some()),
            idle: IdleState::new(spec.state_ttl_ms),
            key_of: Vec::new(),
            index: spec.retracts.then(RowIndex::default),
            degrees: counts_matches.then(Vec::new),
            stored,
        }
    }

    /// The hash by which each row is found again; empty where none is.
    pub(super) fn identity_hashes(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        let mut hashes = Vec::new();
        if self.index.is_some() {
            hash_columns(&self.identity.iter().map(|c| &columns[*c]).collect::<Vec<_>>(), rows, &mut hashes)?;
        }
        Ok(hashes)
    }

    /// Makes room for keys below `key_bound` and for all rows in the store.
    pub(super) fn grow(&mut self, key_bound: usize) {
        self.lists.grow(key_bound, self.rows.slot_bound());
        if let Some(degrees) = &mut self.degrees {
            degrees.resize(self.rows.slot_bound(), 0);
        }
    }

    /// Adds stored row `slot`, which is row `row` of `columns`; returns how many rows its key has now.
    #[inline]
    pub(super) fn link(&mut self, key: u32, slot: u32, columns: &[ArrayRef], row: usize, hashes: &[u64]) -> u32 {
        if let Some(index) = &mut self.index {
            let store = &self.rows;
            index.add(hashes[row], slot, |other| store.equals(other, columns, row));
        }
        if !self.idle.is_endless() {
            self.idle.touch([slot]);
            self.key_of.resize(self.key_of.len().max(slot as usize + 1), 0);
            self.key_of[slot as usize] = key;
        }
        self.lists.add(key, slot)
    }

    /// Forgets the rows whose time has come by `now_ms`; returns their keys.
    pub(super) fn forget_idle(&mut self, now_ms: TimestampMs) -> Result<Vec<u32>> {
        let idle = self.idle.take(now_ms, |row| self.rows.is_kept(row));
        let columns = self.rows.gather_all(&idle)?;
        let hashes = self.identity_hashes(&columns, idle.len())?;
        if let Some(index) = &mut self.index {
            let store = &self.rows;
            // The latest first: of equal rows it is the one that is found at once.
            for (at, row) in idle.iter().enumerate().rev() {
                index.remove_slot(hashes[at], *row, |other| store.equals(other, &columns, at));
            }
        }
        let keys: Vec<u32> = idle.iter().map(|row| self.key_of[*row as usize]).collect();
        for (row, key) in idle.iter().zip(&keys) {
            self.lists.remove(*key, *row);
            self.rows.remove(*row);
        }
        self.rows.settle()?;
        Ok(keys)
    }

    /// Removes a row that equals row `row` of `columns`; returns its slot and how many its key has left, or `None` where there was
    /// none.
    pub(super) fn take_back(&mut self, key: u32, columns: &[ArrayRef], row: usize, hashes: &[u64]) -> Result<Option<(u32, u32)>> {
        let Some(index) = &mut self.index else {
            return Err(Error::bug("a row is taken back on an input of a join that was said to be insert-only"));
        };
        let store = &self.rows;
        let Some(slot) = index.remove(hashes[row], |other| store.equals(other, columns, row)) else { return Ok(None) };
        self.rows.remove(slot);
        Ok(Some((slot, self.lists.remove(key, slot))))
    }

    /// Puts all rows, or those that changed, under `name`.
    pub(super) fn snapshot(&mut self, name: &str, mode: SnapshotMode, key_group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let Side { rows, degrees, keys, .. } = self;
        let matches = |slots: &[u32]| -> Vec<ArrayRef> {
            let Some(degrees) = &degrees else { return Vec::new() };
            vec![Arc::new(UInt32Array::from_iter_values(slots.iter().map(|s| degrees[*s as usize])))]
        };
        rows.snapshot(name, keys, &matches, mode, key_group_count, into)
    }

    /// Adds what [`Side::snapshot`] gave. `index` has the keys of both sides.
    pub(super) fn restore(&mut self, name: &str, from: &OperatorSnapshot, index: &mut KeyIndex) -> Result<()> {
        for batch in from.rows(name, &self.stored)? {
            let (columns, matches) = batch.columns().split_at(self.rows.width());
            let keys = resolve(index, &self.keys, columns, batch.num_rows())?;
            let matches = matches.first().map(|m| m.as_primitive::<UInt32Type>().values().as_ref());
            self.restore_rows(columns, &keys, matches, index.slot_bound())?;
        }
        self.rows.settle()
    }

    fn restore_rows(&mut self, columns: &[ArrayRef], keys: &[Slot], matches: Option<&[u32]>, key_bound: usize) -> Result<()> {
        let mut slots = Vec::with_capacity(keys.len());
        self.rows.append(columns, keys.len(), &mut slots)?;
        self.grow(key_bound);
        let hashes = self.identity_hashes(columns, keys.len())?;
        for (row, (key, slot)) in keys.iter().zip(&slots).enumerate() {
            self.link(*key, *slot, columns, row, &hashes);
        }
        if let (Some(degrees), Some(matches)) = (&mut self.degrees, matches) {
            for (slot, degree) in slots.iter().zip(matches) {
                degrees[*slot as usize] = *degree;
            }
        }
        Ok(())
    }
}
