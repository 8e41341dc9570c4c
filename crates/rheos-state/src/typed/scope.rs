//! Whose state it is: its name, and the keys that may be in it.

use rheos_core::key_group::key_group;
use rheos_core::operator::SubtaskInfo;
use rheos_core::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a key can be: anything that is equal or not, and can be stored.
pub trait StateKey: Eq + Clone + Serialize + DeserializeOwned {}

impl<K: Eq + Clone + Serialize + DeserializeOwned> StateKey for K {}

/// What a value can be: anything that can be stored.
pub trait StateValue: Serialize + DeserializeOwned {}

impl<V: Serialize + DeserializeOwned> StateValue for V {}

#[derive(Debug)]
pub(super) struct Scope {
    name: String,
    group_count: u32,
    /// By key group: whether it is this subtask's.
    owned: Box<[bool]>,
}

impl Scope {
    pub(super) fn new(name: &str, subtask: &SubtaskInfo) -> Self {
        let mut owned = vec![false; subtask.key_group_count as usize];
        subtask.key_groups.iter().for_each(|group| owned[usize::from(group)] = true);
        Scope { name: name.to_string(), group_count: subtask.key_group_count, owned: owned.into() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn group_count(&self) -> u32 {
        self.group_count
    }

    /// Refuses a key of another subtask.
    #[inline]
    pub(super) fn check(&self, hash: u64) -> Result<()> {
        let group = key_group(hash, self.group_count);
        if self.owned[usize::from(group)] { Ok(()) } else { Err(self.foreign(group)) }
    }

    #[cold]
    fn foreign(&self, group: u16) -> Error {
        Error::bug(format!("state '{}': key group {group} belongs to another subtask", self.name))
    }

    /// The same error, with the name of the state.
    pub(super) fn tell(&self, error: Error) -> Error {
        error.context(format!("state '{}'", self.name))
    }
}
