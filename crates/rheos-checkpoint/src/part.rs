//! What a subtask hands over for one snapshot, and how the parts of all subtasks become the operators of a manifest.

use std::collections::BTreeMap;

use rheos_core::sink::CommitToken;
use serde::{Deserialize, Serialize};

use crate::manifest::{OperatorState, SubtaskState};

/// One parallel instance of a task: the task's number and the instance's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SubtaskId {
    /// The task.
    pub task: usize,
    /// The instance.
    pub index: usize,
}

impl std::fmt::Display for SubtaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.task, self.index)
    }
}

/// The part of one subtask.
///
/// Files: a part may name new files and those that the same subtask named in its part of the checkpoint right before, completed
/// or not (savepoints do not count), or, if there was none, of the manifest that it was restored from. Older ones may have been
/// deleted meanwhile. It names new ones alone where the barrier says `full`.
///
/// Tokens are cumulative: a subtask repeats what it prepared for earlier snapshots until it is told that one of them, or a
/// later one, is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubtaskPart {
    /// Whose part it is.
    pub subtask: SubtaskId,
    /// The state of each operator of the chain.
    pub operators: Vec<OperatorPart>,
    /// What the sinks prepared and do not know to be complete.
    pub tokens: Vec<CommitToken>,
    /// How taking it went.
    pub stats: PartStats,
}

/// The state of one operator instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorPart {
    /// The operator's stable id.
    pub uid: String,
    /// Its name for people.
    pub name: String,
    /// How many instances it has.
    pub parallelism: usize,
    /// The state.
    pub state: SubtaskState,
}

/// How taking a part went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartStats {
    /// From the first barrier to the cut.
    pub alignment_ms: u64,
    /// How long rows waited while state was frozen.
    pub freeze_ms: u64,
    /// From the cut until everything was stored.
    pub upload_ms: u64,
    /// Whether the barrier overtook rows.
    pub overtaken: bool,
}

/// The operators of a manifest. Parts of `ended` subtasks are marked as finished.
pub fn assemble<'a>(parts: impl IntoIterator<Item = (&'a SubtaskPart, bool)>) -> BTreeMap<String, OperatorState> {
    let mut operators: BTreeMap<String, OperatorState> = BTreeMap::new();
    for (part, ended) in parts {
        for operator in &part.operators {
            let all = operators.entry(operator.uid.clone()).or_default();
            all.name.clone_from(&operator.name);
            all.parallelism = operator.parallelism;
            let state = SubtaskState { finished: ended || operator.state.finished, ..operator.state.clone() };
            all.subtasks.insert(part.subtask.index, state);
        }
    }
    operators
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_gathered_by_operator_and_index() {
        let part = |task, index, uids: &[&str]| SubtaskPart {
            subtask: SubtaskId { task, index },
            operators: uids
                .iter()
                .map(|uid| OperatorPart { uid: uid.to_string(), name: uid.to_uppercase(), parallelism: 2, state: SubtaskState::default() })
                .collect(),
            tokens: Vec::new(),
            stats: PartStats::default(),
        };
        let parts = [(part(0, 0, &["a", "b"]), true), (part(0, 1, &["a", "b"]), false), (part(1, 0, &["c"]), false)];
        let operators = assemble(parts.iter().map(|(p, ended)| (p, *ended)));
        assert_eq!(operators.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((operators["b"].name.as_str(), operators["b"].parallelism), ("B", 2));
        assert!(operators["a"].subtasks[&0].finished && !operators["a"].subtasks[&1].finished);
    }
}
