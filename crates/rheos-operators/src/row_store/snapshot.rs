//! A row store in a snapshot: rows under their slots, with columns that its user keeps beside them.

use arrow::array::ArrayRef;
use rheos_core::error::Result;
use rheos_core::key_group::KeyGroup;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_state::snapshot::{self, Slotted};
use rheos_state::{ChangedSlots, Slot};

use super::RowStore;

impl RowStore {
    /// What is kept beside a row is about to change.
    #[inline]
    pub(crate) fn touch(&mut self, slot: u32) {
        self.changed.add_one(slot);
    }

    /// Puts all rows, or those that changed, under `name`, each followed by what `beside` gives for the slots asked for. The columns
    /// `keys` say the key group.
    pub(crate) fn snapshot(
        &mut self,
        name: &str,
        keys: &[usize],
        beside: &dyn Fn(&[u32]) -> Vec<ArrayRef>,
        mode: SnapshotMode,
        key_group_count: u32,
        into: &mut OperatorSnapshot,
    ) -> Result<()> {
        let mut changed: ChangedSlots = std::mem::take(&mut self.changed);
        let segment = snapshot::segment(&mut Content { rows: self, keys, beside }, &mut changed, mode, key_group_count);
        self.changed = changed;
        into.put_keyed(name, segment?);
        Ok(())
    }
}

struct Content<'a> {
    rows: &'a mut RowStore,
    keys: &'a [usize],
    beside: &'a dyn Fn(&[u32]) -> Vec<ArrayRef>,
}

impl Slotted for Content<'_> {
    fn live(&self) -> Vec<Slot> {
        self.rows.slots()
    }

    fn is_live(&self, slot: Slot) -> bool {
        self.rows.is_kept(slot)
    }

    fn key_groups(&self, columns: &[ArrayRef], rows: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
        let keys: Vec<ArrayRef> = self.keys.iter().map(|k| columns[*k].clone()).collect();
        snapshot::key_groups(&keys, rows, group_count)
    }

    fn columns(&mut self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = self.rows.gather_all(slots)?;
        columns.extend((self.beside)(slots));
        Ok(columns)
    }
}
