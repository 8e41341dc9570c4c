//! Deleting what is no longer retained, in the background: first manifests, then the files that only they named.

use std::collections::BTreeSet;

use crate::coordinator::requests::{Purpose, Request, TRIES};
use crate::coordinator::{JobMaster, StorageOp, StorageOutcome};
use crate::log::{Appender, FILES, Listing, Record, Retained, record_name};

/// The log of the job as its claimant knows it.
pub(super) struct JobLog {
    pub(super) appender: Appender,
    pub(super) retained: Retained,
    /// Whether the outcome of a write to the next position was not known: that write may still come.
    pub(super) contested: bool,
    /// Whether files that are left over from lower generations are still to be looked for.
    sweep: bool,
    /// Manifests that are being deleted.
    dropping: BTreeSet<u64>,
}

impl JobLog {
    pub(super) fn new(appender: Appender, retained: Retained, sweep: bool) -> Self {
        JobLog { appender, retained, contested: false, sweep, dropping: BTreeSet::new() }
    }
}

impl JobMaster {
    /// After the first manifest of the generation: deletes what lower generations have left over. Not before: a successor may
    /// have claimed the job unnoticed, and name files in manifests that we do not know; but all that it starts from is in a
    /// manifest of ours once we have one.
    pub(super) fn sweep(&mut self) {
        if let Some(log) = &mut self.log
            && std::mem::take(&mut log.sweep)
        {
            self.requests.make(Purpose::ListFiles, StorageOp::List(FILES.into()), &mut self.actions);
        }
    }

    /// Deletes the manifests that have dropped out.
    pub(super) fn drop_excess(&mut self) {
        let (Some(log), Some(settings)) = (&mut self.log, &self.config.checkpointing) else { return };
        for position in log.retained.excess(settings.retained) {
            let Some(manifest) = log.retained.get(position) else { continue };
            let name = record_name(position);
            let op = match Record::encode(&Record::Retired { generation: manifest.generation, epoch: manifest.epoch }) {
                Ok(bytes) if manifest.keep_place => StorageOp::Replace(name, bytes),
                _ => StorageOp::Delete(name),
            };
            if log.dropping.insert(position) {
                self.requests.make_in_bulk(Purpose::DropManifest(position), op);
            }
        }
    }

    pub(super) fn deletion_done(&mut self, request: Request, outcome: StorageOutcome) {
        let Some(log) = &mut self.log else { return };
        if let StorageOutcome::Failed(_) = outcome {
            if request.tries + 1 < TRIES {
                self.requests.repeat(request, self.now_ms);
            } else if let Purpose::DropManifest(position) = request.purpose {
                // Again when the next one drops out.
                log.dropping.remove(&position);
            }
            return;
        }
        let files = match (request.purpose, outcome) {
            (Purpose::ListFiles, StorageOutcome::Names(names)) => {
                let named = log.retained.files();
                Listing::of(names.iter().map(String::as_str)).orphans(log.appender.generation(), &named)
            }
            (Purpose::DropManifest(position), _) => {
                log.dropping.remove(&position);
                log.retained.deleted(position)
            }
            _ => Vec::new(),
        };
        for file in files {
            self.requests.make_in_bulk(Purpose::DropFile, StorageOp::Delete(file));
        }
    }
}
