//! Completing a snapshot: its manifest is written at the one position where this coordinator may append.

use std::sync::Arc;

use rheos_core::sink::CommitToken;

use crate::barrier::CheckpointKind;
use crate::coordinator::failing::Scope;
use crate::coordinator::requests::{Purpose, Request, TRIES};
use crate::coordinator::{Action, CheckpointStats, JobEnd, JobMaster, Note, Phase, StorageOp, StorageOutcome};
use crate::log::{Appended, Occupant, Record};
use crate::manifest::Manifest;

/// A manifest that is being written.
pub(super) struct Write {
    manifest: Arc<Manifest>,
    what: WriteFor,
    /// How often it was found to be absent.
    tries: u32,
    /// The last thing that went wrong.
    reason: String,
}

/// What a manifest is written for.
#[derive(Debug, Clone, Copy)]
pub(super) enum WriteFor {
    /// A snapshot of what runs.
    Snapshot { stop: bool, alignment_ms: u64, upload_ms: u64 },
    /// The start from a chosen manifest.
    Start,
    /// The end of the job.
    End,
}

impl JobMaster {
    pub(super) fn write_manifest(&mut self, manifest: Arc<Manifest>, what: WriteFor) {
        self.write = Some(Write { manifest, what, tries: 0, reason: String::new() });
        if self.log.is_some() { self.put_manifest() } else { self.manifest_durable() }
    }

    fn put_manifest(&mut self) {
        let (Some(log), Some(write)) = (&self.log, &self.write) else { return };
        match Record::encode_manifest(&write.manifest) {
            Err(e) => self.fail_for_good(e.to_string()),
            Ok(bytes) => {
                let op = StorageOp::PutIfAbsent(log.appender.name(), bytes);
                match write.tries {
                    0 => self.requests.make(Purpose::PutManifest, op, &mut self.actions),
                    tries => self.requests.repeat(Request { purpose: Purpose::PutManifest, op, tries }, self.now_ms),
                }
            }
        }
    }

    pub(super) fn write_done(&mut self, request: Request, outcome: StorageOutcome) {
        let (Some(log), Some(write)) = (&mut self.log, &mut self.write) else { return };
        let occupant = match (&request.purpose, outcome) {
            (Purpose::PutManifest, StorageOutcome::Done) => {
                log.appender.created();
                return self.manifest_durable();
            }
            (Purpose::PutManifest, outcome) => {
                if let StorageOutcome::Failed(reason) = outcome {
                    log.contested = true;
                    write.reason = reason;
                }
                let look = StorageOp::Get(log.appender.name());
                return self.requests.make(Purpose::LookAtManifest, look, &mut self.actions);
            }
            (_, StorageOutcome::Content(bytes)) => Record::decode("record", &bytes).map_or(Occupant::Unreadable, Occupant::Record),
            (_, StorageOutcome::NotFound) => Occupant::Nothing,
            (_, outcome) => {
                if let StorageOutcome::Failed(reason) = outcome {
                    write.reason = reason;
                }
                if request.tries + 1 < TRIES {
                    return self.requests.repeat(request, self.now_ms);
                }
                return self.write_failed();
            }
        };
        match log.appender.look(occupant, write.manifest.epoch) {
            Appended::Done => self.manifest_durable(),
            Appended::Earlier(manifest) => {
                self.adopt(*manifest);
                self.put_manifest();
            }
            Appended::Fenced => self.fence(),
            Appended::Absent => {
                write.tries += 1;
                let again = write.tries < TRIES && !matches!(write.what, WriteFor::Snapshot { .. });
                if again { self.put_manifest() } else { self.write_failed() }
            }
        }
    }

    /// The manifest of a snapshot that had been given up is in the log: it is the latest one. No region has been deployed since, as
    /// that settles it first, so it is of the attempts that run.
    pub(super) fn adopt(&mut self, manifest: Manifest) {
        self.cover(&manifest);
        self.remember(Arc::new(manifest));
    }

    /// What the manifest names is thrown away no more.
    fn cover(&mut self, manifest: &Manifest) {
        self.regions.iter_mut().for_each(|r| r.uncovered.remove(&manifest.tokens));
    }

