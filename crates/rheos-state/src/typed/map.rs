//! A map for each key.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

use super::codec::decode;
use super::descriptor::{Expiring, StateDescriptor};
use super::hash_index::HashIndex;
use super::header::{Kind, Shape};
use super::nested::Nested;
use super::rows::{CLEANED_PER_ACCESS, CLEANED_PER_SNAPSHOT};
use super::scope::{Scope, StateKey, StateValue};
use super::stored::Stored;
use super::ttl::TimeDomain;
use crate::slots::Slot;

/// For each key a map from `M` to `V`. Its entries expire and are stored each by itself: a snapshot of changes has those that
/// changed, however large the map is.
#[derive(Debug)]
pub struct MapState<K, M, V> {
    scope: Scope,
    shape: Shape,
    entries: Nested<K, M, V>,
    index: HashIndex,
}

impl<K, M, V> Expiring for MapState<K, M, V> {}

impl<K: StateKey, M: StateKey + Hash, V: StateValue> MapState<K, M, V> {
    /// The state of a subtask, with what a snapshot holds of it.
    pub fn open(descriptor: &StateDescriptor<Self>, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let shape = Shape { kind: Kind::Map, type_name: std::any::type_name::<Self>() };
        let scope = Scope::new(descriptor.name(), subtask);
        let stored = Stored::find(&scope, shape, descriptor.ttl(), restored)?;
        let expiry = stored.expiry()?;
        let (mut entries, mut index) = (Nested::new(expiry), HashIndex::default());
        stored.each_row(|row| {
            if entries.rows.expiry.is_past(row.used_ms) {
                return Ok(());
            }
            let (key, map_key, value) = (decode(row.parts[0])?, decode(row.parts[1])?, decode(row.parts[2])?);
            let owner = entries.owner(row.hash, &key).unwrap_or_else(|| entries.add_owner(row.hash, key));
            if find(&entries, &index, owner, &map_key).is_some() {
                return Err(Error::corrupt("a map key is there twice"));
            }
            let hash = entry_hash(owner, &map_key);
            index.insert(hash, entries.push(owner, map_key, value, Some(row.used_ms)));
            Ok(())
        })?;
        Ok(MapState { scope, shape, entries, index })
    }

    /// The value of a map key.
    pub fn get(&mut self, hash: u64, key: &K, map_key: &M) -> Result<Option<&V>> {
        let slot = self.find(hash, key, map_key)?;
        Ok(slot.and_then(|slot| self.entries.rows.read(slot)).map(|row| &row.value))
    }

    /// Whether a map key has a value. It is a use of it like a read.
    pub fn contains(&mut self, hash: u64, key: &K, map_key: &M) -> Result<bool> {
        Ok(self.get(hash, key, map_key)?.is_some())
    }

    /// The value of a map key, to be changed.
    pub fn get_mut(&mut self, hash: u64, key: &K, map_key: &M) -> Result<Option<&mut V>> {
        let slot = self.find(hash, key, map_key)?;
        Ok(slot.and_then(|slot| self.entries.rows.write(slot)).map(|row| &mut row.value))
    }

    /// The value of a map key, to be changed; `value` gives it where there is none.
    #[inline]
    pub fn get_or_insert_with(&mut self, hash: u64, key: &K, map_key: &M, value: impl FnOnce() -> V) -> Result<&mut V> {
        let slot = match self.find(hash, key, map_key)? {
            Some(slot) => slot,
            None => self.insert(hash, key, map_key, value()),
        };
        let row = self.entries.rows.write(slot).ok_or_else(|| Error::bug("a map key without its entry"))?;
        Ok(&mut row.value)
    }

    /// Sets the value of a map key.
    pub fn put(&mut self, hash: u64, key: &K, map_key: &M, value: V) -> Result<()> {
        match self.find(hash, key, map_key)?.and_then(|slot| self.entries.rows.write(slot)) {
            Some(row) => row.value = value,
            None => {
                self.insert(hash, key, map_key, value);
            }
        }
        Ok(())
    }

