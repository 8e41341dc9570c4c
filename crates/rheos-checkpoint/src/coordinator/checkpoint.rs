//! Taking a snapshot: trigger, time-out, failure.

use std::collections::BTreeMap;

use rheos_core::element::Epoch;
use rheos_core::time::TimestampMs;

use crate::barrier::{Barrier, CheckpointKind};
use crate::coordinator::failing::Scope;
use crate::coordinator::region::State;
use crate::coordinator::{Action, JobMaster, Note, Phase};
use crate::part::{SubtaskId, SubtaskPart};

/// A snapshot whose parts are awaited.
pub(super) struct Pending {
    pub(super) barrier: Barrier,
    pub(super) stop: bool,
    pub(super) started_ms: TimestampMs,
    deadline_ms: TimestampMs,
    pub(super) parts: BTreeMap<SubtaskId, SubtaskPart>,
}

impl Pending {
    pub(super) fn epoch(&self) -> Epoch {
        self.barrier.epoch
    }

    /// Whether the sources give nothing more after its barrier.
    pub(super) fn stops(&self) -> bool {
        self.stop
    }
}

/// A savepoint that somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) stop: bool,
}

impl JobMaster {
    pub(super) fn deployed(&mut self, region: usize) {
        if self.regions[region].state == State::Deploying {
            // Where others run on, so does their time to the next snapshot.
            if self.regions.iter().all(|r| r.state != State::Running) {
                self.next_trigger_ms = self.config.checkpointing.as_ref().map_or(TimestampMs::MAX, |c| self.after(c.interval_ms));
            }
            self.regions[region].state = State::Running;
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
        (self.write.is_none() && self.is_whole() && self.has_sources()).then_some(self.next_trigger_ms)
    }

    /// Whether a source is left to put a barrier in.
    fn has_sources(&self) -> bool {
        self.subtasks.iter().any(|s| s.source && !self.ended.contains_key(&s.id))
    }

    pub(super) fn trigger_if_due(&mut self) {
        let free = self.is_whole() && self.pending.is_none() && self.write.is_none();
        let due = self.wanted.is_some() || self.now_ms >= self.next_trigger_ms;
        let (true, true, Some(settings)) = (free, due, &self.config.checkpointing) else { return };
        if !self.has_sources() {
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
        let running = self.running();
        self.actions.extend(running.into_iter().map(|attempt| Action::Trigger { attempt, barrier, stop }));
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

    pub(super) fn declined(&mut self, epoch: Epoch, subtask: SubtaskId, reason: &str) {
        if self.pending.as_ref().is_some_and(|p| p.barrier.epoch == epoch) {
            self.abort_pending(&format!("subtask {subtask} declined: {reason}"));
        }
    }

    fn abort_pending(&mut self, reason: &str) {
        if let Some(pending) = self.pending.take() {
            self.snapshot_failed(pending.barrier.epoch, pending.barrier.kind, pending.stop, reason);
        }
    }

    /// A snapshot failed. Too many in a row fail all that runs; so does one after which the sources were to give nothing more.
    pub(super) fn snapshot_failed(&mut self, epoch: Epoch, kind: CheckpointKind, stop: bool, reason: &str) {
        self.note(Note::CheckpointFailed { epoch, reason: reason.to_string() });
        if !self.runs() {
            return;
        }
        self.tell_aborted(epoch);
        let Some(settings) = &self.config.checkpointing else { return };
        self.next_trigger_ms = self.next_trigger_ms.max(self.after(settings.min_pause_ms));
        match kind {
            CheckpointKind::Savepoint if stop => self.fail(Scope::Job, format!("the savepoint before the stop failed: {reason}"), true),
            CheckpointKind::Savepoint => self.wanted = None,
            CheckpointKind::Checkpoint | CheckpointKind::Final => {
                self.failures_in_row += 1;
                if self.failures_in_row > settings.tolerable_failures {
                    self.fail(Scope::Job, format!("checkpoint {epoch} failed: {reason}"), true);
                }
            }
        }
    }
}
