//! What a folder of snapshots holds: listed, shown, verified. Nothing is written, so that a running job is not disturbed.
//!
//! A place is a folder of folders of jobs (`--checkpoint-dir`), a job's folder, or a record of its log.

mod details;
mod folder;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::BTreeMap;

pub use details::{Details, RowsInFlight, SplitPosition, StateInfo};
pub use rheos_checkpoint::log::{Claim, StartKind};
use rheos_core::element::{CheckpointKind, Epoch};
use rheos_core::time::TimestampMs;
pub use verify::{Orphan, Problem, Verification};

use crate::{Error, Result};

/// How to reach the storage: the settings that begin with `s3.`.
pub type StorageOptions = BTreeMap<String, String>;

/// A job's folder.
#[derive(Debug)]
pub struct JobFolder {
    /// Where it is.
    pub path: String,
    /// The job's stable id.
    pub id: String,
    /// The job's name.
    pub name: String,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// Who took the job over, and when, oldest first.
    pub claims: Vec<Claim>,
    /// The records of its log that cannot be read: where they are, and why.
    pub unreadable: Vec<(String, Error)>,
}

/// A complete snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What `--restore` takes.
    pub path: String,
    /// The claim under which it was completed.
    pub generation: u64,
    /// Which snapshot of the job it is.
    pub epoch: Epoch,
    /// What it was taken for.
    pub kind: CheckpointKind,
    /// When it was triggered.
    pub started_ms: TimestampMs,
    /// When its last part had come.
    pub completed_ms: TimestampMs,
    /// How many bytes of state it needs, each file counted once.
    pub bytes: u64,
    /// How many operators it has the state of.
    pub operators: usize,
    /// Whether the job began anew after it, so that it is restored only by its path.
    pub superseded: bool,
}

/// The folders of jobs at a place, each with what it holds.
pub fn list(place: &str, options: &StorageOptions) -> Result<Vec<JobFolder>> {
    blocking(async { Ok(folder::at(place, options).await?.folders.into_iter().map(folder::Folder::into_listed).collect()) })
}

/// One snapshot in detail: the one at the place, or the latest one of the only job there.
pub fn show(place: &str, options: &StorageOptions) -> Result<Details> {
    blocking(details::show(place, options))
}

/// Reads the snapshot at the place, or all of all jobs there, and finds what is missing or damaged.
pub fn verify(place: &str, options: &StorageOptions) -> Result<Vec<Verification>> {
    blocking(verify::verify(place, options))
}

/// Where the record of a position is: what `--restore` takes.
pub fn record_path(folder: &str, position: u64) -> String {
    format!("{}/{}", folder.trim_end_matches('/'), rheos_checkpoint::log::record_name(position))
}

fn blocking<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|e| Error::restart(format!("threads cannot be started: {e}")).caused_by(e))?.block_on(work)
}
