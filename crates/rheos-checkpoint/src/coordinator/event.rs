//! What a job's master is told, and what it wants done.

use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;

use crate::barrier::Barrier;
use crate::coordinator::note::Note;
use crate::manifest::Manifest;
use crate::part::{SubtaskId, SubtaskPart};

/// The number of a deployment of a region, rising by one over all regions within a generation.
pub type Attempt = u64;
/// The number of a request to storage.
pub type OpId = u64;
/// The number of a commit.
pub type CommitId = u64;

/// Something that happened. Those of an attempt that is not the current one of its region are passed over; any may come twice.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Time has passed; also the first event of all.
    Tick,
    /// A request to storage has an outcome. Every request must get one.
    Storage {
        /// Which.
        op: OpId,
        /// How it ended.
        outcome: StorageOutcome,
    },
    /// All subtasks of the attempt run.
    Deployed {
        /// The attempt.
        attempt: Attempt,
    },
    /// A subtask's part is stored.
    Ack {
        /// The attempt.
        attempt: Attempt,
        /// Which snapshot.
        epoch: Epoch,
        /// The part.
        part: SubtaskPart,
    },
    /// A subtask cannot give its part.
    Declined {
        /// The attempt.
        attempt: Attempt,
        /// Which snapshot.
        epoch: Epoch,
        /// The subtask.
        subtask: SubtaskId,
        /// Why.
        reason: String,
    },
    /// A subtask has ended: its last part counts for every snapshot whose barrier it has not passed on, also for one under way.
    /// (For one whose barrier it did pass on only its acknowledgement counts, which may come later than this.)
    Ended {
        /// The attempt.
        attempt: Attempt,
        /// The last snapshot for which it took state and passed the barrier on; 0 if there was none.
        after: Epoch,
        /// The last part.
        part: SubtaskPart,
    },
    /// The attempt cannot go on.
    Failed {
        /// The attempt.
        attempt: Attempt,
        /// Why.
        message: String,
        /// Whether another attempt may help.
        restartable: bool,
    },
    /// Nothing of the attempt runs any more.
    Stopped {
        /// The attempt.
        attempt: Attempt,
    },
    /// A commit has ended. Every commit must.
    CommitDone {
        /// Which.
        commit: CommitId,
        /// How.
        outcome: Result<(), CommitError>,
    },
    /// Somebody wants a savepoint.
    SavepointRequested,
    /// Somebody wants the job to stop: with a savepoint, or at once.
    StopRequested {
        /// With a savepoint.
        savepoint: bool,
    },
}

/// Why a commit failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitError {
    /// The reason.
    pub message: String,
    /// Whether it may succeed later.
    pub restartable: bool,
}

/// A request to storage. Names are relative to the job's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageOp {
    /// The names that begin with this.
    List(String),
    /// The content of a file.
    Get(String),
    /// Creates a file, if there is none of this name.
    PutIfAbsent(String, Vec<u8>),
    /// Writes over a file.
    Replace(String, Vec<u8>),
    /// Deletes a file. One that is not there is as good as deleted.
    Delete(String),
}

/// The outcome of a request to storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageOutcome {
    /// The names, full ones as in the other requests.
    Names(Vec<String>),
    /// The content.
    Content(Vec<u8>),
    /// There is no such file.
    NotFound,
    /// There is such a file already.
    AlreadyExists,
    /// Created, replaced or deleted.
    Done,
    /// Not known: it may have had its effect, and may still have it later.
    Failed(String),
}

/// What an attempt starts from.
#[derive(Debug, Clone, PartialEq)]
pub enum Restore {
    /// Without state.
    Fresh,
    /// With the state of a snapshot. Subtasks that had ended are deployed too, and report so at once.
    From(Arc<Manifest>),
    /// Without state, and with sources that skip what their input holds by now.
    EndOfInput,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Ask storage.
    Storage {
        /// The number by which the outcome is told.
        op: OpId,
        /// What.
        request: StorageOp,
    },
    /// Deploy a region, at once.
    Deploy {
        /// The number of the attempt.
        attempt: Attempt,
        /// The region: the subtasks that say that they are of it.
        region: usize,
        /// The generation, for the names of files; 0 without storage.
        generation: u64,
        /// What it starts from.
        restore: Restore,
    },
    /// Put a barrier in at the sources of an attempt that have not ended. Every attempt that runs gets the same barrier.
    Trigger {
        /// The attempt.
        attempt: Attempt,
        /// The barrier.
        barrier: Barrier,
        /// Whether sources give nothing after the barrier.
        stop: bool,
    },
    /// Tell all subtasks of an attempt that a snapshot is complete.
    Completed {
        /// The attempt.
        attempt: Attempt,
        /// Which snapshot.
        epoch: Epoch,
    },
    /// Tell all subtasks of an attempt that a snapshot is given up.
    Aborted {
        /// The attempt.
        attempt: Attempt,
        /// Which snapshot.
        epoch: Epoch,
    },
    /// Stop whatever runs of an attempt.
    Cancel {
        /// The attempt.
        attempt: Attempt,
    },
    /// Make prepared output visible; some of it may be visible already.
    Commit {
        /// The number by which the outcome is told.
        commit: CommitId,
        /// What.
        tokens: Vec<CommitToken>,
    },
    /// Throw prepared output away: it never was and never will be committed. Needs no answer.
    Abort {
        /// What.
        tokens: Vec<CommitToken>,
    },
    /// The job is over, and so is the master.
    Ended(JobEnd),
    /// Tell people.
    Note(Note),
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// All input was read, all output is visible.
    Finished,
    /// Somebody stopped it.
    Cancelled,
    /// Somebody stopped it with a savepoint.
    Stopped {
        /// The savepoint.
        savepoint: Epoch,
    },
    /// It failed for good.
    Failed {
        /// Why.
        message: String,
    },
    /// Another coordinator has taken the job over.
    Fenced,
}
