//! What is kept of a job for as long as it is known: one file below the coordinator's folder, and what it refers to.

use std::sync::Arc;

use bytes::Bytes;
use rheos_core::storage::Storage;
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use rheos_graph::TaskGraph;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::JobSettings;

/// The version of the form that this Rheos writes, and the newest that it reads.
const FORMAT: u32 = 1;

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Finished,
    Canceled,
    Stopped,
    Failed,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    pub(crate) at_ms: TimestampMs,
    /// Why it failed, or with which savepoint it was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    pub(crate) format: u32,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) sql: String,
    pub(crate) submitted_ms: TimestampMs,
    /// The artifact that holds its task graph.
    pub(crate) graph: String,
    pub(crate) settings: JobSettings,
    /// Whether it gives rows to whoever asks.
    pub(crate) has_results: bool,
    /// The snapshot of another job that it began from.
    pub(crate) restore: Option<String>,
    /// `None` until it has ended.
    pub(crate) ending: Option<Ending>,
}

impl JobRecord {
    /// A job that has not ended.
    pub(crate) fn new(id: String, name: String, sql: String, submitted_ms: TimestampMs, graph: String, settings: JobSettings) -> Self {
        JobRecord { format: FORMAT, id, name, sql, submitted_ms, graph, settings, has_results: false, restore: None, ending: None }
    }
}

/// Where jobs and what they are made of are stored.
#[derive(Clone)]
pub(crate) struct Records {
    storage: Arc<dyn Storage>,
}

/// The folder of a job, below the coordinator's.
pub(crate) fn folder(id: &str) -> String {
    format!("jobs/{id}")
}

fn file(id: &str) -> String {
    format!("jobs/{id}/job.json")
}

impl Records {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        Records { storage }
    }

    /// Stores a job, or how it stands now.
    pub(crate) async fn put(&self, record: &JobRecord) -> Result<()> {
        let json = serde_json::to_vec_pretty(record)?;
        self.storage.put(&file(&record.id), json.into()).await
    }

    /// All jobs. One that cannot be read is told in the log, and left alone.
    pub(crate) async fn all(&self) -> Result<Vec<JobRecord>> {
        let mut records = Vec::new();
        for stored in self.storage.list("jobs/").await?.into_iter().filter(|stored| is_record(&stored.name)) {
            let Some(bytes) = self.storage.get(&stored.name).await? else { continue };
            match read(&stored.name, &bytes) {
                Ok(record) => records.push(record),
                Err(error) => tracing::error!(%error, "a job is left alone"),
            }
        }
        records.sort_by(|a: &JobRecord, b: &JobRecord| (a.submitted_ms, &a.id).cmp(&(b.submitted_ms, &b.id)));
        Ok(records)
    }

    /// Stores a task graph by its content, once; returns the name.
    pub(crate) async fn put_graph(&self, graph: &TaskGraph) -> Result<String> {
        let json = serde_json::to_vec(graph)?;
        let hash: String = Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect();
        self.storage.put_if_absent(&format!("artifacts/{hash}"), json.into()).await?;
        Ok(hash)
    }

    /// An artifact by the hash of its content.
    pub(crate) async fn artifact(&self, hash: &str) -> Result<Bytes> {
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(Error::config(format!("'{hash}' is no SHA-256 hash")));
        }
        let found = self.storage.get(&format!("artifacts/{hash}")).await?;
        found.ok_or_else(|| Error::corrupt(format!("artifact '{hash}' is missing in {}", self.storage.describe())))
    }

    /// A task graph by the hash of its content.
    pub(crate) async fn graph(&self, hash: &str) -> Result<TaskGraph> {
        let bytes = self.artifact(hash).await?;
        serde_json::from_slice(&bytes).map_err(|e| Error::corrupt(format!("artifact '{hash}' is no task graph: {e}")))
    }
}

fn is_record(name: &str) -> bool {
    name.strip_prefix("jobs/").and_then(|rest| rest.split_once('/')).is_some_and(|(_, file)| file == "job.json")
}

fn read(name: &str, bytes: &[u8]) -> Result<JobRecord> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("'{name}' is not JSON: {e}")))?;
    match value["format"].as_u64() {
        Some(format) if format > u64::from(FORMAT) => {
            Err(Error::config(format!("'{name}' has the format {format}; this Rheos reads formats up to {FORMAT}")))
        }
        Some(_) => serde_json::from_value(value).map_err(|e| Error::corrupt(format!("'{name}' is no job: {e}"))),
        None => Err(Error::corrupt(format!("'{name}' is no job: it has no number 'format'"))),
    }
}
