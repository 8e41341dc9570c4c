//! Keys that have several rows each: what lists and maps are made of.

use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use serde::Serialize;

use super::columns;
use super::expiry::Expiry;
use super::hash_index::HashIndex;
use super::header::Shape;
use super::rows::Rows;
use super::scope::{Scope, StateKey};
use super::slab::Slab;
use crate::slots::{NO_SLOT, Slot};

/// Rows, each with a part `S` that tells it from others of its key and a value. The rows of a key are linked in the order in
/// which they came. A key is there as long as it has a row.
#[derive(Debug)]
pub(super) struct Nested<K, S, V> {
    keys: Slab<Owner<K>>,
    index: HashIndex,
    pub(super) rows: Rows<NestedRow<S, V>>,
}

#[derive(Debug)]
struct Owner<K> {
    hash: u64,
    key: K,
    first: Slot,
    last: Slot,
}

#[derive(Debug)]
pub(super) struct NestedRow<S, V> {
    /// Whose it is: a slot of `keys`.
    pub(super) owner: Slot,
    pub(super) sub: S,
    pub(super) value: V,
    previous: Slot,
    next: Slot,
}

impl<K: StateKey, S, V> Nested<K, S, V> {
    pub(super) fn new(expiry: Expiry) -> Self {
        Nested { keys: Slab::default(), index: HashIndex::default(), rows: Rows::new(expiry) }
    }

    /// The owner of a key's rows, where it has any.
    #[inline]
    pub(super) fn owner(&self, hash: u64, key: &K) -> Option<Slot> {
        self.index.find(hash, |slot| self.keys.get(slot).is_some_and(|owner| owner.hash == hash && owner.key == *key))
    }

    /// The same, where a key of another subtask is an error.
    #[inline]
    pub(super) fn owner_in(&self, scope: &Scope, hash: u64, key: &K) -> Result<Option<Slot>> {
        match self.owner(hash, key) {
            None => scope.check(hash).map(|()| None),
            found => Ok(found),
        }
    }

    /// A new owner, for a key that has no row yet; a row must follow.
    pub(super) fn add_owner(&mut self, hash: u64, key: K) -> Slot {
        let slot = self.keys.insert(Owner { hash, key, first: NO_SLOT, last: NO_SLOT });
        self.index.insert(hash, slot);
        slot
    }

    /// The hash and the key of an owner.
    pub(super) fn key(&self, owner: Slot) -> Option<(u64, &K)> {
        self.keys.get(owner).map(|owner| (owner.hash, &owner.key))
    }

    /// Adds a row behind the others of its owner; `used_ms` where it comes from a snapshot.
    pub(super) fn push(&mut self, owner: Slot, sub: S, value: V, used_ms: Option<TimestampMs>) -> Slot {
        let previous = self.last(owner);
        let row = NestedRow { owner, sub, value, previous, next: NO_SLOT };
        let slot = match used_ms {
            None => self.rows.insert(row),
            Some(used_ms) => self.rows.restore(row, used_ms),
        };
        self.link(owner, previous, slot);
        if let Some(owner) = self.keys.get_mut(owner) {
            owner.last = slot;
        }
        slot
    }

    /// The last row of an owner, or none.
    pub(super) fn last(&self, owner: Slot) -> Slot {
        self.keys.get(owner).map_or(NO_SLOT, |owner| owner.last)
    }

    /// Takes a row out, and its owner with the last.
    pub(super) fn remove(&mut self, slot: Slot) -> Option<NestedRow<S, V>> {
        let row = self.rows.remove(slot)?;
        self.link(row.owner, row.previous, row.next);
        match self.rows.slab.get_mut(row.next) {
            Some(next) => next.previous = row.previous,
            None => self.keys.get_mut(row.owner)?.last = row.previous,
        }
        if self.last(row.owner) == NO_SLOT {
            let owner = self.keys.remove(row.owner)?;
            self.index.remove(owner.hash, row.owner);
        }
        Some(row)
    }

    /// `next` follows on `previous`, or is the owner's first.
    fn link(&mut self, owner: Slot, previous: Slot, next: Slot) {
        match self.rows.slab.get_mut(previous) {
            Some(previous) => previous.next = next,
            None => {
                if let Some(owner) = self.keys.get_mut(owner) {
                    owner.first = next;
                }
            }
        }
    }

    /// The slots of an owner's rows, in order.
    pub(super) fn slots(&self, owner: Option<Slot>) -> impl Iterator<Item = Slot> + use<'_, K, S, V> {
        let first = owner.and_then(|owner| self.keys.get(owner)).map_or(NO_SLOT, |owner| owner.first);
        let known = |slot: Slot| (slot != NO_SLOT).then_some(slot);
        std::iter::successors(known(first), move |slot| known(self.rows.get(*slot)?.next))
    }

    /// The rows of an owner that can be seen, in order.
    pub(super) fn visible(&self, owner: Option<Slot>) -> impl Iterator<Item = &NestedRow<S, V>> + use<'_, K, S, V> {
        self.slots(owner).filter(|slot| !self.rows.expiry.is_hidden(*slot)).filter_map(|slot| self.rows.get(slot))
    }

    /// An owner's rows that can be seen are read.
    pub(super) fn note_read(&mut self, owner: Option<Slot>) {
        if self.rows.expiry.is_read_noted() {
            let read: Vec<Slot> = self.slots(owner).filter(|slot| !self.rows.expiry.is_expired(*slot)).collect();
            read.into_iter().for_each(|slot| self.rows.note_read(slot));
        }
    }
}

impl<K: StateKey, S: Serialize, V: Serialize> Nested<K, S, V> {
    /// Puts the rows, or those that changed, into a snapshot.
    pub(super) fn put(&mut self, scope: &Scope, shape: Shape, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        let keys = &self.keys;
        let owner = |row: &NestedRow<S, V>| keys.get(row.owner).ok_or_else(|| Error::bug("a row without its key"));
        columns::put(
            &mut self.rows,
            scope,
            shape,
            mode,
            into,
            |row| owner(row).map_or(0, |owner| owner.hash),
            |row, parts| {
                parts.put(&owner(row)?.key)?;
                parts.put(&row.sub)?;
                parts.put(&row.value)
            },
        )
    }
}
