//! One value for each key, kept by key group.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryArray, UInt64Array};
use arrow::datatypes::{DataType, UInt64Type};
use hashbrown::HashMap;
use rheos_core::key_group::{KeyGroup, key_group};
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, Segment};
use rheos_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// By key: its hash and its value.
type Entries<K, V> = HashMap<K, (u64, V), foldhash::fast::RandomState>;

/// A value of type `V` for each key of type `K`, for the keys whose groups this subtask owns. Keys come with their hash, the
/// one by which the rows were routed here.
#[derive(Debug)]
pub struct ValueState<K, V> {
    name: String,
    group_count: u32,
    by_group: BTreeMap<KeyGroup, Entries<K, V>>,
}

/// The columns of a snapshot: the hash of the key, the key and the value as JSON.
const TYPES: [DataType; 3] = [DataType::UInt64, DataType::Binary, DataType::Binary];

impl<K: Eq + Hash + Serialize + DeserializeOwned, V: Serialize + DeserializeOwned> ValueState<K, V> {
    /// The state `name` of a subtask, with what a snapshot holds of it.
    pub fn open(name: &str, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let by_group = subtask.key_groups.iter().map(|group| (group, HashMap::default())).collect();
        let mut state = ValueState { name: name.to_string(), group_count: subtask.key_group_count, by_group };
        let wrong = |e: serde_json::Error| Error::corrupt(format!("state '{name}': {e}")).caused_by(e);
        let Some(restored) = restored else { return Ok(state) };
        for batch in restored.rows(name, &TYPES)? {
            let (keys, values) = (batch.column(1).as_binary::<i32>(), batch.column(2).as_binary::<i32>());
            let hashes = batch.column(0).as_primitive::<UInt64Type>();
            for row in 0..batch.num_rows() {
                let key = serde_json::from_slice(keys.value(row)).map_err(wrong)?;
                let value = serde_json::from_slice(values.value(row)).map_err(wrong)?;
                state.of_hash(hashes.value(row))?.insert(key, (hashes.value(row), value));
            }
        }
        Ok(state)
    }

    /// The value of a key.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<Option<&mut V>> {
        Ok(self.of_hash(hash)?.get_mut(key).map(|(_, value)| value))
    }

    /// The value of a key, which begins with `V`'s default.
    pub fn get_or_default(&mut self, hash: u64, key: K) -> Result<&mut V>
    where
        V: Default,
    {
        Ok(&mut self.of_hash(hash)?.entry(key).or_insert_with(|| (hash, V::default())).1)
    }

    /// Forgets a key.
    pub fn remove(&mut self, hash: u64, key: &K) -> Result<Option<V>> {
        Ok(self.of_hash(hash)?.remove(key).map(|(_, value)| value))
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.by_group.values().map(HashMap::len).sum()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys and their values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_group.values().flatten().map(|(key, (_, value))| (key, value))
    }

    /// Writes the state into an operator's snapshot.
    pub fn snapshot(&self, into: &mut OperatorSnapshot) -> Result<()> {
        let json = |e: serde_json::Error| Error::bug(format!("state '{}' cannot be written: {e}", self.name)).caused_by(e);
        let (mut groups, mut hashes, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (group, entries) in &self.by_group {
            for (key, (hash, value)) in entries {
                groups.push(*group);
                hashes.push(*hash);
                keys.push(serde_json::to_vec(key).map_err(json)?);
                values.push(serde_json::to_vec(value).map_err(json)?);
            }
        }
        let binary = |all: &[Vec<u8>]| Arc::new(BinaryArray::from_iter_values(all)) as ArrayRef;
        let columns = [Arc::new(UInt64Array::from(hashes)) as ArrayRef, binary(&keys), binary(&values)];
        into.put_keyed(&self.name, Segment::base(&groups, &columns)?);
        Ok(())
    }

    fn of_hash(&mut self, hash: u64) -> Result<&mut Entries<K, V>> {
        let group = key_group(hash, self.group_count);
        let entries = self.by_group.get_mut(&group);
        entries.ok_or_else(|| Error::bug(format!("state '{}': key group {group} belongs to another subtask", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::routing::RoutingTable;

    use super::*;

    fn subtask(index: usize, parallelism: usize) -> SubtaskInfo {
        SubtaskInfo {
            uid: "counts".into(),
            name: "Counts".into(),
            index,
            parallelism,
            key_groups: RoutingTable::contiguous(128, parallelism).groups_of(index),
            key_group_count: 128,
        }
    }

    fn hash(key: u64) -> u64 {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    #[test]
    fn values_come_back_at_another_parallelism_to_those_who_own_their_groups() {
        let mut state: ValueState<u64, String> = ValueState::open("names", &subtask(0, 1), None).unwrap();
        for key in 0..100 {
            state.get_or_default(hash(key), key).unwrap().push_str(&format!("v{key}"));
        }
        assert_eq!(state.remove(hash(7), &7).unwrap(), Some("v7".into()));
        let mut snapshot = OperatorSnapshot::new();
        state.snapshot(&mut snapshot).unwrap();

        let mut keys: Vec<u64> = Vec::new();
        for index in 0..3 {
            let info = subtask(index, 3);
            let mine = OperatorSnapshot::redistribute(std::slice::from_ref(&snapshot), index, 3, info.key_groups.clone());
            let mut state: ValueState<u64, String> = ValueState::open("names", &info, Some(&mine)).unwrap();
            let here: Vec<u64> = state.iter().map(|(k, _)| *k).collect();
            for key in &here {
                assert_eq!(state.get(hash(*key), key).unwrap(), Some(&mut format!("v{key}")));
            }
            assert!(here.len() < 99);
            keys.extend(here);
        }
        keys.sort_unstable();
        assert_eq!(keys, (0..100).filter(|k| *k != 7).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_of_another_subtask_is_refused() {
        let mut state: ValueState<u64, u64> = ValueState::open("n", &subtask(1, 2), None).unwrap();
        assert!(state.get(0, &0).unwrap_err().to_string().contains("key group 0 belongs to another subtask"));
    }
}
