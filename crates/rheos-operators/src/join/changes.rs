//! What a batch changes in its own side's state.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use super::side::Side;
use crate::row_store::{NO_ROW, take_rows};

/// The row takes back one that is not there: nothing happens.
const IGNORED: u8 = 1;
/// The row is the first of its key, or takes back the last.
const TURNS: u8 = 2;

/// The rows of a batch, after they were taken into the state.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The slot of each row's key; [`NO_SLOT`] where a part of the key is NULL. Such rows match nothing and are not kept:
    /// what they put out follows from themselves.
    pub(super) keys: Vec<Slot>,
    /// The slot under which each added row is kept, or was where it is taken back.
    pub(super) slots: Vec<u32>,
    /// The kind of what each row puts out, as [`RowKind`]'s bytes; empty where all are inserts.
    pub(super) kinds: Vec<u8>,
    flags: Vec<u8>,
    /// Keys that may have no rows left.
    pub(super) emptied: Vec<Slot>,
}

impl Changes {
    /// Takes a batch into the state of its side. `conditional` says whether rows of one key may have different
    /// matches.
    pub(super) fn admit(
        index: &mut KeyIndex,
        side: &mut Side,
        batch: &ColumnBatch,
        conditional: bool,
        metrics: &OperatorMetrics,
    ) -> Result<Self> {
        let (columns, rows) = (batch.columns(), batch.num_rows());
        let keys = resolve(index, &side.keys, columns, rows)?;
        let slots = keep_additions(side, batch, &keys)?;
        side.grow(index.slot_bound());
        let hashes = side.identity_hashes(columns, rows)?;
        let mut changes = Changes { keys, slots, kinds: Vec::new(), flags: vec![0; rows], emptied: Vec::new() };
        if batch.kinds().is_none() {
            changes.add_all(side, columns, &hashes);
        } else {
            changes.apply_all(side, batch, &hashes, conditional, metrics)?;
        }
        Ok(changes)
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The kind of what a row puts out.
    #[inline]
    pub(super) fn kind(&self, row: usize) -> RowKind {
        self.kinds.get(row).map_or(RowKind::Insert, |k| RowKind::from_byte(*k))
    }

    /// Whether nothing happens for a row.
    #[inline]
    pub(super) fn ignored(&self, row: usize) -> bool {
        self.flags[row] & IGNORED != 0
    }

    /// Whether a row is the first of its key, or takes back the last.
    #[inline]
    pub(super) fn turns(&self, row: usize) -> bool {
        self.flags[row] & TURNS != 0
    }

    fn add_all(&mut self, side: &mut Side, columns: &[ArrayRef], hashes: &[u64]) {
        for row in 0..self.keys.len() {
            if self.keys[row] != NO_SLOT && side.link(self.keys[row], self.slots[row], columns, row, hashes) == 1 {
                self.flags[row] = TURNS;
            }
        }
    }

    /// An update of one key without a condition has the same matches before and after: it stays an update, and what matched
    /// keeps its match in between. Any other change becomes a delete or an insert, since its counterpart may be missing.
    fn apply_all(
        &mut self,
        side: &mut Side,
        batch: &ColumnBatch,
        hashes: &[u64],
        conditional: bool,
        metrics: &OperatorMetrics,
    ) -> Result<()> {
        let columns = batch.columns();
        self.kinds = vec![RowKind::Insert as u8; batch.num_rows()];
        for row in 0..batch.num_rows() {
            let key = self.keys[row];
            if batch.kind(row).is_addition() {
                if key != NO_SLOT && side.link(key, self.slots[row], columns, row, hashes) == 1 {
                    self.flags[row] = TURNS;
                }
                if row > 0 && self.kinds[row - 1] == RowKind::UpdateBefore as u8 {
                    self.kinds[row] = RowKind::UpdateAfter as u8;
                    self.flags[row - 1] &= !TURNS;
                    self.flags[row] &= !TURNS;
                }
                continue;
            }
            if key != NO_SLOT {
                match side.take_back(key, columns, row, hashes)? {
                    Some((slot, left)) => {
                        self.slots[row] = slot;
                        self.flags[row] = if left == 0 { TURNS } else { 0 };
                    }
                    None => {
                        self.flags[row] = IGNORED;
                        metrics.bad_records.add(1);
                    }
                }
                self.emptied.push(key);
            }
            let updated = !conditional
                && !self.ignored(row)
                && batch.kind(row) == RowKind::UpdateBefore
                && row + 1 < batch.num_rows()
                && batch.kind(row + 1) == RowKind::UpdateAfter
                && self.keys[row + 1] == key;
            self.kinds[row] = if updated { RowKind::UpdateBefore } else { RowKind::Delete } as u8;
        }
        Ok(())
    }
}

/// The key slot of each row, added where it is new; [`NO_SLOT`] where a part of the key is NULL.
pub(crate) fn resolve(index: &mut KeyIndex, keys: &[usize], columns: &[ArrayRef], rows: usize) -> Result<Vec<Slot>> {
    without_nulls(keys, columns, rows, |keys, rows, slots| index.resolve(keys, rows, slots, &mut Vec::new()))
}

/// The key slot of each row; [`NO_SLOT`] where it is not there or a part of the key is NULL.
pub(crate) fn find(index: &mut KeyIndex, keys: &[usize], columns: &[ArrayRef], rows: usize) -> Result<Vec<Slot>> {
    without_nulls(keys, columns, rows, |keys, rows, slots| index.find(keys, rows, slots))
}

/// Calls `slots_of` with the keys that have no NULL.
fn without_nulls(
    keys: &[usize],
    columns: &[ArrayRef],
    rows: usize,
    slots_of: impl FnOnce(&[&ArrayRef], usize, &mut Vec<Slot>) -> Result<()>,
) -> Result<Vec<Slot>> {
    let keys: Vec<ArrayRef> = keys.iter().map(|k| columns[*k].clone()).collect();
    let nulls = keys.iter().fold(None, |nulls, k| NullBuffer::union(nulls.as_ref(), k.logical_nulls().as_ref()));
    let mut slots = Vec::new();
    let Some(nulls) = nulls.filter(|n| n.null_count() > 0) else {
        slots_of(&keys.iter().collect::<Vec<_>>(), rows, &mut slots)?;
        return Ok(slots);
    };
    let present: Vec<u32> = nulls.valid_indices().map(|i| i as u32).collect();
    let keys = take_rows(&keys, &present)?;
    slots_of(&keys.iter().collect::<Vec<_>>(), present.len(), &mut slots)?;
    let mut all = vec![NO_SLOT; rows];
    for (row, slot) in present.iter().zip(slots) {
        all[*row as usize] = slot;
    }
    Ok(all)
}

/// Keeps the rows that are added and have a key; returns the slot of each row of the batch.
fn keep_additions(side: &mut Side, batch: &ColumnBatch, keys: &[Slot]) -> Result<Vec<u32>> {
    let (columns, rows) = (batch.columns(), batch.num_rows());
    let mut slots = Vec::with_capacity(rows);
    if batch.kinds().is_none() && !keys.contains(&NO_SLOT) {
        side.rows.append(columns, rows, &mut slots)?;
        return Ok(slots);
    }
    let added: Vec<u32> = (0..rows).filter(|i| keys[*i] != NO_SLOT && batch.kind(*i).is_addition()).map(|i| i as u32).collect();
    side.rows.append(&take_rows(columns, &added)?, added.len(), &mut slots)?;
    let mut all = vec![NO_ROW; rows];
    for (row, slot) in added.iter().zip(slots) {
        all[*row as usize] = slot;
    }
    Ok(all)
}
