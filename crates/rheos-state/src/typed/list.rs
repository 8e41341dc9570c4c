//! A list for each key.

use rheos_core::Result;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;

use super::codec::decode;
use super::descriptor::{Expiring, StateDescriptor};
use super::header::{Kind, Shape};
use super::nested::Nested;
use super::rows::{CLEANED_PER_ACCESS, CLEANED_PER_SNAPSHOT};
use super::scope::{Scope, StateKey, StateValue};
use super::stored::Stored;
use super::ttl::TimeDomain;
use crate::slots::{NO_SLOT, Slot};

/// How many items are stored together.
const CHUNK_ITEMS: usize = 64;

/// For each key a list of `V`. Items expire each by itself. The list is kept in chunks, and a snapshot of changes has the chunks
/// that changed: what an append costs there does not grow with the list.
#[derive(Debug)]
pub struct ListState<K, V> {
    scope: Scope,
    shape: Shape,
    /// Chunks by number; with a TTL, all items of one were added at the same time.
    chunks: Nested<K, u64, Vec<V>>,
}

impl<K, V> Expiring for ListState<K, V> {}

impl<K: StateKey, V: StateValue> ListState<K, V> {
    /// The state of a subtask, with what a snapshot holds of it.
    pub fn open(descriptor: &StateDescriptor<Self>, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let shape = Shape { kind: Kind::List, type_name: std::any::type_name::<Self>() };
        let scope = Scope::new(descriptor.name(), subtask);
        let stored = Stored::find(&scope, shape, descriptor.ttl(), restored)?;
        let expiry = stored.expiry()?;
        let mut chunks = Nested::new(expiry);
        let mut found: Vec<(u64, Slot, Vec<V>, TimestampMs)> = Vec::new();
        stored.each_row(|row| {
            if !chunks.rows.expiry.is_past(row.used_ms) {
                let (key, number, items) = (decode(row.parts[0])?, decode(row.parts[1])?, decode(row.parts[2])?);
                let owner = chunks.owner(row.hash, &key).unwrap_or_else(|| chunks.add_owner(row.hash, key));
                found.push((number, owner, items, row.used_ms));
            }
            Ok(())
        })?;
        found.sort_unstable_by_key(|(number, owner, ..)| (*number, *owner));
        for (number, owner, items, used_ms) in found {
            chunks.push(owner, number, items, Some(used_ms));
        }
        Ok(ListState { scope, shape, chunks })
    }

    /// Adds an item behind the others of a key.
    #[inline]
    pub fn add(&mut self, hash: u64, key: &K, item: V) -> Result<()> {
        self.clean(CLEANED_PER_ACCESS);
        let owner = self.chunks.owner_in(&self.scope, hash, key)?;
        self.append(owner, hash, key, item);
        Ok(())
    }

    /// Adds items behind the others of a key.
    pub fn add_all(&mut self, hash: u64, key: &K, items: impl IntoIterator<Item = V>) -> Result<()> {
        items.into_iter().try_for_each(|item| self.add(hash, key, item))
    }

    /// Makes these the items of a key, in the place of others.
    pub fn put(&mut self, hash: u64, key: &K, items: impl IntoIterator<Item = V>) -> Result<()> {
        self.clear(hash, key)?;
        self.add_all(hash, key, items)
    }

    /// The items of a key, in the order in which they came.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<impl Iterator<Item = &V> + use<'_, K, V>> {
        self.clean(CLEANED_PER_ACCESS);
        let owner = self.chunks.owner_in(&self.scope, hash, key)?;
        self.chunks.note_read(owner);
        Ok(self.chunks.visible(owner).flat_map(|chunk| &chunk.value))
    }

    /// Forgets a key. Returns its items.
    pub fn take(&mut self, hash: u64, key: &K) -> Result<Vec<V>> {
        let owner = self.chunks.owner_in(&self.scope, hash, key)?;
        let slots: Vec<Slot> = self.chunks.slots(owner).collect();
        let mut items = Vec::new();
        for slot in slots {
            let is_hidden = self.chunks.rows.expiry.is_hidden(slot);
            items.extend(self.chunks.remove(slot).filter(|_| !is_hidden).into_iter().flat_map(|chunk| chunk.value));
        }
        Ok(items)
    }

    /// Forgets a key.
    pub fn clear(&mut self, hash: u64, key: &K) -> Result<()> {
        self.take(hash, key).map(drop)
    }

    /// How many items of all keys are kept, those that expired and were not cleaned up yet among them.
    pub fn len(&self) -> usize {
        self.chunks.rows.slab.iter().map(|(_, chunk)| chunk.value.len()).sum()
    }

    /// Whether no item is kept.
    pub fn is_empty(&self) -> bool {
        self.chunks.rows.slab.len() == 0
    }

    /// The items of all keys, in no order. It is no use of them.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let key = |owner| self.chunks.key(owner).map(|(_, key)| key);
        let of_chunks = self.chunks.rows.visible().filter_map(move |chunk| Some((key(chunk.owner)?, &chunk.value)));
        of_chunks.flat_map(|(key, items)| items.iter().map(move |item| (key, item)))
    }

    /// As [`ValueState::advance`](super::ValueState::advance).
    pub fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        self.chunks.rows.expiry.advance(domain, now_ms);
    }

    /// As [`ValueState::snapshot`](super::ValueState::snapshot).
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        self.clean(CLEANED_PER_SNAPSHOT);
        let Self { scope, shape, chunks } = self;
        chunks.put(scope, *shape, mode, into)
    }

    #[inline]
    fn append(&mut self, owner: Option<Slot>, hash: u64, key: &K, item: V) {
        let last = owner.map_or(NO_SLOT, |owner| self.chunks.last(owner));
        let next = match self.chunks.rows.get(last) {
            Some(chunk) if chunk.value.len() < CHUNK_ITEMS && self.chunks.rows.expiry.is_of_now(last) => {
                if let Some(chunk) = self.chunks.rows.write(last) {
                    chunk.value.push(item);
                }
                return;
            }
            Some(chunk) => chunk.sub + 1,
            None => 0,
        };
        let owner = owner.unwrap_or_else(|| self.chunks.add_owner(hash, key.clone()));
        self.chunks.push(owner, next, vec![item], None);
    }

    #[inline]
    fn clean(&mut self, mut budget: usize) {
        while let Some(slot) = self.chunks.rows.expiry.next_expired(&mut budget) {
            self.chunks.remove(slot);
        }
    }
}
