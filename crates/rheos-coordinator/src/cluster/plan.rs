//! What the coordinator needs of a front end: scripts made into jobs. It knows no SQL itself.

use std::collections::BTreeMap;

use rheos_checkpoint::RestartStrategy;
use rheos_checkpoint::coordinator::{Checkpointing, Recovery};
use rheos_graph::JobGraph;
use serde::{Deserialize, Serialize};

/// What somebody wants to have run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Submission {
    /// Statements: those that create tables and the like, and the queries and INSERTs to run, each of which becomes a job.
    pub sql: String,
    /// Settings that are stronger than those of the script.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Go on from this snapshot: a job's folder, or a record of its log. For a script of one job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
    /// Write all rows to part files in this folder, whatever the script says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink_to: Option<String>,
}

/// A job that is to run.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    /// What runs.
    pub graph: JobGraph,
    /// How it survives failures.
    pub settings: JobSettings,
    /// Whether its rows go to whoever asks for them, instead of a table.
    pub has_results: bool,
}

/// How a job survives failures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSettings {
    /// Where its snapshots go; `None`: to the coordinator's folder.
    pub dir: Option<String>,
    /// How that, and other folders of snapshots, are reached.
    pub storage_options: BTreeMap<String, String>,
    /// How snapshots are taken.
    pub checkpointing: Checkpointing,
    /// What a failure may do to the output.
    pub recovery: Recovery,
    /// Whether and when it starts again.
    pub restart: RestartStrategy,
    /// What its channels may hold together in a process, in bytes.
    pub buffer_bytes: u64,
}

/// A script that cannot be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlanError {
    /// What is wrong.
    pub message: String,
    /// The line of the script, from 1; 0 if it is no matter of a place.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What would be right.
    pub hint: Option<String>,
}

/// Makes scripts into jobs.
pub trait Planner: Send + Sync {
    /// The jobs of a script, in order. Nothing of them runs.
    fn plan(&self, submission: &Submission) -> Result<Vec<PlannedJob>, PlanError>;
}
