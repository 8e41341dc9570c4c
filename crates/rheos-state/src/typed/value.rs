//! One value for each key.

use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

use super::codec::decode;
use super::columns;
use super::descriptor::{Expiring, StateDescriptor};
use super::hash_index::HashIndex;
use super::header::{Kind, Shape};
use super::rows::{CLEANED_PER_ACCESS, CLEANED_PER_SNAPSHOT, Rows};
use super::scope::{Scope, StateKey, StateValue};
use super::stored::Stored;
use super::ttl::{TimeDomain, Ttl};
use crate::slots::Slot;

/// A value of type `V` for each key of type `K`, for the keys whose groups this subtask owns. Keys come with their hash, the
/// one by which the rows were routed here; equal keys have equal hashes.
#[derive(Debug)]
pub struct ValueState<K, V> {
    scope: Scope,
    shape: Shape,
    index: HashIndex,
    rows: Rows<Entry<K, V>>,
}

#[derive(Debug)]
struct Entry<K, V> {
    hash: u64,
    key: K,
    value: V,
}

impl<K, V> Expiring for ValueState<K, V> {}

impl<K: StateKey, V: StateValue> ValueState<K, V> {
    /// The state of a subtask, with what a snapshot holds of it.
    pub fn open(descriptor: &StateDescriptor<Self>, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let shape = Shape { kind: Kind::Value, type_name: std::any::type_name::<Self>() };
        Self::open_as(shape, descriptor.name(), descriptor.ttl(), subtask, restored)
    }

    /// The same for a state that is made of this one.
    pub(super) fn open_as(
        shape: Shape,
        name: &str,
        ttl: Option<Ttl>,
        subtask: &SubtaskInfo,
        restored: Option<&OperatorSnapshot>,
    ) -> Result<Self> {
        let scope = Scope::new(name, subtask);
        let stored = Stored::find(&scope, shape, ttl, restored)?;
        let expiry = stored.expiry()?;
        let (mut index, mut rows) = (HashIndex::default(), Rows::new(expiry));
        stored.each_row(|row| {
            if rows.expiry.is_past(row.used_ms) {
                return Ok(());
            }
            let entry = Entry { hash: row.hash, key: decode(row.parts[0])?, value: decode(row.parts[1])? };
            if find(&index, &rows, row.hash, &entry.key).is_some() {
                return Err(Error::corrupt("a key is there twice"));
            }
            index.insert(row.hash, rows.restore(entry, row.used_ms));
            Ok(())
        })?;
        Ok(ValueState { scope, shape, index, rows })
    }

    /// The value of a key.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<Option<&V>> {
        let slot = self.find(hash, key)?;
        Ok(slot.and_then(|slot| self.rows.read(slot)).map(|entry| &entry.value))
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, hash: u64, key: &K) -> Result<Option<&mut V>> {
        let slot = self.find(hash, key)?;
        Ok(slot.and_then(|slot| self.rows.write(slot)).map(|entry| &mut entry.value))
    }

    /// The value of a key, to be changed; `value` gives it where there is none.
    #[inline]
    pub fn get_or_insert_with(&mut self, hash: u64, key: &K, value: impl FnOnce() -> V) -> Result<&mut V> {
        let slot = match self.find(hash, key)? {
            Some(slot) => slot,
            None => self.insert(hash, key, value()),
        };
        let entry = self.rows.write(slot).ok_or_else(|| Error::bug("a key without its entry"))?;
        Ok(&mut entry.value)
    }

    /// The value of a key, to be changed, which begins with `V`'s default.
    #[inline]
    pub fn get_or_default(&mut self, hash: u64, key: &K) -> Result<&mut V>
    where
        V: Default,
    {
        self.get_or_insert_with(hash, key, V::default)
    }

    /// Sets the value of a key.
    pub fn put(&mut self, hash: u64, key: &K, value: V) -> Result<()> {
        self.upsert(hash, key, value, |kept, value| *kept = value)
    }

    /// Sets the value of a key, or merges it into the one that is there.
    #[inline]
    pub(super) fn upsert(&mut self, hash: u64, key: &K, value: V, merge: impl FnOnce(&mut V, V)) -> Result<()> {
        match self.find(hash, key)?.and_then(|slot| self.rows.write(slot)) {
            Some(entry) => merge(&mut entry.value, value),
            None => {
                self.insert(hash, key, value);
            }
        }
        Ok(())
    }

    fn insert(&mut self, hash: u64, key: &K, value: V) -> Slot {
        let slot = self.rows.insert(Entry { hash, key: key.clone(), value });
        self.index.insert(hash, slot);
        slot
    }

    /// Forgets a key. Returns its value.
    pub fn remove(&mut self, hash: u64, key: &K) -> Result<Option<V>> {
        let slot = self.find(hash, key)?;
        Ok(slot.and_then(|slot| self.remove_slot(slot)).map(|entry| entry.value))
    }

    /// How many keys are kept, those that expired and were not cleaned up yet among them.
    pub fn len(&self) -> usize {
        self.rows.slab.len()
    }

    /// Whether no key is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys and their values, in no order. It is no use of them.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.rows.visible().map(|entry| (&entry.key, &entry.value))
    }

    /// Time has reached `now_ms`. Times of the domain that the TTL does not go by are passed over.
    pub fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        self.rows.expiry.advance(domain, now_ms);
    }

    /// Puts the state, or what changed of it since the snapshot before, into an operator's snapshot.
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        self.clean(CLEANED_PER_SNAPSHOT);
        let Self { scope, shape, rows, .. } = self;
        columns::put(
            rows,
            scope,
            *shape,
            mode,
            into,
            |entry| entry.hash,
            |entry, parts| {
                parts.put(&entry.key)?;
                parts.put(&entry.value)
            },
        )
    }

    /// The slot of a key that can be seen.
    #[inline]
    fn find(&mut self, hash: u64, key: &K) -> Result<Option<Slot>> {
        if self.rows.expiry.is_on() {
            self.clean(CLEANED_PER_ACCESS);
        }
        match find(&self.index, &self.rows, hash, key) {
            Some(slot) if self.rows.expiry.is_hidden(slot) => {
                self.remove_slot(slot);
                Ok(None)
            }
            Some(slot) => Ok(Some(slot)),
            None => self.scope.check(hash).map(|()| None),
        }
    }

    fn clean(&mut self, mut budget: usize) {
        while let Some(slot) = self.rows.expiry.next_expired(&mut budget) {
            self.remove_slot(slot);
        }
    }

    fn remove_slot(&mut self, slot: Slot) -> Option<Entry<K, V>> {
        let entry = self.rows.remove(slot)?;
        self.index.remove(entry.hash, slot);
        Some(entry)
    }
}

#[inline]
fn find<K: Eq, V>(index: &HashIndex, rows: &Rows<Entry<K, V>>, hash: u64, key: &K) -> Option<Slot> {
    index.find(hash, |slot| rows.get(slot).is_some_and(|entry| entry.hash == hash && entry.key == *key))
}
