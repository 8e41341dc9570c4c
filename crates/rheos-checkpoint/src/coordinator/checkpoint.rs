//! Taking a snapshot: trigger, parts, time-out.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::time::TimestampMs;

use crate::barrier::{Barrier, CheckpointKind};
use crate::coordinator::completion::WriteFor;
use crate::coordinator::ending::Gone;
use crate::coordinator::tokens::TokenSet;
use crate::coordinator::{Action, JobEnd, JobMaster, Note, Phase, Recovery};
use crate::manifest::{FORMAT, Manifest};
use crate::part::{SubtaskId, SubtaskPart, assemble};

/// A snapshot whose parts are awaited.
pub(super) struct Pending {
    barrier: Barrier,
    stop: bool,
    started_ms: TimestampMs,
    deadline_ms: TimestampMs,
    parts: BTreeMap<SubtaskId, SubtaskPart>,
}

impl Pending {
    pub(super) fn epoch(&self) -> Epoch {
        self.barrier.epoch
    }
}

/// A subtask that has ended.
pub(super) struct EndedSubtask {
    /// The last snapshot whose barrier it passed on.
    after: Epoch,
    pub(super) part: SubtaskPart,
}

/// A savepoint that somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) stop: bool,
}

impl JobMaster {
    pub(super) fn deployed(&mut self) {
        if matches!(self.phase, Phase::Deploying) {
            self.phase = Phase::Running;
            self.next_trigger_ms = self.config.checkpointing.as_ref().map_or(TimestampMs::MAX, |c| self.after(c.interval_ms));
        }
    }

    pub(super) fn want_savepoint(&mut self, stop: bool) {
        if !self.is_durable() {
            let reason = "a savepoint needs storage: no checkpoint directory is set".into();
            self.note(Note::CheckpointFailed { epoch: 0, reason });
        } else if !matches!(self.phase, Phase::Ending(_)) {
            let stop = stop || self.wanted.is_some_and(|w| w.stop);
            self.wanted = Some(Wanted { stop });
        }
    }

    pub(super) fn pending_deadline_ms(&self) -> Option<TimestampMs> {
        self.pending.as_ref().map(|p| p.deadline_ms)
    }

    pub(super) fn trigger_wakeup_ms(&self) -> Option<TimestampMs> {
        (self.write.is_none() && !self.running_sources().is_empty()).then_some(self.next_trigger_ms)
    }

    fn running_sources(&self) -> Vec<SubtaskId> {
        self.subtasks.iter().filter(|s| s.source && !self.ended.contains_key(&s.id)).map(|s| s.id).collect()
    }

    pub(super) fn trigger_if_due(&mut self) {
        let free = matches!(self.phase, Phase::Running) && self.pending.is_none() && self.write.is_none();
        let due = self.wanted.is_some() || self.now_ms >= self.next_trigger_ms;
        let (true, true, Some(settings)) = (free, due, &self.config.checkpointing) else { return };
        let sources = self.running_sources();
        if sources.is_empty() {
            return;
        }
        let (kind, stop) = self.wanted.map_or((CheckpointKind::Checkpoint, false), |w| (CheckpointKind::Savepoint, w.stop));
        let may_overtake = settings.aligned_timeout_ms.filter(|_| kind == CheckpointKind::Checkpoint);
        let overtake_from_ms = may_overtake.map(|ms| self.after(ms));
        let deadline_ms = self.after(settings.timeout_ms);
        self.next_trigger_ms = self.after(settings.interval_ms);
        self.epoch += 1;
        let full = self.full_next || kind == CheckpointKind::Savepoint;
        let barrier = Barrier { epoch: self.epoch, overtake_from_ms, kind, full };
        self.pending = Some(Pending { barrier, stop, started_ms: self.now_ms, deadline_ms, parts: BTreeMap::new() });
        self.actions.push(Action::Trigger { attempt: self.attempt, barrier, stop, sources });
    }

    /// Gives up a snapshot whose time is over.
    pub(super) fn expire(&mut self) {
        let Some(pending) = &self.pending else { return };
        if self.now_ms < pending.deadline_ms {
            return;
        }
        let came = |id: &SubtaskId| self.part_of(*id, pending.epoch(), &pending.parts).is_some();
        let missing: Vec<String> = self.subtasks.iter().filter(|s| !came(&s.id)).map(|s| s.id.to_string()).collect();
        let ms = self.config.checkpointing.as_ref().map_or(0, |c| c.timeout_ms);
        self.abort_pending(&format!("no part within {ms} ms from {}", missing.join(", ")));
    }

    pub(super) fn ack(&mut self, epoch: Epoch, part: SubtaskPart) {
        let awaited = self.pending.as_ref().is_some_and(|p| p.barrier.epoch == epoch && !p.parts.contains_key(&part.subtask));
        if !awaited || !self.subtasks.iter().any(|s| s.id == part.subtask) {
            return;
        }
        self.note_tokens(&part);
        if let Some(pending) = &mut self.pending {
            pending.parts.insert(part.subtask, part);
        }
        self.complete_if_whole();
    }

