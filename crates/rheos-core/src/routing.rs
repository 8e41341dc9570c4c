//! From key group to subtask: a table, so that groups can be moved one by one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::key_group::KeyGroup;

/// Which subtask of an operator owns which key group. Tables of one operator are told apart by their versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingTable {
    /// Rises with every change.
    pub version: u64,
    /// By key group: the owner.
    owners: Arc<[u32]>,
}

impl RoutingTable {
    /// Contiguous ranges of like size: `owner = group * parallelism / groups`. What an operator begins with.
    pub fn contiguous(groups: u32, parallelism: usize) -> Self {
        let owner = |group: u32| (group as usize * parallelism / groups as usize) as u32;
        RoutingTable { version: 1, owners: (0..groups).map(owner).collect() }
    }

    /// How many key groups there are.
    pub fn groups(&self) -> u32 {
        self.owners.len() as u32
    }

    /// The subtask that owns a group.
    #[inline]
    pub fn owner(&self, group: KeyGroup) -> u32 {
        self.owners[usize::from(group)]
    }

    /// The groups of a subtask.
    pub fn groups_of(&self, subtask: usize) -> KeyGroups {
        let owned = self.owners.iter().enumerate().filter(|(_, owner)| **owner as usize == subtask);
        KeyGroups(owned.map(|(group, _)| group as KeyGroup).collect())
    }
}

/// A set of key groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyGroups(Arc<[KeyGroup]>);

impl KeyGroups {
    /// All groups of a job that has `groups` of them.
    pub fn all(groups: u32) -> Self {
        KeyGroups((0..groups).map(|g| g as KeyGroup).collect())
    }

    /// Whether `group` is one of them.
    pub fn contains(&self, group: KeyGroup) -> bool {
        self.0.binary_search(&group).is_ok()
    }

    /// The groups, ascending.
    pub fn iter(&self) -> impl Iterator<Item = KeyGroup> {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_one_owner_and_owners_have_like_many() {
        for (groups, parallelism) in [(128, 1), (128, 3), (128, 128), (30_000, 7), (4, 9)] {
            let table = RoutingTable::contiguous(groups, parallelism);
            let mut all: Vec<KeyGroup> = (0..parallelism).flat_map(|i| table.groups_of(i).iter().collect::<Vec<_>>()).collect();
            let sizes: Vec<usize> = (0..parallelism).map(|i| table.groups_of(i).len()).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
            all.sort_unstable();
            assert_eq!(all, (0..groups).map(|g| g as KeyGroup).collect::<Vec<_>>());
        }
    }
}
