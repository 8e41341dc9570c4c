//! The state of one operator instance as data: rows by key group where it is keyed, items where it is not.
//!
//! Keyed state is a chain of segments: a base with all rows, then deltas, each with what changed since the segment before.
//! A row is known by its number, which stays the same along a chain: a delta replaces rows of the same number, adds others and
//! says which are gone.

mod chain;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};

pub use segment::{Segment, SegmentKind, SegmentRows};

use crate::error::Result;
use crate::routing::KeyGroups;

/// How the items of an operator state are given out when the parallelism changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// Each item to one instance (source positions).
    Split,
    /// All items to every instance.
    Union,
    /// Every instance wrote the same: each gets one copy.
    Broadcast,
}

/// Which rows a snapshot is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMode {
    /// All of them.
    Full,
    /// Those that changed since the snapshot before will do, since that one is kept. A state may give all the same.
    Changes,
}

/// Keyed states by name: a chain for each instance that wrote it.
pub type KeyedStates = BTreeMap<String, Vec<Vec<Segment>>>;

/// Operator states by name: the kind, and the items.
pub type ListStates = BTreeMap<String, (ListKind, Vec<Vec<u8>>)>;

/// What an operator instance needs to go on.
#[derive(Debug, Clone, Default)]
pub struct OperatorSnapshot {
    keyed: KeyedStates,
    lists: ListStates,
    /// The key groups whose rows are asked for; `None` means all.
    owned: Option<KeyGroups>,
}

impl OperatorSnapshot {
    /// An empty one, as a stateless operator gives.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        let segments = self.keyed.values().flatten().flatten();
        segments.map(Segment::num_rows).sum::<usize>() == 0 && self.lists.values().all(|(_, items)| items.is_empty())
    }

    /// Puts the keyed state `name` of the instance that takes the snapshot.
    pub fn put_keyed(&mut self, name: &str, segment: Segment) {
        self.put_chain(name, vec![segment]);
    }

    /// Puts what one instance wrote of the keyed state `name`, a base and the deltas after it: for a restore.
    pub fn put_chain(&mut self, name: &str, chain: Vec<Segment>) {
        self.keyed.entry(name.to_string()).or_default().push(chain);
    }

    /// Takes in the next snapshot of the same instance: a base replaces the chain of its state, a delta goes on with it, and a
    /// state that is not in it is empty.
    pub fn follow(&mut self, next: OperatorSnapshot) {
        self.lists = next.lists;
        let mut before = std::mem::take(&mut self.keyed);
        for (name, mut chains) in next.keyed {
            let goes_on = |chain: &Vec<Segment>| chain.first().is_some_and(|s| s.kind == SegmentKind::Delta);
            if chains.iter().any(goes_on) {
                let mut whole = before.remove(&name).unwrap_or_default().pop().unwrap_or_default();
                whole.extend(chains.into_iter().flatten());
                chains = vec![whole];
            }
            self.keyed.insert(name, chains);
        }
    }

    /// The keyed states, each with the chains of the instances that wrote it.
    pub fn into_parts(self) -> (KeyedStates, ListStates) {
        (self.keyed, self.lists)
    }

    /// The rows of the keyed state `name`, of the owned key groups; columns of other types than `types` are an error.
    pub fn rows(&self, name: &str, types: &[DataType]) -> Result<Vec<RecordBatch>> {
        let mut all = Vec::new();
        for chain in self.keyed.get(name).into_iter().flatten() {
            chain::live_rows(chain, self.owned.as_ref(), types, &mut all).map_err(|e| e.context(format!("state '{name}'")))?;
        }
        Ok(all)
    }

    /// Adds an item of the operator state `name`.
    pub fn put_list(&mut self, name: &str, kind: ListKind, item: Vec<u8>) {
        self.lists.entry(name.to_string()).or_insert((kind, Vec::new())).1.push(item);
    }

    /// The items of the operator state `name`.
    pub fn list(&self, name: &str) -> &[Vec<u8>] {
        self.lists.get(name).map_or(&[], |(_, items)| items.as_slice())
    }

    /// What instance `index` of `parallelism`, which owns `owned`, gets of the snapshots of all instances, at whatever parallelism
    /// those were taken: the rows of its key groups, every so-many-th split item, all union items, one copy of broadcast items.
    pub fn redistribute(all: &[OperatorSnapshot], index: usize, parallelism: usize, owned: KeyGroups) -> OperatorSnapshot {
        let mut mine = OperatorSnapshot { owned: Some(owned), ..OperatorSnapshot::default() };
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, snapshot) in all.iter().enumerate() {
            for (name, chains) in &snapshot.keyed {
                let needed = chains.iter().filter(|chain| chain.iter().any(|segment| mine.may_own(segment)));
                let needed: Vec<_> = needed.cloned().collect();
                mine.keyed.entry(name.clone()).or_default().extend(needed);
            }
            for (name, (kind, items)) in &snapshot.lists {
                let count = seen.entry(name).or_default();
                for item in items {
                    let take = match kind {
                        ListKind::Split => *count % parallelism == index,
                        ListKind::Union => true,
                        ListKind::Broadcast => i == 0,
                    };
                    if take {
                        mine.put_list(name, *kind, item.clone());
                    }
                    *count += 1;
                }
            }
        }
        mine
    }

    fn may_own(&self, segment: &Segment) -> bool {
        self.owned.as_ref().is_none_or(|owned| segment.groups.iter().any(|(group, _)| owned.contains(*group)))
    }
}
