//! One value for each key, into which others are folded.

use std::fmt;

use rheos_core::Result;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;

use super::descriptor::{Expiring, StateDescriptor};
use super::header::{Kind, Shape};
use super::scope::{StateKey, StateValue};
use super::ttl::TimeDomain;
use super::value::ValueState;

/// For each key what `F`, a `Fn(&mut V, V)`, made of the values that were added.
///
/// ```
/// # use rheos_core::{operator::SubtaskInfo, routing::KeyGroups};
/// # use rheos_state::typed::{ReducingState, StateDescriptor};
/// # fn main() -> rheos_core::Result<()> {
/// # let subtask = SubtaskInfo {
/// #     job: String::new(), uid: "m".into(), name: "m".into(), index: 0, parallelism: 1, key_groups: KeyGroups::all(128), key_group_count: 128,
/// # };
/// # let hash = 7;
/// let keep_highest = |kept: &mut u64, value: u64| *kept = value.max(*kept);
/// let mut highest = ReducingState::open(&StateDescriptor::new("highest"), keep_highest, &subtask, None)?;
/// highest.add(hash, &"a".to_string(), 3)?;
/// highest.add(hash, &"a".to_string(), 2)?;
/// assert_eq!(highest.get(hash, &"a".to_string())?, Some(&3));
/// # Ok(())
/// # }
/// ```
pub struct ReducingState<K, V, F> {
    values: ValueState<K, V>,
    reduce: F,
}

impl<K, V, F> Expiring for ReducingState<K, V, F> {}

impl<K: StateKey, V: StateValue, F: Fn(&mut V, V)> ReducingState<K, V, F> {
    /// The state of a subtask, with what a snapshot holds of it.
    pub fn open(descriptor: &StateDescriptor<Self>, reduce: F, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let shape = Shape { kind: Kind::Reducing, type_name: std::any::type_name::<Self>() };
        let values = ValueState::open_as(shape, descriptor.name(), descriptor.ttl(), subtask, restored)?;
        Ok(ReducingState { values, reduce })
    }

    /// Folds a value into that of a key, or makes it that.
    #[inline]
    pub fn add(&mut self, hash: u64, key: &K, value: V) -> Result<()> {
        self.values.upsert(hash, key, value, &self.reduce)
    }

    /// What the values of a key have become.
    pub fn get(&mut self, hash: u64, key: &K) -> Result<Option<&V>> {
        self.values.get(hash, key)
    }

    /// Forgets a key. Returns what its values had become.
    pub fn remove(&mut self, hash: u64, key: &K) -> Result<Option<V>> {
        self.values.remove(hash, key)
    }

    /// As [`ValueState::len`].
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// As [`ValueState::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// As [`ValueState::iter`].
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.values.iter()
    }

    /// As [`ValueState::advance`].
    pub fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
        self.values.advance(domain, now_ms);
    }

    /// As [`ValueState::snapshot`].
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        self.values.snapshot(mode, into)
    }
}

impl<K: fmt::Debug, V: fmt::Debug, F> fmt::Debug for ReducingState<K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReducingState").field("values", &self.values).finish_non_exhaustive()
    }
}
