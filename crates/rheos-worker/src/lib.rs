//! Runs a task graph: each subtask is a chain of operators driven by one asynchronous task.
//!
//! A row's way through a worker:
//! 1. [`LocalJob::start`] makes the instances that the [`rheos_graph::TaskGraph`] asks for, joins them with channels
//!    (`wiring`), and runs each subtask on a [`TaskPool`].
//! 2. A source task (`source_task`) asks its reader for batches and finds the watermarks that follow from them
//!    (`split_watermarks`); an inbox task (`inbox_task`) takes elements from its inbox and merges the watermarks of its channels.
//! 3. The element goes through the chain (`chain`), call by call, so that what comes out never piles up.
//! 4. What comes out goes to the outbox (`output`), or into the sink at the end of the chain.
//! 5. When all subtasks of a bounded job have ended, what the sinks prepared is committed (`supervise`), and only then has
//!    the job finished.
//!
//! Every task accounts for its time: reading, processing, splitting, waiting for input, waiting for output; what each has
//! done is seen with [`JobHandle::metrics`].
//!
//! This crate knows nothing of SQL and no operator by name, and it decides nothing about jobs: where they run, when they are
//! snapshot, whether they are restarted is said by whoever starts them.

mod align;
mod chain;
mod env;
mod inbox_task;
mod job;
mod metrics;
mod options;
mod output;
mod pool;
mod source_task;
mod split_watermarks;
mod subtask;
mod supervise;
mod wiring;

pub use align::{SnapshotHook, SubtaskSnapshot};
pub use env::system_env;
pub use job::{JobEnd, JobHandle, LocalJob};
pub use metrics::{JobMetrics, OperatorReport, TaskReport};
pub use options::{FINAL_EPOCH, RuntimeOptions};
pub use pool::TaskPool;

#[cfg(test)]
mod tests;
