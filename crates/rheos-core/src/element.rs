//! The four kinds of things that flow between operators.

use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::time::{TimestampMs, Watermark};

/// The number of a snapshot, rising by one.
pub type Epoch = u64;

/// What a channel carries. Their legal order is written down in [`crate::grammar`].
#[derive(Debug, Clone)]
pub enum Element {
    /// Rows.
    Batch(Batch),
    /// Progress of event time, or idleness.
    Watermark(Watermark),
    /// The cut of a snapshot: rows before it belong to the snapshot, rows after it do not.
    Barrier(Barrier),
    /// Nothing follows.
    End,
}

/// What a snapshot is taken for.
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

/// The cut of one snapshot in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barrier {
    /// Which snapshot.
    pub epoch: Epoch,
    /// From this moment on, in milliseconds since the epoch, the barrier may overtake rows, which then become part of the snapshot;
    /// `None`: never.
    pub overtake_from_ms: Option<TimestampMs>,
    /// What the snapshot is for. Later ones must not build on the files of a savepoint: somebody may delete it.
    pub kind: CheckpointKind,
    /// Whether every state is to be whole in the snapshot, without reference to one before. In a savepoint it always is.
    pub full: bool,
}

impl Barrier {
    /// A barrier that never overtakes.
    pub fn aligned(epoch: Epoch) -> Self {
        Barrier { epoch, overtake_from_ms: None, kind: CheckpointKind::Checkpoint, full: false }
    }

    /// Whether it may overtake rows now.
    pub fn may_overtake(&self, now_ms: TimestampMs) -> bool {
        self.overtake_from_ms.is_some_and(|from| from <= now_ms)
    }
}
