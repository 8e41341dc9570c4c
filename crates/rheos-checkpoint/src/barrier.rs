//! The cut of a snapshot as subtasks see it, and the kinds of snapshots.

use rheos_core::element::Epoch;
use rheos_core::time::TimestampMs;
use serde::{Deserialize, Serialize};

/// The cut of one snapshot in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// Which snapshot.
    pub epoch: Epoch,
    /// From this moment on (milliseconds since the epoch of time) the barrier may overtake rows; `None`: never.
    pub overtake_from_ms: Option<TimestampMs>,
    /// What the snapshot is for. Later snapshots must not build on the files of a savepoint, which stands for itself.
    pub kind: CheckpointKind,
    /// Whether state is to be written whole, without deltas over files of earlier snapshots. A savepoint always is.
    pub full: bool,
}

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
