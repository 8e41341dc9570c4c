//! What a job's master is told before it starts.

use serde::{Deserialize, Serialize};

use crate::manifest::{JobInfo, Manifest};
use crate::part::SubtaskId;
use crate::restart::RestartStrategy;

/// The settings of one job's master.
#[derive(Debug, Clone)]
pub struct Config {
    /// The job.
    pub job: JobInfo,
    /// The version of Rheos, for manifests.
    pub rheos: String,
    /// The job graph, for manifests.
    pub plan: serde_json::Value,
    /// Whether and how snapshots are taken; `None`: never.
    pub checkpointing: Option<Checkpointing>,
    /// What a failure may do to the output.
    pub recovery: Recovery,
    /// Whether and when a failed job starts again.
    pub restart: RestartStrategy,
    /// Where the job starts from.
    pub start: Start,
    /// A random number: by it the master knows its claim again, and jitter follows from it.
    pub nonce: u64,
}

/// How snapshots are taken. Names are those of Flink's options `execution.checkpointing.*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpointing {
    /// From one trigger to the next.
    pub interval_ms: u64,
    /// At least this long from the end of one to the trigger of the next.
    pub min_pause_ms: u64,
    /// How long the parts may take.
    pub timeout_ms: u64,
    /// How many may fail in a row before the job fails over.
    pub tolerable_failures: u32,
    /// How many are kept.
    pub retained: usize,
    /// How long after the trigger barriers may overtake rows; `None`: never, 0: at once.
    pub aligned_timeout_ms: Option<u64>,
    /// Whether there is storage. Without, snapshots live as long as the master: there are no claims and no manifests.
    pub durable: bool,
}

impl Default for Checkpointing {
    fn default() -> Self {
        Checkpointing {
            interval_ms: 10_000,
            min_pause_ms: 0,
            timeout_ms: 600_000,
            tolerable_failures: 0,
            retained: 1,
            aligned_timeout_ms: None,
            durable: true,
        }
    }
}

/// What a failure may do to the output, by the names of the literature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Recovery {
    /// Nothing: output is made visible after the snapshot that it belongs to is complete.
    #[default]
    Precise,
    /// Rows may come again, none is lost: output is made visible as soon as a subtask has prepared it.
    Rollback,
    /// Rows may be lost: after a failure the job goes on without state at the end of its input.
    Gap,
}

/// Where a job starts from.
#[derive(Debug, Clone)]
pub enum Start {
    /// Without state. What the log holds counts no more.
    Fresh,
    /// From the latest manifest of the log; without one, without state.
    Latest,
    /// From this manifest.
    From(Box<Manifest>),
}

/// A subtask of the deployed graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subtask {
    /// Which one.
    pub id: SubtaskId,
    /// Whether it reads a source, and so puts barriers in.
    pub source: bool,
    /// The connected component of the job's subtasks that it is in; they are numbered from 0, without a gap.
    pub region: usize,
}
