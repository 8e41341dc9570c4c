//! One snapshot in detail, as far as its manifest tells.

use std::collections::BTreeSet;

use rheos_checkpoint::{DataHandle, InFlight, ListState, Manifest, OperatorState, SegmentHandle, SegmentKind};
use rheos_core::sink::CommitToken;
use rheos_core::snapshot::ListKind;
use rheos_core::source::Split;
use rheos_core::time::TimestampMs;

use super::folder::{self, Folder};
use super::{Snapshot, StorageOptions};
use crate::{Error, Result};

/// A snapshot with its states.
#[derive(Debug)]
pub struct Details {
    /// Which one.
    pub snapshot: Snapshot,
    /// The job's stable id.
    pub job_id: String,
    /// The job's name.
    pub job_name: String,
    /// The version of Rheos that took it.
    pub rheos: String,
    /// The version of the manifest's form.
    pub format: u32,
    /// How many files it needs.
    pub files: usize,
    /// Where they are, if not in the job's folder.
    pub files_in: Option<String>,
    /// The states, an operator without any included.
    pub states: Vec<StateInfo>,
    /// The rows that the barrier overtook, by channel.
    pub in_flight: Vec<RowsInFlight>,
    /// How far the sources have read.
    pub splits: Vec<SplitPosition>,
    /// What is committed when the snapshot is complete, and after every restore from it.
    pub tokens: Vec<CommitToken>,
}

/// One state of one operator, all its instances together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateInfo {
    /// The operator's name.
    pub operator: String,
    /// The operator's stable id.
    pub uid: String,
    /// How many instances there were.
    pub parallelism: usize,
    /// How many of them had ended.
    pub finished: usize,
    /// The state's name; `None` where the operator has no state.
    pub state: Option<String>,
    /// `keyed`, or how the items of a list are given out: `split`, `union`, `broadcast`.
    pub kind: Option<&'static str>,
    /// The rows of its bases, or the items of a list.
    pub base_rows: u64,
    /// The rows of its deltas: of keys that are new, and of others that replace a row.
    pub delta_rows: u64,
    /// The keys that deltas remove.
    pub removed: u64,
    /// How many bases and deltas there are.
    pub segments: usize,
    /// The bytes of all of them.
    pub bytes: u64,
    /// In how many key groups it has rows.
    pub key_groups: usize,
}

/// Rows of one channel that the barrier overtook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsInFlight {
    /// Who sent them: the operator's name and the instance.
    pub from: (String, usize),
    /// Whom they were on the way to.
    pub to: (String, usize),
    /// Which of its inputs.
    pub port: usize,
    /// How many there are.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How far a source has read one of its splits.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPosition {
    /// The source's stable id.
    pub uid: String,
    /// The split and the position in it.
    pub split: Split,
    /// The watermark of its rows, where there is one.
    pub watermark_ms: Option<TimestampMs>,
    /// Whether it has no more rows.
    pub ended: bool,
}

pub(super) async fn show(place: &str, options: &StorageOptions) -> Result<Details> {
    let meant = folder::at(place, options).await?;
    let [folder] = meant.folders.as_slice() else {
        let folders: Vec<&str> = meant.folders.iter().map(|f| f.path.as_str()).collect();
        return Err(Error::config(format!("'{place}' holds several jobs; name one of {}", folders.join(", "))));
    };
    let found = &folder.found;
    let (position, manifest) = match meant.position {
        None => found.log.latest(),
        Some(position) => found.log.manifests().find(|(at, _)| *at == position),
    }
    .ok_or_else(|| nothing(place, folder, meant.position))?;
    // What is newer and cannot be read is the latest one.
    if let (None, Some((newer, error))) = (meant.position, found.unreadable.last())
        && *newer > position
    {
        return Err(Error::new(error.kind(), error.to_string()).context(format!("the latest record of '{}'", folder.path)));
    }
    Ok(details(folder.snapshot(position, manifest), manifest))
}

fn nothing(place: &str, folder: &Folder, position: Option<u64>) -> Error {
    let unreadable = folder.found.unreadable.iter().rfind(|(at, _)| position.is_none_or(|position| position == *at));
    match (unreadable, position) {
        (Some((_, error)), _) => Error::new(error.kind(), error.to_string()),
        (None, Some(_)) => {
            Error::config(format!("the record '{place}' is not there, or is no snapshot; 'rheos checkpoints list' shows those"))
        }
        (None, None) => Error::config(format!("'{place}' holds no snapshot to go on with: none was completed since the job began anew")),
    }
}

