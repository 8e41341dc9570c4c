//! The parts of a snapshot: those that are acknowledged, and the last ones of subtasks that have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::time::TimestampMs;

use crate::barrier::CheckpointKind;
use crate::coordinator::checkpoint::Pending;
use crate::coordinator::completion::WriteFor;
use crate::coordinator::region::State;
use crate::coordinator::tokens::TokenSet;
use crate::coordinator::{JobEnd, JobMaster, Recovery};
use crate::manifest::{FORMAT, Manifest};
use crate::part::{SubtaskId, SubtaskPart, assemble};

/// A subtask that has ended.
pub(super) struct EndedSubtask {
    /// The last snapshot whose barrier it passed on.
    after: Epoch,
    pub(super) part: SubtaskPart,
}

impl JobMaster {
    pub(super) fn ack(&mut self, region: usize, epoch: Epoch, part: SubtaskPart) {
        let awaited = self.pending.as_ref().is_some_and(|p| p.barrier.epoch == epoch && !p.parts.contains_key(&part.subtask));
        if !awaited || self.region_of(part.subtask) != Some(region) {
            return;
        }
        self.note_tokens(region, &part);
        if let Some(pending) = &mut self.pending {
            pending.parts.insert(part.subtask, part);
        }
        self.complete_if_whole();
    }

    pub(super) fn subtask_ended(&mut self, region: usize, after: Epoch, part: SubtaskPart) {
        if self.ended.contains_key(&part.subtask) || self.region_of(part.subtask) != Some(region) {
            return;
        }
        self.note_tokens(region, &part);
        self.ended.insert(part.subtask, EndedSubtask { after, part });
        if self.subtasks.iter().all(|s| s.region != region || self.ended.contains_key(&s.id)) {
            self.regions[region].state = State::Ended;
        }
        if self.ended.len() == self.subtasks.len() {
            self.pending = None;
            self.end(JobEnd::Finished);
        } else {
            self.complete_if_whole();
        }
    }

    /// Output that a subtask has prepared waits for a snapshot, unless it is committed at once.
    fn note_tokens(&mut self, region: usize, part: &SubtaskPart) {
        let region = &mut self.regions[region];
        if self.config.recovery == Recovery::Rollback {
            for token in &part.tokens {
                if region.early.insert(token) {
                    self.unconfirmed.insert(token);
                }
            }
            self.commit_if_idle();
        } else {
            // A subtask that has not heard of the latest snapshot repeats what is in it.
            region.uncovered.extend(part.tokens.iter().filter(|t| !self.covered.contains(t)));
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
    pub(super) fn part_of<'a>(
        &'a self,
        id: SubtaskId,
        epoch: Epoch,
        parts: &'a BTreeMap<SubtaskId, SubtaskPart>,
    ) -> Option<(&'a SubtaskPart, bool)> {
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
}
