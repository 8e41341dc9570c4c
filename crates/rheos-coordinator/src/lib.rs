//! Runs jobs: carries out what their [`rheos_checkpoint::coordinator::JobMaster`] decides.
//!
//! The master is a state machine without clock, thread or socket. Here is what it lacks: [`run`] gives it the time and what
//! workers and storage say, and does what it wants: requests to storage, commands to [`Workers`], notes for people
//! ([`Observer`]). In one process the workers are that process; in a cluster they are sessions of [`Cluster`], which keeps jobs,
//! places them on workers, and shows them to people ([`Cluster::rest`]).
//!
//! This crate knows no operator, no connector, no SQL, and no worker but by the trait and by messages.

mod analysis;
mod cluster;
mod driver;
mod rest;
mod storage;
mod workers;

pub use analysis::{Bottleneck, OperatorRate, SubtaskRates, TaskRates, bottleneck, rates};
pub use cluster::{
    Assembly, CheckpointInfo, Cluster, ClusterOptions, JobSettings, LogLine, PlanError, PlannedJob, Planner, RequestError, Submission,
    WorkerInfo, subtasks,
};
pub use driver::{Request, run};
pub use rest::{VISIBLE_RESULTS, single, task_metrics};
pub use rheos_checkpoint::coordinator::Note;
pub use workers::{EventSender, Observer, Workers};
