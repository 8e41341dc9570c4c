//! One value for each key, kept by key group.

use std::hash::Hash;

use hashbrown::HashMap;
use rheos_core::key_group::{KeyGroup, key_group};
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value of type `V` for each key of type `K`, for the keys whose groups this subtask owns. Keys come with their hash, the
/// one by which the rows were routed here.
#[derive(Debug)]
pub struct ValueState<K, V> {
    name: String,
    group_count: u32,
    first: KeyGroup,
    by_group: Vec<HashMap<K, V, foldhash::fast::RandomState>>,
}

impl<K: Eq + Hash + Serialize + DeserializeOwned, V: Serialize + DeserializeOwned> ValueState<K, V> {
    /// The state `name` of a subtask, with what a snapshot holds of it.
    pub fn open(name: &str, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let owned = subtask.key_groups;
        let by_group = (owned.start..owned.end).map(|_| HashMap::default()).collect();
        let mut state = ValueState { name: name.to_string(), group_count: subtask.key_group_count, first: owned.start, by_group };
        for (group, bytes) in restored.into_iter().flat_map(|s| s.keyed(name)) {
            let entries: Vec<(K, V)> = serde_json::from_slice(bytes)
                .map_err(|e| Error::corrupt(format!("state '{name}', key group {group}: {e}")).caused_by(e))?;
            state.of_group(group)?.extend(entries);
        }
        Ok(state)
    }

    /// The value of a key.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<Option<&mut V>> {
        Ok(self.of_hash(hash)?.get_mut(key))
    }

    /// The value of a key, which begins with `V`'s default.
    pub fn get_or_default(&mut self, hash: u64, key: K) -> Result<&mut V>
    where
        V: Default,
    {
        Ok(self.of_hash(hash)?.entry(key).or_default())
    }

    /// Forgets a key.
    pub fn remove(&mut self, hash: u64, key: &K) -> Result<Option<V>> {
        Ok(self.of_hash(hash)?.remove(key))
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.by_group.iter().map(HashMap::len).sum()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All keys and their values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_group.iter().flatten()
    }

    /// Writes the state into an operator's snapshot: for each key group a JSON list of keys and values.
    pub fn snapshot(&self, into: &mut OperatorSnapshot) -> Result<()> {
        for (group, entries) in (self.first..).zip(&self.by_group) {
            if !entries.is_empty() {
                let bytes = serde_json::to_vec(&entries.iter().collect::<Vec<_>>())
                    .map_err(|e| Error::bug(format!("state '{}' cannot be written: {e}", self.name)).caused_by(e))?;
                into.put_keyed(&self.name, group, bytes);
            }
        }
        Ok(())
    }

    fn of_hash(&mut self, hash: u64) -> Result<&mut HashMap<K, V, foldhash::fast::RandomState>> {
        self.of_group(key_group(hash, self.group_count))
    }

    fn of_group(&mut self, group: KeyGroup) -> Result<&mut HashMap<K, V, foldhash::fast::RandomState>> {
        let ValueState { name, first, by_group, .. } = self;
        let slot = group.checked_sub(*first).and_then(|i| by_group.get_mut(usize::from(i)));
        slot.ok_or_else(|| Error::bug(format!("state '{name}': key group {group} belongs to another subtask")))
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::key_group::KeyGroupRange;

    use super::*;

    fn subtask(index: usize, parallelism: usize) -> SubtaskInfo {
        SubtaskInfo {
            uid: "counts".into(),
            name: "Counts".into(),
            index,
            parallelism,
            key_groups: KeyGroupRange::of_subtask(128, index, parallelism),
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
            let mine = OperatorSnapshot::redistribute(std::slice::from_ref(&snapshot), index, 3, info.key_groups);
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
