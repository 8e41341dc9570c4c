//! The folders of jobs at a place.

use std::collections::BTreeSet;
use std::sync::Arc;

use rheos_checkpoint::Manifest;
use rheos_checkpoint::log::record_position;
use rheos_core::storage::Storage;

use super::{JobFolder, Snapshot, StorageOptions, record_path};
use crate::start::{Found, look, place};
use crate::{Error, Result};

/// What a place means.
pub(super) struct Meant {
    pub(super) folders: Vec<Folder>,
    /// The record that the place names; then there is one folder.
    pub(super) position: Option<u64>,
}

/// A job's folder with its log read.
pub(super) struct Folder {
    pub(super) path: String,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) found: Found,
}

/// The folders at a place, at least one.
pub(super) async fn at(text: &str, options: &StorageOptions) -> Result<Meant> {
    let (path, position) = place(text);
    let root = rheos_storage::open(&path, options)?;
    let is_log = |name: &str| record_position(name).is_some();
    if root.list("log/").await?.iter().any(|stored| is_log(&stored.name)) {
        return Ok(Meant { folders: vec![Folder::open(path, options).await?], position });
    }
    let stored = root.list("").await?;
    let folder = |name: &str| name.rfind("/log/").filter(|at| is_log(&name[at + 1..])).map(|at| name[..at].to_string());
    let names: BTreeSet<String> = stored.iter().filter_map(|stored| folder(&stored.name)).collect();
    if names.is_empty() || position.is_some() {
        let hint = "name a --checkpoint-dir, a job's folder in it, or a record of a job's log";
        return Err(Error::config(format!("there are no snapshots at '{text}'; {hint}")));
    }
    let mut names: Vec<String> = names.into_iter().collect();
    // job-2 before job-10.
    names.sort_by_key(|name| (name.len(), name.clone()));
    let mut folders = Vec::new();
    for name in names {
        folders.push(Folder::open(format!("{path}/{name}"), options).await?);
    }
    Ok(Meant { folders, position: None })
}

impl Folder {
    async fn open(path: String, options: &StorageOptions) -> Result<Folder> {
        let storage = rheos_storage::open(&path, options)?;
        let found = look(&storage).await?;
        Ok(Folder { path, storage, found })
    }

    /// What `--restore` takes.
    pub(super) fn path_of(&self, position: u64) -> String {
        record_path(&self.path, position)
    }

    pub(super) fn snapshot(&self, position: u64, manifest: &Manifest) -> Snapshot {
        Snapshot {
            path: self.path_of(position),
            generation: manifest.generation,
            epoch: manifest.epoch,
            kind: manifest.kind,
            started_ms: manifest.started_ms,
            completed_ms: manifest.completed_ms,
            bytes: manifest.total_bytes(),
            operators: manifest.operators.len(),
            superseded: position < self.found.log.hidden_below(),
        }
    }

    pub(super) fn into_listed(self) -> JobFolder {
        let log = &self.found.log;
        let job = log.manifests().next_back().map(|(_, m)| &m.job);
        let job = job.or_else(|| log.claims().next_back().map(|claim| &claim.job)).cloned().unwrap_or_default();
        let snapshots = log.manifests().map(|(position, manifest)| self.snapshot(position, manifest)).collect();
        let claims = log.claims().cloned().collect();
        let path_of = |position| record_path(&self.path, position);
        let unreadable = self.found.unreadable.into_iter().map(|(position, error)| (path_of(position), error)).collect();
        JobFolder { path: self.path, id: job.id, name: job.name, snapshots, claims, unreadable }
    }
}
