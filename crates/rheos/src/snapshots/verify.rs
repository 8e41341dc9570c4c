//! Reads all that snapshots need, and says what is missing or not what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_checkpoint::log::{FILES, LogContents, Record, file_generation, record_name};
use rheos_checkpoint::{DataHandle, Manifest, SegmentHandle, SegmentKind};
use rheos_core::batch_bytes;
use rheos_core::snapshot::Segment;
use rheos_core::storage::Storage;

use super::StorageOptions;
use super::details::where_is;
use super::folder::{self, Folder};
use crate::running::kind_and_epoch;
use crate::{Error, Result};

/// What was found in a job's folder.
#[derive(Debug, Default)]
pub struct Verification {
    /// The folder.
    pub path: String,
    /// How many records of the log were read.
    pub records: usize,
    /// How many snapshots were verified.
    pub snapshots: usize,
    /// How many files were read.
    pub files: usize,
    /// The bytes of those.
    pub bytes: u64,
    /// What is missing or damaged.
    pub problems: Vec<Problem>,
    /// Files that no snapshot names: left over, or of a snapshot that is being taken. `None` where that cannot be known because
    /// a record cannot be read, and where a single snapshot was verified.
    pub orphans: Option<Vec<Orphan>>,
}

/// Something that is missing or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
    /// What cannot be restored without it.
    pub needed_by: Vec<String>,
}

/// A file that no snapshot names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Where it is.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

/// A use of some bytes by a snapshot.
struct Need<'a> {
    position: u64,
    /// Which snapshot, and what of it.
    what: String,
    handle: &'a DataHandle,
    /// The segment that they are said to be; `None`: rows.
    segment: Option<&'a SegmentHandle>,
}

pub(super) async fn verify(place: &str, options: &StorageOptions) -> Result<Vec<Verification>> {
    let meant = folder::at(place, options).await?;
    let mut verified = Vec::new();
    for folder in &meant.folders {
        verified.push(verify_folder(folder, meant.position, options).await?);
    }
    if let (Some(_), [Verification { snapshots: 0, problems, .. }]) = (meant.position, verified.as_slice())
        && problems.is_empty()
    {
        return Err(Error::config(format!("the record '{place}' is not there, or is no snapshot; 'rheos checkpoints list' shows those")));
    }
    Ok(verified)
}

async fn verify_folder(folder: &Folder, only: Option<u64>, options: &StorageOptions) -> Result<Verification> {
    let is_meant = |position: u64| only.is_none_or(|only| only == position);
    let log = &folder.found.log;
    let mut done = Verification { path: folder.path.clone(), records: log.len(), ..Verification::default() };
    for (position, error) in folder.found.unreadable.iter().filter(|(position, _)| is_meant(*position)) {
        done.problems.push(Problem {
            path: folder.path_of(*position),
            what: error.to_string(),
            needed_by: vec![format!("record {position} of the log: what it says, and which files it names, is not known")],
        });
    }
    // By the folder, if not this one, and the name.
    let mut files: BTreeMap<(Option<&str>, &str), Vec<Need>> = BTreeMap::new();
    for (position, manifest) in log.manifests().filter(|(position, _)| is_meant(*position)) {
        done.snapshots += 1;
        check_chains(folder, position, manifest, &mut done.problems);
        for need in needs(position, manifest) {
            match need.handle {
                DataHandle::File { name, .. } => files.entry((manifest.files_in.as_deref(), name)).or_default().push(need),
                DataHandle::Inline { bytes } => {
                    if let Err(error) = check(&need, bytes.0.clone().into()) {
                        done.problems.push(Problem { path: folder.path_of(position), what: error.to_string(), needed_by: vec![need.what] });
                    }
                }
            }
        }
    }
    for ((elsewhere, name), needs) in files {
        let storage = match elsewhere {
            None => Arc::clone(&folder.storage),
            Some(other) => rheos_storage::open(other, options)?,
        };
        verify_file(folder, log, &storage, name, needs, &mut done).await?;
    }
    if only.is_none() && folder.found.unreadable.is_empty() {
        done.orphans = Some(orphans(folder).await?);
    }
    Ok(done)
}

