//! How a job is started: where its snapshots go, what it begins with, who is told how it goes.

use std::sync::Arc;

use rheos_checkpoint::Manifest;
use rheos_checkpoint::log::{Listing, LogContents, Record, record_name, record_position};
use rheos_coordinator::{Note, Observer};
use rheos_core::storage::Storage;
use rheos_core::{Error, Result};

/// What a job begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// Nothing; where the folder of snapshots holds some, the job is not started.
    #[default]
    New,
    /// Nothing; snapshots that are there count no more.
    Fresh,
    /// The latest snapshot in the folder; nothing where there is none.
    Latest,
    /// The snapshot at this place: a job's folder, or a record of its log.
    Snapshot(String),
}

/// How a job is started.
#[derive(Clone, Default)]
pub struct StartOptions {
    /// Below `execution.checkpointing.dir`: the job's own folder.
    pub folder: String,
    /// What it begins with.
    pub from: StartFrom,
    /// Faults of storage on purpose, such as `seed=7,fail=0.05,lost=0.05,slow=0.1:200ms`: for tests.
    pub faults: Option<String>,
    /// Is told how the job goes.
    pub observer: Option<Arc<dyn Observer>>,
}

/// For those whom nobody tells.
pub(crate) struct Silent;

impl Observer for Silent {
    fn note(&self, _: Note) {}
}

/// What a job's folder holds.
pub(crate) struct Found {
    pub(crate) log: LogContents,
    /// The log's records that cannot be read, and why.
    pub(crate) unreadable: Vec<(u64, Error)>,
}

/// Reads the log in a job's folder.
pub(crate) async fn look(storage: &Arc<dyn Storage>) -> Result<Found> {
    let names = storage.list("log/").await?;
    let listing = Listing::of(names.iter().map(|stored| stored.name.as_str()));
    let (mut records, mut unreadable) = (std::collections::BTreeMap::new(), Vec::new());
    for position in listing.positions {
        let name = record_name(position);
        // One that is gone meanwhile was a snapshot that is no longer kept.
        let Some(bytes) = storage.get(&name).await? else { continue };
        match Record::decode(&name, &bytes) {
            Ok(record) => drop(records.insert(position, record)),
            Err(error) => unreadable.push((position, error)),
        }
    }
    Ok(Found { log: LogContents::new(records), unreadable })
}

/// A place such as `folder` or `folder/log/00000000000000000007.json`: the folder, and the position if one is meant.
pub(crate) fn place(text: &str) -> (String, Option<u64>) {
    let trimmed = text.trim_end_matches('/');
    if let Some((folder, file)) = trimmed.rsplit_once("log/")
        && let Some(position) = record_position(&format!("log/{file}"))
    {
        let folder = folder.trim_end_matches('/');
        return (if folder.is_empty() { ".".into() } else { folder.to_string() }, Some(position));
    }
    (trimmed.to_string(), None)
}

/// A folder by a name that means the same everywhere on this machine.
pub(crate) fn absolute(folder: &str) -> String {
    if folder.contains("://") {
        return folder.to_string();
    }
    std::path::absolute(folder).map_or_else(|_| folder.to_string(), |path| path.display().to_string())
}

/// The snapshot at a place: the latest, or the one at a position of the log; `None` where there is none.
pub(crate) async fn find_snapshot(storage: &Arc<dyn Storage>, position: Option<u64>) -> Result<Option<Manifest>> {
    let found = look(storage).await?;
    let manifest = match position {
        None => found.log.latest().map(|(_, manifest)| manifest.clone()),
        Some(position) => found.log.manifests().find(|(at, _)| *at == position).map(|(_, manifest)| manifest.clone()),
    };
    match (manifest, found.unreadable.into_iter().next()) {
        (None, Some((_, error))) => Err(error),
        (manifest, _) => Ok(manifest),
    }
}

/// The snapshot at a place, which there must be.
pub(crate) async fn snapshot_at(storage: &Arc<dyn Storage>, text: &str, position: Option<u64>) -> Result<Manifest> {
    find_snapshot(storage, position).await?.ok_or_else(|| {
        let hint = "name a job's folder, or a record with a snapshot in its log; 'rheos checkpoints list' shows what is there";
        Error::config(format!("there is no snapshot at '{text}'; {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_record_in_its_log() {
        assert_eq!(place("/a/b/"), ("/a/b".into(), None));
        assert_eq!(place(&format!("/a/b/{}", record_name(7))), ("/a/b".into(), Some(7)));
        assert_eq!(place(&format!("s3://bucket/x/{}", record_name(12))), ("s3://bucket/x".into(), Some(12)));
        assert_eq!(place("catalog/"), ("catalog".into(), None));
    }
}