    /// The manifest stands at the position before the next one.
    fn remember(&mut self, manifest: Arc<Manifest>) {
        if let Some(log) = &mut self.log {
            log.retained.insert(log.appender.position() - 1, &manifest, std::mem::take(&mut log.contested));
        }
        self.unsettled = None;
        self.covered.clear();
        self.covered.extend(&manifest.tokens);
        self.latest = Some(manifest);
    }

    fn manifest_durable(&mut self) {
        let Some(Write { manifest, what, .. }) = self.write.take() else { return };
        let before = self.latest.take();
        self.remember(manifest.clone());
        self.cover(&manifest);
        let is_early = |token: &CommitToken| self.regions.iter().any(|r| r.early.contains(token));
        self.unconfirmed.extend(manifest.tokens.iter().filter(|t| !is_early(t)));
        self.sweep();
        match what {
            WriteFor::Start => return self.begin(Some(manifest)),
            WriteFor::End => self.end_is_durable(),
            WriteFor::Snapshot { .. } => self.snapshot_complete(&manifest, before.as_deref(), what),
        }
        self.regions.iter_mut().for_each(|r| r.early.forget_below(manifest.epoch));
        self.drop_excess();
        match &self.phase {
            Phase::Running if self.runs() => self.commit_if_idle(),
            Phase::Ending(e) if e.needs_commit() => self.commit_if_idle(),
            // What was complete is committed before the next attempts.
            _ => {}
        }
    }

    fn snapshot_complete(&mut self, manifest: &Manifest, before: Option<&Manifest>, what: WriteFor) {
        let WriteFor::Snapshot { stop, alignment_ms, upload_ms } = what else { return };
        let epoch = manifest.epoch;
        if matches!(self.phase, Phase::Running) {
            let running = self.running();
            self.actions.extend(running.into_iter().map(|attempt| Action::Completed { attempt, epoch }));
        }
        self.note(Note::CheckpointDone { epoch, stats: stats(manifest, before, alignment_ms, upload_ms) });
        self.full_next &= manifest.kind != CheckpointKind::Checkpoint;
        self.failures_in_row = 0;
        if let Some(settings) = &self.config.checkpointing {
            self.next_trigger_ms = self.next_trigger_ms.max(self.after(settings.min_pause_ms));
        }
        if manifest.kind == CheckpointKind::Savepoint && self.wanted.is_some_and(|w| w.stop == stop) {
            self.wanted = None;
        }
        if stop && matches!(self.phase, Phase::Running) {
            self.end(JobEnd::Stopped { savepoint: epoch });
        }
    }

    /// It is not known whether the manifest will be in the log; for now it is not.
    fn write_failed(&mut self) {
        let Some(Write { manifest, what, reason, .. }) = self.write.take() else { return };
        self.unsettled.get_or_insert_default().tokens.extend(&manifest.tokens);
        let reason = format!("its manifest cannot be written: {reason}");
        match what {
            WriteFor::Start => self.fail_for_good(format!("the start from a manifest failed: {reason}")),
            WriteFor::Snapshot { stop, .. } => self.snapshot_failed(manifest.epoch, manifest.kind, stop, &reason),
            WriteFor::End if !matches!(&self.phase, Phase::Ending(e) if e.needs_commit()) => {}
            WriteFor::End => self.fail(Scope::Job, format!("the final checkpoint failed: {reason}"), true),
        }
    }
}

fn stats(manifest: &Manifest, before: Option<&Manifest>, alignment_ms: u64, upload_ms: u64) -> CheckpointStats {
    let known = before.map(Manifest::files).unwrap_or_default();
    CheckpointStats {
        kind: manifest.kind,
        duration_ms: u64::try_from(manifest.completed_ms - manifest.started_ms).unwrap_or(0),
        bytes: manifest.total_bytes(),
        new_bytes: manifest.total_bytes() - manifest.bytes_of(&known),
        in_flight_rows: manifest.in_flight_rows(),
        alignment_ms,
        upload_ms,
    }
}
