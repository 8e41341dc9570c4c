//! The manifest: the one record that makes a snapshot complete, and names all that belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;
use rheos_core::snapshot::ListKind;
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::barrier::CheckpointKind;
use crate::data::{Bytes, DataHandle, SegmentHandle};

/// The version of the manifest's form that this Rheos writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// Which job a record is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its stable id.
    pub id: String,
    /// Its name for people.
    pub name: String,
}

/// A complete snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this form.
    pub format: u32,
    /// The version of Rheos that wrote it.
    pub rheos: String,
    /// The job.
    pub job: JobInfo,
    /// The claim under which it was written.
    pub generation: u64,
    /// Which snapshot it is.
    pub epoch: Epoch,
    /// What it was taken for.
    pub kind: CheckpointKind,
    /// When it was triggered.
    pub started_ms: TimestampMs,
    /// When its last part had come.
    pub completed_ms: TimestampMs,
    /// Whether its files belong to another snapshot, from which the job was started: they are not deleted with this one, and no
    /// later one may build on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub borrowed: bool,
    /// Where its files are, if not in the folder of the log that it is in: a path or URL of another job's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_in: Option<String>,
    /// The job graph, which a plain restore runs. Opaque here.
    pub plan: serde_json::Value,
    /// The state of each operator, by its uid.
    pub operators: BTreeMap<String, OperatorState>,
    /// What is to be committed now that the snapshot is complete, and again after every restore from it.
    pub tokens: Vec<CommitToken>,
}

/// The state of all instances of one operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorState {
    /// Its name for people.
    pub name: String,
    /// How many instances there were.
    pub parallelism: usize,
    /// The state of each instance, by its index.
    pub subtasks: BTreeMap<usize, SubtaskState>,
}

/// The state of one instance of an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubtaskState {
    /// Whether it had ended: all its input was read, all its output was given.
    pub finished: bool,
    /// Keyed state: for each state name a base, then deltas in order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keyed: BTreeMap<String, Vec<SegmentHandle>>,
    /// Operator state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lists: BTreeMap<String, ListState>,
    /// Rows that the barrier overtook, in the order in which they are to be taken in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlight>,
}

/// One operator state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListState {
    /// How its items are given out when the parallelism changes.
    #[serde(with = "list_kind")]
    pub kind: ListKind,
    /// The items.
    pub items: Vec<Bytes>,
}

/// Rows of one channel that the barrier overtook. Those that had left their sender are in the state of the operator that they were
/// on the way to, and go before the others, which are in the state of the sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The uid of the operator that sent them.
    pub from: String,
    /// The uid of the operator that they were on the way to.
    pub to: String,
    /// Which of its inputs.
    pub port: usize,
    /// Which instance of the sender.
    pub sender: usize,
    /// Which instance of the receiver.
    pub receiver: usize,
    /// The rows, encoded.
    pub data: DataHandle,
    /// How many there are.
    pub rows: u64,
}

impl Manifest {
    /// Its JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::bug(format!("manifest of epoch {} cannot be written as JSON", self.epoch)).caused_by(e))
    }

    /// Reads a manifest; `name` is the file's, for the error.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Manifest> {
        let value = serde_json::from_slice(bytes).map_err(|e| Error::corrupt(format!("'{name}' is not JSON: {e}")))?;
        Self::from_value(name, value)
    }

    /// Reads a manifest that is JSON already; its `format` is looked at before anything else.
    pub fn from_value(name: &str, value: serde_json::Value) -> Result<Manifest> {
        match value["format"].as_u64() {
            None => return Err(Error::corrupt(format!("'{name}' is no manifest: it has no number 'format'"))),
            Some(format) if format > u64::from(FORMAT) => {
                let by = value["rheos"].as_str().unwrap_or("unknown").to_string();
                let newest = format!("this one reads formats up to {FORMAT}");
                return Err(Error::config(format!("'{name}' has the format {format}, written by Rheos {by}; {newest}")));
            }
            Some(_) => {}
        }
        serde_json::from_value(value).map_err(|e| Error::corrupt(format!("'{name}' is no manifest: {e}")))
    }

    /// Every handle, segments and in-flight rows alike.
    pub fn handles(&self) -> impl Iterator<Item = &DataHandle> {
        self.operators.values().flat_map(|o| o.subtasks.values()).flat_map(SubtaskState::handles)
    }

    /// The names of all files that it needs.
    pub fn files(&self) -> BTreeSet<&str> {
        self.handles().filter_map(DataHandle::file_name).collect()
    }

    /// The bytes of all its state, each file counted once.
    pub fn total_bytes(&self) -> u64 {
        let mut seen = BTreeSet::new();
        self.handles().filter(|h| h.file_name().is_none_or(|name| seen.insert(name.to_string()))).map(DataHandle::len).sum()
    }

    /// The bytes of those of its files that are among `names`.
    pub fn bytes_of(&self, names: &BTreeSet<&str>) -> u64 {
        let mut seen = BTreeSet::new();
        let among = |h: &&DataHandle| h.file_name().is_some_and(|name| names.contains(name) && seen.insert(name.to_string()));
        self.handles().filter(among).map(DataHandle::len).sum()
    }

    /// The names of the operators that have state and are not among those that `is_known` says of a uid: their state would be lost.
    pub fn without_operator(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let has_state = |operator: &OperatorState| operator.subtasks.values().any(|subtask| subtask.rows() > 0);
        let lost = self.operators.iter().filter(|(uid, operator)| !is_known(uid) && has_state(operator));
        lost.map(|(_, operator)| operator.name.clone()).collect()
    }

    /// How many rows the barrier overtook.
    pub fn in_flight_rows(&self) -> u64 {
        self.operators.values().flat_map(|o| o.subtasks.values()).flat_map(|s| &s.in_flight).map(|f| f.rows).sum()
    }
}

