//! Entries by slot.

use crate::slots::Slot;

/// A list with holes, which are filled first.
#[derive(Debug)]
pub(super) struct Slab<E> {
    entries: Vec<Option<E>>,
    free: Vec<Slot>,
}

impl<E> Default for Slab<E> {
    fn default() -> Self {
        Slab { entries: Vec::new(), free: Vec::new() }
    }
}

impl<E> Slab<E> {
    /// Takes an entry in and says where it is.
    #[inline]
    pub(super) fn insert(&mut self, entry: E) -> Slot {
        match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = Some(entry);
                slot
            }
            None => {
                self.entries.push(Some(entry));
                (self.entries.len() - 1) as Slot
            }
        }
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<E> {
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(entry)
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&E> {
        self.entries.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut E> {
        self.entries.get_mut(slot as usize)?.as_mut()
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// All entries, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &E)> {
        self.entries.iter().enumerate().filter_map(|(slot, entry)| Some((slot as Slot, entry.as_ref()?)))
    }
}
