//! Jobs as answers show them.

use rheos_core::time::TimestampMs;
use serde::Serialize;
use utoipa::ToSchema;

use crate::analysis::{Bottleneck, TaskRates, bottleneck, rates};
use crate::cluster::{CheckpointInfo, Cluster, ClusterJob};

/// A job in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobSummary {
    /// Its id.
    id: String,
    /// Its name for people.
    name: String,
    /// STARTING, WAITING (for slots), RUNNING, RESTARTING, FINISHED, STOPPED, CANCELED or FAILED.
    state: &'static str,
    /// What it waits for, why it failed, or the savepoint it was stopped with.
    detail: Option<String>,
    /// When it was submitted, in milliseconds since the epoch.
    submitted_ms: TimestampMs,
    /// When it ended.
    ended_ms: Option<TimestampMs>,
    /// How often it was started again since the coordinator took it over.
    restarts: u64,
    /// How many slots it takes.
    slots: usize,
}

/// A job in detail.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobDetails {
    #[serde(flatten)]
    summary: JobSummary,
    /// Why it failed.
    failure: Option<String>,
    /// The folder of its snapshots.
    snapshots: String,
    /// How they go.
    checkpoints: CheckpointInfo,
    /// Whether it gives rows to whoever asks.
    has_results: bool,
    /// What its tasks do, over the last seconds.
    tasks: Vec<TaskRates>,
    /// What holds it back, if anything does.
    bottleneck: Option<Bottleneck>,
    /// The script.
    sql: String,
}

pub(crate) fn summary(job: &ClusterJob) -> JobSummary {
    let (state, detail) = job.standing();
    JobSummary {
        id: job.record.id.clone(),
        name: job.record.name.clone(),
        state,
        detail,
        submitted_ms: job.record.submitted_ms,
        ended_ms: job.ending().map(|ending| ending.at_ms),
        restarts: job.restarts(),
        slots: job.slots(),
    }
}

pub(crate) fn details(cluster: &Cluster, job: &ClusterJob) -> JobDetails {
    let summary = summary(job);
    let (before, now, elapsed_ns) = cluster.sessions().metrics_of(&job.record.id);
    let tasks = rates(&before, &now, elapsed_ns);
    JobDetails {
        failure: summary.detail.clone().filter(|_| summary.state == "FAILED"),
        snapshots: job.location.clone(),
        checkpoints: job.checkpoints(),
        has_results: job.record.has_results,
        bottleneck: bottleneck(&tasks),
        tasks,
        sql: job.record.sql.clone(),
        summary,
    }
}