impl SubtaskState {
    /// How many rows and items there are, those on their way included.
    pub fn rows(&self) -> u64 {
        let keyed = self.keyed.values().flatten().map(|segment| segment.rows);
        let items = self.lists.values().map(|list| list.items.len() as u64);
        keyed.chain(items).chain(self.in_flight.iter().map(|rows| rows.rows)).sum()
    }

    /// Every handle, segments and in-flight rows alike.
    pub fn handles(&self) -> impl Iterator<Item = &DataHandle> {
        self.keyed.values().flatten().map(|s| &s.data).chain(self.in_flight.iter().map(|f| &f.data))
    }
}

/// [`ListKind`] by its name.
mod list_kind {
    use rheos_core::snapshot::ListKind;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(kind: &ListKind, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match kind {
            ListKind::Split => "split",
            ListKind::Union => "union",
            ListKind::Broadcast => "broadcast",
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ListKind, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "split" => Ok(ListKind::Split),
            "union" => Ok(ListKind::Union),
            "broadcast" => Ok(ListKind::Broadcast),
            other => Err(D::Error::custom(format!("'{other}' is no kind of list: split, union or broadcast"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::ErrorKind;
    use serde_json::json;

    use super::*;
    use crate::data::SegmentKind;

    fn manifest() -> Manifest {
        let segment = |kind, name: &str| SegmentHandle {
            kind,
            rows: 2,
            removed: 0,
            key_groups: vec![(3, 1), (7, 1)],
            data: DataHandle::file(name, b"four"),
        };
        let state = SubtaskState {
            finished: false,
            keyed: [("counts".to_string(), vec![segment(SegmentKind::Base, "files/1-a"), segment(SegmentKind::Delta, "files/1-b")])].into(),
            lists: [("rules".to_string(), ListState { kind: ListKind::Broadcast, items: vec![Bytes(vec![1])] })].into(),
            in_flight: vec![InFlight {
                from: "source".into(),
                to: "count".into(),
                port: 0,
                sender: 1,
                receiver: 0,
                data: DataHandle::inline(vec![9; 3]),
                rows: 3,
            }],
        };
        let again =
            SubtaskState { keyed: [("counts".to_string(), vec![segment(SegmentKind::Base, "files/1-a")])].into(), ..Default::default() };
        let operator = OperatorState { name: "Count".into(), parallelism: 2, subtasks: [(0, state), (1, again)].into() };
        Manifest {
            format: FORMAT,
            rheos: "0.1.0".into(),
            job: JobInfo { id: "j".into(), name: "job".into() },
            generation: 1,
            epoch: 7,
            kind: CheckpointKind::Checkpoint,
            started_ms: 10,
            completed_ms: 20,
            borrowed: false,
            files_in: None,
            plan: json!({"nodes": []}),
            operators: [("count".to_string(), operator)].into(),
            tokens: vec![CommitToken { sink: "s".into(), epoch: 7, payload: json!("part-0") }],
        }
    }

    #[test]
    fn a_manifest_survives_the_way_through_json() {
        let manifest = manifest();
        assert_eq!(Manifest::decode("m", &manifest.encode().unwrap()).unwrap(), manifest);
    }

    #[test]
    fn files_are_named_and_counted_once() {
        let manifest = manifest();
        assert_eq!(manifest.files().into_iter().collect::<Vec<_>>(), ["files/1-a", "files/1-b"]);
        assert_eq!(manifest.total_bytes(), 4 + 4 + 3);
        assert_eq!(manifest.in_flight_rows(), 3);
    }

    #[test]
    fn a_newer_format_is_refused_with_the_version_that_wrote_it() {
        let error = Manifest::decode("log/5", br#"{"format": 2, "rheos": "9.9", "what": "ever"}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FixConfig);
        assert_eq!(error.to_string(), "'log/5' has the format 2, written by Rheos 9.9; this one reads formats up to 1");
    }

    #[test]
    fn damaged_json_is_told_as_such() {
        let whole = manifest().encode().unwrap();
        let torn = Manifest::decode("log/5", &whole[..whole.len() / 2]).unwrap_err();
        assert_eq!(torn.kind(), ErrorKind::Corrupt);
        assert!(torn.to_string().starts_with("'log/5' is not JSON"), "{torn}");
        let other = Manifest::decode("log/5", br#"{"format": 1}"#).unwrap_err();
        assert!(other.to_string().starts_with("'log/5' is no manifest: missing field"), "{other}");
        let foreign = Manifest::decode("log/5", b"[]").unwrap_err();
        assert_eq!(foreign.to_string(), "'log/5' is no manifest: it has no number 'format'");
    }
}