/// Everything of a manifest that is bytes, with what it is.
fn needs(position: u64, manifest: &Manifest) -> Vec<Need<'_>> {
    let mut needs = Vec::new();
    let snapshot = kind_and_epoch(manifest);
    for operator in manifest.operators.values() {
        for subtask in operator.subtasks.values() {
            for (state, chain) in &subtask.keyed {
                let what = || format!("{snapshot}: state '{state}' of {}", operator.name);
                needs.extend(chain.iter().map(|s| Need { position, what: what(), handle: &s.data, segment: Some(s) }));
            }
            let what = || format!("{snapshot}: rows that its barrier overtook, at {}", operator.name);
            needs.extend(subtask.in_flight.iter().map(|rows| Need { position, what: what(), handle: &rows.data, segment: None }));
        }
    }
    needs
}

/// A chain is a base, then deltas.
fn check_chains(folder: &Folder, position: u64, manifest: &Manifest, problems: &mut Vec<Problem>) {
    for operator in manifest.operators.values() {
        for (state, chain) in operator.subtasks.values().flat_map(|subtask| &subtask.keyed) {
            if chain.iter().enumerate().any(|(i, segment)| (segment.kind == SegmentKind::Base) != (i == 0)) {
                problems.push(Problem {
                    path: folder.path_of(position),
                    what: "the segments of a state are not a base and its deltas".into(),
                    needed_by: vec![format!("{}: state '{state}' of {}", kind_and_epoch(manifest), operator.name)],
                });
            }
        }
    }
}

async fn verify_file(
    folder: &Folder,
    log: &LogContents,
    storage: &Arc<dyn Storage>,
    name: &str,
    mut needs: Vec<Need<'_>>,
    done: &mut Verification,
) -> Result<()> {
    let manifest_at = |position| log.manifests().find(|(at, _)| *at == position).map(|(_, manifest)| manifest);
    let path = needs.first().and_then(|need| where_is(&folder.path, manifest_at(need.position)?, need.handle));
    let path = path.unwrap_or_else(|| name.to_string());
    let content = match storage.get(name).await {
        Ok(content) => content,
        Err(error) => {
            let needed_by = needs.into_iter().map(|need| need.what).collect();
            done.problems.push(Problem { path, what: format!("it cannot be read: {error}"), needed_by });
            return Ok(());
        }
    };
    let Some(content) = content else {
        // A job that runs deletes snapshots, then their files.
        let mut still = Vec::new();
        for need in needs {
            if is_there(&folder.storage, need.position).await? {
                still.push(need.what);
            }
        }
        if !still.is_empty() {
            done.problems.push(Problem { path, what: "it is missing".into(), needed_by: still });
        }
        return Ok(());
    };
    done.files += 1;
    done.bytes += content.len() as u64;
    // What is wrong in the eyes of one snapshot may be right in those of another, where a manifest is damaged.
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for need in needs.drain(..) {
        if let Err(error) = check(&need, content.clone()) {
            wrong.entry(error.to_string()).or_default().push(need.what);
        }
    }
    done.problems.extend(wrong.into_iter().map(|(what, needed_by)| Problem { path: path.clone(), what, needed_by }));
    Ok(())
}

/// Whether the bytes are what the snapshot says they are.
fn check(need: &Need<'_>, content: bytes::Bytes) -> Result<()> {
    need.handle.verify(&content)?;
    let Some(handle) = need.segment else { return batch_bytes::decode(&content).map(drop) };
    let segment = Segment::decode(content)?;
    segment.check()?;
    let same = segment.kind == handle.kind && segment.groups == handle.key_groups && segment.removed.len() as u64 == handle.removed;
    if same && segment.num_rows() as u64 == handle.rows {
        return Ok(());
    }
    Err(Error::corrupt("it is another segment than the manifest says: kind, rows, removed keys or key groups differ"))
}

async fn is_there(storage: &Arc<dyn Storage>, position: u64) -> Result<bool> {
    let name = record_name(position);
    let bytes = storage.get(&name).await?;
    Ok(bytes.is_some_and(|bytes| matches!(Record::decode(&name, &bytes), Ok(Record::Manifest(_)) | Err(_))))
}

/// The files that no snapshot names.
async fn orphans(folder: &Folder) -> Result<Vec<Orphan>> {
    let named: std::collections::BTreeSet<&str> =
        folder.found.log.manifests().filter(|(_, m)| m.files_in.is_none()).flat_map(|(_, m)| m.files()).collect();
    let stored = folder.storage.list(FILES).await?;
    let is_orphan = |name: &str| file_generation(name).is_some() && !named.contains(name);
    let orphan = |stored: &rheos_core::storage::Stored| Orphan { path: format!("{}/{}", folder.path, stored.name), bytes: stored.bytes };
    Ok(stored.iter().filter(|stored| is_orphan(&stored.name)).map(orphan).collect())
}