fn details(snapshot: Snapshot, manifest: &Manifest) -> Details {
    let name = |uid: &String| manifest.operators.get(uid).map_or_else(|| uid.clone(), |operator| operator.name.clone());
    let on_the_way = |rows: &InFlight| RowsInFlight {
        from: (name(&rows.from), rows.sender),
        to: (name(&rows.to), rows.receiver),
        port: rows.port,
        rows: rows.rows,
        bytes: rows.data.len(),
    };
    let subtasks = || manifest.operators.values().flat_map(|operator| operator.subtasks.values());
    Details {
        snapshot,
        job_id: manifest.job.id.clone(),
        job_name: manifest.job.name.clone(),
        rheos: manifest.rheos.clone(),
        format: manifest.format,
        files: manifest.files().len(),
        files_in: manifest.files_in.clone(),
        states: manifest.operators.iter().flat_map(|(uid, operator)| states(uid, operator)).collect(),
        in_flight: subtasks().flat_map(|subtask| &subtask.in_flight).map(on_the_way).collect(),
        splits: manifest.operators.iter().flat_map(|(uid, operator)| splits(uid, operator)).collect(),
        tokens: manifest.tokens.clone(),
    }
}

fn states(uid: &str, operator: &OperatorState) -> Vec<StateInfo> {
    let without = StateInfo {
        operator: operator.name.clone(),
        uid: uid.to_string(),
        parallelism: operator.parallelism,
        finished: operator.subtasks.values().filter(|subtask| subtask.finished).count(),
        state: None,
        kind: None,
        base_rows: 0,
        delta_rows: 0,
        removed: 0,
        segments: 0,
        bytes: 0,
        key_groups: 0,
    };
    let names = |of: fn(&rheos_checkpoint::SubtaskState) -> Vec<&String>| -> BTreeSet<&String> {
        operator.subtasks.values().flat_map(of).collect()
    };
    let keyed = names(|subtask| subtask.keyed.keys().collect()).into_iter().map(|state| {
        let segments: Vec<&SegmentHandle> = operator.subtasks.values().filter_map(|s| s.keyed.get(state)).flatten().collect();
        let rows = |kind| segments.iter().filter(|s| s.kind == kind).map(|s| s.rows).sum();
        let groups: BTreeSet<_> = segments.iter().flat_map(|s| s.key_groups.iter().map(|(group, _)| *group)).collect();
        StateInfo {
            state: Some(state.clone()),
            kind: Some("keyed"),
            base_rows: rows(SegmentKind::Base),
            delta_rows: rows(SegmentKind::Delta),
            removed: segments.iter().map(|s| s.removed).sum(),
            segments: segments.len(),
            bytes: segments.iter().map(|s| s.data.len()).sum(),
            key_groups: groups.len(),
            ..without.clone()
        }
    });
    let lists = names(|subtask| subtask.lists.keys().collect()).into_iter().map(|state| {
        let lists: Vec<&ListState> = operator.subtasks.values().filter_map(|s| s.lists.get(state)).collect();
        let items = || lists.iter().flat_map(|list| &list.items);
        StateInfo {
            state: Some(state.clone()),
            kind: lists.first().map(|list| match list.kind {
                ListKind::Split => "split",
                ListKind::Union => "union",
                ListKind::Broadcast => "broadcast",
            }),
            base_rows: items().count() as u64,
            bytes: items().map(|item| item.0.len() as u64).sum(),
            ..without.clone()
        }
    });
    let states: Vec<StateInfo> = keyed.chain(lists).collect();
    if states.is_empty() { vec![without] } else { states }
}

/// The items of lists that are positions of a source.
fn splits(uid: &str, operator: &OperatorState) -> Vec<SplitPosition> {
    let items = operator.subtasks.values().flat_map(|subtask| subtask.lists.values()).flat_map(|list| &list.items);
    let read = |item: &rheos_checkpoint::Bytes| {
        let value: serde_json::Value = serde_json::from_slice(&item.0).ok()?;
        Some(SplitPosition {
            uid: uid.to_string(),
            split: serde_json::from_value(value.get("split")?.clone()).ok()?,
            watermark_ms: value.get("watermark_ms").and_then(serde_json::Value::as_i64),
            ended: value.get("ended").and_then(serde_json::Value::as_bool).unwrap_or(false),
        })
    };
    items.filter_map(read).collect()
}

/// Where a handle's bytes are, for messages.
pub(super) fn where_is(folder: &str, manifest: &Manifest, handle: &DataHandle) -> Option<String> {
    let folder = manifest.files_in.as_deref().unwrap_or(folder);
    handle.file_name().map(|name| format!("{}/{name}", folder.trim_end_matches('/')))
}