    pub(super) fn declined(&mut self, epoch: Epoch, subtask: SubtaskId, reason: &str) {
        if self.pending.as_ref().is_some_and(|p| p.barrier.epoch == epoch) {
            self.abort_pending(&format!("subtask {subtask} declined: {reason}"));
        }
    }

    pub(super) fn subtask_ended(&mut self, after: Epoch, part: SubtaskPart) {
        if self.ended.contains_key(&part.subtask) || !self.subtasks.iter().any(|s| s.id == part.subtask) {
            return;
        }
        self.note_tokens(&part);
        self.ended.insert(part.subtask, EndedSubtask { after, part });
        if self.ended.len() == self.subtasks.len() {
            self.pending = None;
            self.end(JobEnd::Finished, Gone::Yes);
        } else {
            self.complete_if_whole();
        }
    }

    /// Output that a subtask has prepared waits for a snapshot, unless it is committed at once.
    fn note_tokens(&mut self, part: &SubtaskPart) {
        if self.config.recovery == Recovery::Rollback {
            for token in &part.tokens {
                if self.early.insert(token) {
                    self.unconfirmed.insert(token);
                }
            }
            self.commit_if_idle();
        } else {
            // A subtask that has not heard of the latest snapshot repeats what is in it.
            self.uncovered.extend(part.tokens.iter().filter(|t| !self.covered.contains(t)));
        }
    }

    fn complete_if_whole(&mut self) {
        let whole = |p: &Pending| self.subtasks.iter().all(|s| self.part_of(s.id, p.epoch(), &p.parts).is_some());
        if !self.pending.as_ref().is_some_and(whole) {
            return;
        }
        let Some(pending) = self.pending.take() else { return };
        let manifest = self.manifest(pending.barrier.epoch, pending.barrier.kind, pending.started_ms, &pending.parts);
        let parts = || pending.parts.values().map(|p| &p.stats);
        let alignment_ms = parts().map(|s| s.alignment_ms).max().unwrap_or(0);
        let upload_ms = parts().map(|s| s.upload_ms).max().unwrap_or(0);
        self.write_manifest(Arc::new(manifest), WriteFor::Snapshot { stop: pending.stop, alignment_ms, upload_ms });
    }

    /// The part of a subtask for a snapshot, and whether it is its last one: that counts if it has not passed the barrier on.
    fn part_of<'a>(&'a self, id: SubtaskId, epoch: Epoch, parts: &'a BTreeMap<SubtaskId, SubtaskPart>) -> Option<(&'a SubtaskPart, bool)> {
        let last = || self.ended.get(&id).filter(|e| e.after < epoch).map(|e| (&e.part, true));
        parts.get(&id).map(|part| (part, false)).or_else(last)
    }

    /// The manifest of these parts, and of the last parts of all others.
    pub(super) fn manifest(
        &self,
        epoch: Epoch,
        kind: CheckpointKind,
        started_ms: TimestampMs,
        parts: &BTreeMap<SubtaskId, SubtaskPart>,
    ) -> Manifest {
        let all: Vec<(&SubtaskPart, bool)> = self.subtasks.iter().filter_map(|s| self.part_of(s.id, epoch, parts)).collect();
        let mut tokens = TokenSet::default();
        tokens.extend(self.unconfirmed.iter());
        tokens.extend(all.iter().flat_map(|(part, _)| &part.tokens));
        Manifest {
            format: FORMAT,
            rheos: self.config.rheos.clone(),
            job: self.config.job.clone(),
            generation: self.generation().unwrap_or(0),
            epoch,
            kind,
            started_ms,
            completed_ms: self.now_ms,
            borrowed: false,
            files_in: None,
            plan: self.config.plan.clone(),
            operators: assemble(all),
            tokens: tokens.to_vec(),
        }
    }

    fn abort_pending(&mut self, reason: &str) {
        if let Some(pending) = self.pending.take() {
            self.snapshot_failed(pending.barrier.epoch, pending.barrier.kind, pending.stop, reason);
        }
    }

    /// A snapshot failed. Too many in a row fail the attempt; so does one after which the sources were to give nothing more.
    pub(super) fn snapshot_failed(&mut self, epoch: Epoch, kind: CheckpointKind, stop: bool, reason: &str) {
        self.note(Note::CheckpointFailed { epoch, reason: reason.to_string() });
        if !matches!(self.phase, Phase::Running | Phase::Deploying) {
            return;
        }
        self.actions.push(Action::Aborted { attempt: self.attempt, epoch });
        let Some(settings) = &self.config.checkpointing else { return };
        self.next_trigger_ms = self.next_trigger_ms.max(self.after(settings.min_pause_ms));
        match kind {
            CheckpointKind::Savepoint if stop => self.fail(format!("the savepoint before the stop failed: {reason}"), true),
            CheckpointKind::Savepoint => self.wanted = None,
            CheckpointKind::Checkpoint | CheckpointKind::Final => {
                self.failures_in_row += 1;
                if self.failures_in_row > settings.tolerable_failures {
                    self.fail(format!("checkpoint {epoch} failed: {reason}"), true);
                }
            }
        }
    }
}