    /// Forgets a map key. Returns its value.
    pub fn remove(&mut self, hash: u64, key: &K, map_key: &M) -> Result<Option<V>> {
        let slot = self.find(hash, key, map_key)?;
        Ok(slot.and_then(|slot| self.remove_slot(slot)))
    }

    /// The entries of a key, in no order that a program may count on.
    pub fn entries(&mut self, hash: u64, key: &K) -> Result<impl Iterator<Item = (&M, &V)> + use<'_, K, M, V>> {
        self.clean(CLEANED_PER_ACCESS);
        let owner = self.entries.owner_in(&self.scope, hash, key)?;
        self.entries.note_read(owner);
        Ok(self.entries.visible(owner).map(|row| (&row.sub, &row.value)))
    }

    /// Forgets all entries of a key.
    pub fn clear(&mut self, hash: u64, key: &K) -> Result<()> {
        let owner = self.entries.owner_in(&self.scope, hash, key)?;
        let slots: Vec<Slot> = self.entries.slots(owner).collect();
        slots.into_iter().for_each(|slot| {
            self.remove_slot(slot);
        });
        Ok(())
    }

    /// How many entries of all keys are kept, those that expired and were not cleaned up yet among them.
    pub fn len(&self) -> usize {
        self.entries.rows.slab.len()
    }

    /// Whether no entry is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of all keys, in no order. It is no use of them.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &M, &V)> {
        let key = |owner| self.entries.key(owner).map(|(_, key)| key);
        self.entries.rows.visible().filter_map(move |row| Some((key(row.owner)?, &row.sub, &row.value)))
    }

    /// As [`ValueState::advance`](super::ValueState::advance).
    pub fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        self.entries.rows.expiry.advance(domain, now_ms);
    }

    /// As [`ValueState::snapshot`](super::ValueState::snapshot).
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        self.clean(CLEANED_PER_SNAPSHOT);
        let Self { scope, shape, entries, .. } = self;
        entries.put(scope, *shape, mode, into)
    }

    /// The slot of a map key that can be seen.
    #[inline]
    fn find(&mut self, hash: u64, key: &K, map_key: &M) -> Result<Option<Slot>> {
        self.clean(CLEANED_PER_ACCESS);
        let Some(owner) = self.entries.owner_in(&self.scope, hash, key)? else { return Ok(None) };
        let slot = find(&self.entries, &self.index, owner, map_key);
        match slot {
            Some(slot) if self.entries.rows.expiry.is_hidden(slot) => {
                self.remove_slot(slot);
                Ok(None)
            }
            found => Ok(found),
        }
    }

    /// Adds an entry that is not there.
    fn insert(&mut self, hash: u64, key: &K, map_key: &M, value: V) -> Slot {
        let owner = self.entries.owner(hash, key).unwrap_or_else(|| self.entries.add_owner(hash, key.clone()));
        let slot = self.entries.push(owner, map_key.clone(), value, None);
        self.index.insert(entry_hash(owner, map_key), slot);
        slot
    }

    #[inline]
    fn clean(&mut self, mut budget: usize) {
        while let Some(slot) = self.entries.rows.expiry.next_expired(&mut budget) {
            self.remove_slot(slot);
        }
    }

    fn remove_slot(&mut self, slot: Slot) -> Option<V> {
        let row = self.entries.remove(slot)?;
        self.index.remove(entry_hash(row.owner, &row.sub), slot);
        Some(row.value)
    }
}

#[inline]
fn find<K, M: Eq + Hash, V>(entries: &Nested<K, M, V>, index: &HashIndex, owner: Slot, map_key: &M) -> Option<Slot> {
    let is = |slot| entries.rows.get(slot).is_some_and(|row| row.owner == owner && row.sub == *map_key);
    index.find(entry_hash(owner, map_key), is)
}

#[inline]
fn entry_hash<M: Hash>(owner: Slot, map_key: &M) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    map_key.hash(&mut hasher);
    hasher.write_u32(owner);
    hasher.finish()
}
