//! Segments of state from what is kept under slots: the slot is the row number.

use arrow::array::ArrayRef;
use rheos_core::error::Result;
use rheos_core::key_group::{KeyGroup, hash_columns, key_group};
use rheos_core::snapshot::{Segment, SegmentKind, SnapshotMode};

use crate::changed_slots::ChangedSlots;
use crate::slots::Slot;

/// The key groups of rows with these key columns, in a job that has `group_count` of them.
pub fn key_groups(keys: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
    let mut hashes = Vec::new();
    hash_columns(&keys.iter().collect::<Vec<_>>(), rows, &mut hashes)?;
    Ok(hashes.into_iter().map(|hash| key_group(hash, group_count)).collect())
}

/// What a segment is made from.
pub trait Slotted {
    /// The slots that hold something, in the order in which they are read fastest.
    fn live(&self) -> Vec<Slot>;
    /// Whether a slot holds something.
    fn is_live(&self, slot: Slot) -> bool;
    /// The columns of live slots.
    fn columns(&mut self, slots: &[Slot]) -> Result<Vec<ArrayRef>>;
    /// The key groups of rows with these columns.
    fn key_groups(&self, columns: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>>;
}

/// The segment of a snapshot: what changed where that is asked for and known, or else everything.
pub fn segment(state: &mut impl Slotted, changed: &mut ChangedSlots, mode: SnapshotMode, group_count: u32) -> Result<Segment> {
    let (kind, removed, slots) = match (mode, changed.take()) {
        (SnapshotMode::Changes, Some(mut slots)) => {
            let mut removed = Vec::new();
            slots.retain(|slot| {
                let is_live = state.is_live(*slot);
                if !is_live {
                    removed.push(*slot);
                }
                is_live
            });
            (SegmentKind::Delta, removed, slots)
        }
        _ => (SegmentKind::Base, Vec::new(), state.live()),
    };
    let columns = state.columns(&slots)?;
    let groups = state.key_groups(&columns, slots.len(), group_count)?;
    Segment::new(kind, removed, slots, groups, columns)
}
