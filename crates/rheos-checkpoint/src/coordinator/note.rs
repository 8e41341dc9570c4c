//! What people want to know of a job.

use rheos_core::element::Epoch;

use crate::barrier::CheckpointKind;

/// Something that people want to know of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Attempts are deployed; from which snapshot they go on. Said by whoever carries the actions out.
    Running {
        /// The snapshot.
        from: Option<Epoch>,
    },
    /// The job will start again, or one of its regions.
    Restarting {
        /// Why.
        reason: String,
        /// After how long.
        delay_ms: u64,
        /// From which snapshot, as far as is known now.
        from: Option<Epoch>,
        /// Which region, if it restarts alone.
        region: Option<usize>,
    },
    /// A snapshot is complete.
    CheckpointDone {
        /// Which.
        epoch: Epoch,
        /// How it went.
        stats: CheckpointStats,
    },
    /// A snapshot failed.
    CheckpointFailed {
        /// Which; 0 if it did not come that far.
        epoch: Epoch,
        /// Why.
        reason: String,
    },
}

/// How a snapshot went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointStats {
    /// What it was for.
    pub kind: CheckpointKind,
    /// From the trigger until it was complete.
    pub duration_ms: u64,
    /// The bytes of its state.
    pub bytes: u64,
    /// The bytes of files that the snapshot before did not name.
    pub new_bytes: u64,
    /// Rows that barriers overtook.
    pub in_flight_rows: u64,
    /// The longest alignment of a subtask.
    pub alignment_ms: u64,
    /// The longest upload of a subtask.
    pub upload_ms: u64,
}
