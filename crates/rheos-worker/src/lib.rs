//! Runs a task graph: each subtask is a chain of operators driven by one asynchronous task.
//!
//! A row's way through a worker:
//! 1. [`PreparedJob`] makes the instances that the [`rheos_graph::TaskGraph`] asks for, joins them with channels
//!    (`wiring`), and runs each subtask on a [`TaskPool`].
//! 2. A source task (`source_task`) asks its reader for batches and finds the watermarks that follow from them
//!    (`split_watermarks`); an inbox task (`inbox_task`) takes elements from its inbox and merges the watermarks of its channels.
//! 3. The element goes through the chain (`chain`), call by call, so that what comes out never piles up.
//! 4. What comes out goes to the outbox (`output`), or into the sink at the end of the chain.
//! 5. A barrier goes the same way: at each subtask `rheos_checkpoint`'s alignment says when state is taken (`part`); what is taken
//!    is stored in the background (`store`), and read again when the job is restored (`restore`).
//! 6. What the sinks prepared becomes visible when whoever runs the job says so (`commit`, `publisher`).
//!
//! [`JobRunner`] does all this for one job, attempt after attempt. Which subtasks run here, and how rows reach those elsewhere, is
//! said by a [`Share`]. [`process`] is a worker of a cluster.
//!
//! Every task accounts for its time: reading, processing, splitting, waiting for input, waiting for output; what each has
//! done is seen with [`JobHandle::metrics`].
//!
//! This crate knows nothing of SQL and no operator by name, and it decides nothing about jobs: where they run, when they are
//! snapshot, whether they are restarted is said by whoever starts them.

mod chain;
mod channels;
mod commit;
mod control;
mod env;
mod inbox_task;
mod job;
mod load;
mod metrics;
mod options;
mod output;
mod part;
mod pool;
pub mod process;
mod publisher;
mod report;
mod restore;
mod runner;
mod share;
mod snapshots;
mod source_task;
mod split_watermarks;
mod splits;
mod store;
mod storing;
mod subtask;
mod urgency;
mod wiring;

pub use commit::Committers;
pub use env::system_env;
pub use job::{Blueprint, JobHandle, PreparedJob};
pub use load::load;
pub use options::RuntimeOptions;
pub use part::{InFlightRows, TakenPart};
pub use pool::TaskPool;
pub use report::TaskEvent;
pub use restore::{Beginning, RestoredRows, RestoredState};
pub use runner::{Deployment, EventSender, JobParts, JobRunner, OpenStorage};
pub use share::{Share, Spread};
pub use splits::{Splits, find_splits};
pub use store::{PartStore, Stored};

#[cfg(test)]
mod tests;
