//! What the subtasks of a job tell whoever runs it.

use rheos_core::Error;
use rheos_core::element::Barrier;
use tokio::sync::mpsc;

use crate::part::TakenPart;

/// Something that happened to a subtask.
#[derive(Debug)]
pub enum TaskEvent {
    /// It has taken its part of a snapshot; nothing of it is stored yet.
    Taken {
        /// The barrier of the snapshot.
        barrier: Barrier,
        /// The part.
        part: Box<TakenPart>,
    },
    /// It has taken in all its input; this is its last part.
    Ended {
        /// The part.
        part: Box<TakenPart>,
    },
    /// It could not go on. What other subtasks say of it (that their peer is gone) is not told.
    Failed {
        /// Why.
        error: Error,
    },
    /// All subtasks have ended in one way or another, and all that they had is closed.
    Stopped,
}

/// Where subtasks put their events.
pub(crate) type Reports = mpsc::UnboundedSender<TaskEvent>;

/// Tells an event. Nobody may listen any more.
pub(crate) fn tell(reports: &Reports, event: TaskEvent) {
    drop(reports.send(event));
}
