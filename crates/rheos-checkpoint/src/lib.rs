//! The checkpoint protocol of Rheos, pure: events in, decisions out. No I/O, no clock, no thread.
//!
//! 1. [`coordinator::JobMaster`] claims the job in the [`log`], has it deployed, and triggers a snapshot: a
//!    [`barrier::Barrier`] with an epoch, put in by the sources.
//! 2. At each subtask an [`alignment::Alignment`] says which inputs wait, when state is taken, and which rows are recorded.
//! 3. The subtask stores its state in files and hands over a [`part::SubtaskPart`].
//! 4. When all parts have come, the master appends a [`manifest::Manifest`] to the log: now the snapshot is complete.
//! 5. Only then what the sinks prepared is committed, once in effect: again after every recovery.
//! 6. Old manifests and the files that only they name are deleted ([`log::Retained`]).
//! 7. When something fails, a [`restart::RestartStrategy`] says when what is connected with it starts again from the latest manifest.
//!
//! Everything here is deterministic, so that a simulation can run it by seed (`sim/`).

pub mod alignment;
pub mod barrier;
pub mod coordinator;
pub mod data;
pub mod log;
pub mod manifest;
pub mod part;
pub mod restart;
#[cfg(test)]
mod testing;

pub use alignment::{Alignment, Step};
pub use barrier::{Barrier, CheckpointKind};
pub use coordinator::JobMaster;
pub use data::{Bytes, DataHandle, SegmentHandle, SegmentKind};
pub use manifest::{InFlight, JobInfo, ListState, Manifest, OperatorState, SubtaskState};
pub use part::{OperatorPart, PartStats, SubtaskId, SubtaskPart};
pub use restart::RestartStrategy;
