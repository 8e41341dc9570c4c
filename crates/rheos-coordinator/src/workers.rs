//! What a job's driver needs of the world: workers that run it, and somebody who wants to know how it goes.

use rheos_checkpoint::Barrier;
use rheos_checkpoint::coordinator::{Attempt, CommitId, Event, Note, Restore};
use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;
use tokio::sync::mpsc;

/// Where events for the master are put.
pub type EventSender = mpsc::UnboundedSender<Event>;

/// Runs the subtasks of a job, here or elsewhere. No call waits: what comes of it is told by events.
pub trait Workers: Send + Sync {
    /// Starts an attempt: the subtasks of a region. Every attempt is told to have stopped some time, also one that could not be started.
    /// Where a region starts without state, its sources read what they read when it was first deployed.
    fn deploy(&self, attempt: Attempt, region: usize, generation: u64, restore: Restore, events: EventSender);

    /// Puts a barrier in at the sources of an attempt; they give no rows after it where `stop` says so.
    fn trigger(&self, attempt: Attempt, barrier: Barrier, stop: bool);

    /// Tells the subtasks of an attempt that a snapshot is complete.
    fn completed(&self, attempt: Attempt, epoch: Epoch);

    /// Tells the subtasks of an attempt that a snapshot is given up.
    fn aborted(&self, attempt: Attempt, epoch: Epoch);

    /// Ends an attempt soon.
    fn cancel(&self, attempt: Attempt);

    /// Makes prepared output visible, some of which may be visible already.
    fn commit(&self, commit: CommitId, tokens: Vec<CommitToken>, events: EventSender);

    /// Throws prepared output away.
    fn abort(&self, tokens: Vec<CommitToken>);
}

/// Is told how a job goes. Calls must be short.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn note(&self, note: Note);
}
