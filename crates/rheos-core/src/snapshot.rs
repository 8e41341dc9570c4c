//! The state of one operator instance as data: by key group where it is keyed, item by item where it is not.

use std::collections::BTreeMap;

use crate::key_group::{KeyGroup, KeyGroupRange};

/// How the items of an operator state are given out when the parallelism changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Each item to one instance (source positions).
    Split,
    /// All items to every instance.
    Union,
    /// Every instance wrote the same: each gets one copy.
    Broadcast,
}

/// What an operator instance needs to go on. The bytes are of the operator's own encoding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorSnapshot {
    /// Keyed state: state name, then key group.
    keyed: BTreeMap<String, BTreeMap<KeyGroup, Vec<u8>>>,
    /// Operator state: state name, then its items.
    lists: BTreeMap<String, (u8, Vec<Vec<u8>>)>,
}

impl OperatorSnapshot {
    /// An empty one, as a stateless operator gives.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.keyed.values().all(BTreeMap::is_empty) && self.lists.values().all(|(_, l)| l.is_empty())
    }

    /// Puts the bytes of one key group of the state `name`.
    pub fn put_keyed(&mut self, name: &str, group: KeyGroup, bytes: Vec<u8>) {
        self.keyed.entry(name.to_string()).or_default().insert(group, bytes);
    }

    /// The key groups of the state `name`, with their bytes.
    pub fn keyed(&self, name: &str) -> impl Iterator<Item = (KeyGroup, &[u8])> {
        self.keyed.get(name).into_iter().flatten().map(|(g, b)| (*g, b.as_slice()))
    }

    /// Adds an item of the operator state `name`.
    pub fn put_list(&mut self, name: &str, kind: ListKind, item: Vec<u8>) {
        self.lists.entry(name.to_string()).or_insert((kind as u8, Vec::new())).1.push(item);
    }

    /// The items of the operator state `name`.
    pub fn list(&self, name: &str) -> &[Vec<u8>] {
        self.lists.get(name).map_or(&[], |(_, l)| l.as_slice())
    }

    /// What instance `index` of `parallelism` gets of the snapshots of all instances, at whatever parallelism those were
    /// taken: its key groups, every so-many-th split item, all union items, one copy of broadcast items.
    pub fn redistribute(all: &[OperatorSnapshot], index: usize, parallelism: usize, groups: KeyGroupRange) -> OperatorSnapshot {
        let mut mine = OperatorSnapshot::new();
        for snapshot in all {
            for (name, by_group) in &snapshot.keyed {
                for (group, bytes) in by_group.range(groups.start..groups.end) {
                    mine.put_keyed(name, *group, bytes.clone());
                }
            }
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for snapshot in all {
            for (name, (kind, items)) in &snapshot.lists {
                let count = seen.entry(name).or_default();
                for item in items {
                    let take = match *kind {
                        k if k == ListKind::Split as u8 => *count % parallelism == index,
                        k if k == ListKind::Union as u8 => true,
                        _ => std::ptr::eq(snapshot, &all[0]),
                    };
                    if take {
                        mine.lists.entry(name.clone()).or_insert((*kind, Vec::new())).1.push(item.clone());
                    }
                    *count += 1;
                }
            }
        }
        mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_goes_where_its_kind_says() {
        let mut a = OperatorSnapshot::new();
        a.put_keyed("counts", 1, vec![1]);
        a.put_keyed("counts", 100, vec![100]);
        a.put_list("positions", ListKind::Split, vec![0]);
        a.put_list("rules", ListKind::Broadcast, vec![7]);
        let mut b = OperatorSnapshot::new();
        b.put_keyed("counts", 70, vec![70]);
        b.put_list("positions", ListKind::Split, vec![1]);
        b.put_list("rules", ListKind::Broadcast, vec![7]);
        b.put_list("all", ListKind::Union, vec![9]);
        let all = [a, b];
        let second = OperatorSnapshot::redistribute(&all, 1, 2, KeyGroupRange { start: 64, end: 128 });
        assert_eq!(second.keyed("counts").map(|(g, _)| g).collect::<Vec<_>>(), vec![70, 100]);
        assert_eq!(second.list("positions"), &[vec![1]]);
        assert_eq!(second.list("rules"), &[vec![7]]);
        assert_eq!(second.list("all"), &[vec![9]]);
    }
}
