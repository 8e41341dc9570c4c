//! Storage: files by name, and what is checked whenever one changes.

use std::collections::{BTreeMap, BTreeSet};

use rheos_checkpoint::coordinator::{StorageOp, StorageOutcome};
use rheos_checkpoint::log::{Listing, Record, record_name, record_position};
use rheos_checkpoint::{CheckpointKind, Manifest};

use crate::invariant::{Invariant, Violation};

#[derive(Debug, Default)]
pub(crate) struct Storage {
    files: BTreeMap<String, Vec<u8>>,
    manifests: BTreeMap<u64, Named>,
    highest_claim: u64,
    retained: usize,
    /// Whether appends behind another's claim succeed (a planted error).
    unfenced: bool,
}

#[derive(Debug)]
struct Named {
    kind: CheckpointKind,
    files: BTreeSet<String>,
}

impl Storage {
    pub(crate) fn new(retained: usize, unfenced: bool) -> Self {
        Storage { retained, unfenced, ..Storage::default() }
    }

    pub(crate) fn write(&mut self, name: String, bytes: Vec<u8>) {
        self.files.insert(name, bytes);
    }

    pub(crate) fn read(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    pub(crate) fn highest_claim(&self) -> u64 {
        self.highest_claim
    }

    /// Does what a request asks for. A manifest that it creates comes out too.
    pub(crate) fn apply(&mut self, request: &StorageOp) -> Result<(StorageOutcome, Option<Box<Manifest>>), Violation> {
        let outcome = match request {
            StorageOp::List(prefix) => {
                StorageOutcome::Names(self.files.keys().filter(|name| name.starts_with(prefix.as_str())).cloned().collect())
            }
            StorageOp::Get(name) => self.files.get(name).map_or(StorageOutcome::NotFound, |b| StorageOutcome::Content(b.clone())),
            StorageOp::PutIfAbsent(name, bytes) if self.files.contains_key(name) => {
                let manifest = matches!(Record::decode(name, bytes), Ok(Record::Manifest(_)));
                if !(self.unfenced && manifest) {
                    return Ok((StorageOutcome::AlreadyExists, None));
                }
                let next = record_name(Listing::of(self.files.keys().map(String::as_str)).next_position());
                return self.put(&next, bytes);
            }
            StorageOp::PutIfAbsent(name, bytes) => return self.put(name, bytes),
            StorageOp::Replace(name, bytes) => {
                self.forget(name);
                self.files.insert(name.clone(), bytes.clone());
                StorageOutcome::Done
            }
            StorageOp::Delete(name) => {
                self.forget(name);
                self.check_deletion(name)?;
                self.files.remove(name);
                StorageOutcome::Done
            }
        };
        Ok((outcome, None))
    }

    /// Somebody deletes the record of the oldest savepoint, unless it is the latest snapshot, or stands right before a claim: its place
    /// may still be wanted by the coordinator that wrote it (docs/checkpoint-format.md, 2.6).
    pub(crate) fn delete_savepoint(&mut self) {
        let latest = self.manifests.keys().next_back().copied();
        let is_claim = |position| {
            let name = record_name(position);
            self.files.get(&name).is_some_and(|bytes| matches!(Record::decode(&name, bytes), Ok(Record::Claim(_))))
        };
        let is_free = |p: u64, m: &Named| m.kind == CheckpointKind::Savepoint && Some(p) != latest && !is_claim(p + 1);
        let oldest = self.manifests.iter().find(|(p, m)| is_free(**p, m)).map(|(p, _)| *p);
        if let Some(position) = oldest {
            self.manifests.remove(&position);
            self.files.remove(&record_name(position));
        }
    }

    /// A file of this manifest goes, behind the back of all checks (a planted error).
    pub(crate) fn delete_early(&mut self, manifest: &Manifest) {
        if let Some(name) = manifest.files().into_iter().next() {
            self.files.remove(name);
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(StorageOutcome, Option<Box<Manifest>>), Violation> {
        self.files.insert(name.to_string(), bytes.to_vec());
        let Some(position) = record_position(name) else { return Ok((StorageOutcome::Done, None)) };
        match Record::decode(name, bytes) {
            // A claim that came so late that it fills the place of a deleted record is void: its coordinator will see that.
            Ok(Record::Claim(_)) if self.files.keys().filter_map(|n| record_position(n)).max() == Some(position) => {
                self.highest_claim = position;
            }
            Ok(Record::Manifest(manifest)) => {
                self.check_manifest(position, &manifest)?;
                return Ok((StorageOutcome::Done, Some(manifest)));
            }
            _ => {}
        }
        Ok((StorageOutcome::Done, None))
    }

    fn check_manifest(&mut self, position: u64, manifest: &Manifest) -> Result<(), Violation> {
        if position < self.highest_claim {
            // A write that came late, of a manifest that has been retired meanwhile: nobody will look at it.
            return Ok(());
        }
        if manifest.generation < self.highest_claim {
            let text =
                format!("generation {} completed epoch {} after the claim of {}", manifest.generation, manifest.epoch, self.highest_claim);
            return Err(Violation::new(Invariant::Fencing, text));
        }
        let files: BTreeSet<String> = manifest.files().into_iter().map(str::to_string).collect();
        if let Some(missing) = files.iter().find(|f| !self.files.contains_key(*f)) {
            return Err(Violation::new(Invariant::Retention, format!("epoch {} names '{missing}', which is not there", manifest.epoch)));
        }
        self.manifests.insert(position, Named { kind: manifest.kind, files });
        Ok(())
    }

    fn forget(&mut self, name: &str) {
        if let Some(position) = record_position(name) {
            self.manifests.remove(&position);
        }
    }

    fn check_deletion(&self, name: &str) -> Result<(), Violation> {
        let mut checkpoints = 0;
        for (position, manifest) in self.manifests.iter().rev() {
            let savepoint = manifest.kind == CheckpointKind::Savepoint;
            checkpoints += usize::from(!savepoint);
            if (savepoint || checkpoints <= self.retained) && manifest.files.contains(name) {
                let text = format!("'{name}' is deleted, and the manifest at {position} names it");
                return Err(Violation::new(Invariant::Retention, text));
            }
        }
        Ok(())
    }
}
