//! The cut of a snapshot as subtasks see it, and the kinds of snapshots.

pub use rheos_core::element::Barrier;
use serde::{Deserialize, Serialize};

/// What a snapshot was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// For recovery; the last few are kept.
    Checkpoint,
    /// Asked for by somebody, aligned and whole; kept until somebody deletes it.
    Savepoint,
    /// Taken when all subtasks had ended: there is nothing to go on with, only tokens to commit.
    Final,
}
