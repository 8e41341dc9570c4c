//! Ending: what must be done between the decision that a job ends and its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::time::TimestampMs;

use crate::barrier::CheckpointKind;
use crate::coordinator::completion::WriteFor;
use crate::coordinator::region::State;
use crate::coordinator::{JobEnd, JobMaster, Phase};

/// What is still to be done.
pub(super) struct Ending {
    end: JobEnd,
    /// A final manifest is to be written.
    final_manifest: bool,
    /// All that snapshots promise is to be committed.
    commit: bool,
    not_before_ms: TimestampMs,
}

impl Ending {
    pub(super) fn needs_commit(&self) -> bool {
        self.commit
    }

    pub(super) fn wakeup_ms(&self) -> Option<TimestampMs> {
        (self.commit || self.final_manifest).then_some(self.not_before_ms)
    }
}

impl JobMaster {
    /// The job is to end in this way.
    pub(super) fn end(&mut self, end: JobEnd) {
        let finished = end == JobEnd::Finished;
        let final_manifest = finished && self.is_durable() && self.latest.as_ref().is_none_or(|m| m.kind != CheckpointKind::Final);
        if finished && !self.is_durable() {
            for ended in self.ended.values() {
                self.regions.iter_mut().for_each(|r| r.uncovered.remove(&ended.part.tokens));
                self.unconfirmed.extend(&ended.part.tokens);
            }
        }
        let commit = finished || matches!(end, JobEnd::Stopped { .. });
        self.phase = Phase::Ending(Ending { end, final_manifest, commit, not_before_ms: self.now_ms });
    }

    pub(super) fn cancel(&mut self) {
        match &self.phase {
            Phase::New | Phase::Starting(_) => self.conclude(JobEnd::Cancelled),
            Phase::Running => {
                self.pending = None;
                self.cancel_running();
                self.end(JobEnd::Cancelled);
            }
            Phase::Ending(e) if e.end == JobEnd::Finished || matches!(e.end, JobEnd::Stopped { .. }) => self.end(JobEnd::Cancelled),
            Phase::Ending(_) | Phase::Ended => {}
        }
    }

    pub(super) fn advance_ending(&mut self) {
        let Phase::Ending(ending) = &mut self.phase else { return };
        if self.write.is_some() || ((ending.final_manifest || ending.commit) && self.now_ms < ending.not_before_ms) {
            return;
        }
        if ending.final_manifest {
            self.epoch += 1;
            let manifest = self.manifest(self.epoch, CheckpointKind::Final, self.now_ms, &BTreeMap::new());
            return self.write_manifest(Arc::new(manifest), WriteFor::End);
        }
        if ending.commit && (self.commit.is_some() || !self.unconfirmed.is_empty()) {
            return self.commit_if_idle();
        }
        let end = ending.end.clone();
        self.cancel_running();
        if self.regions.iter().all(|r| r.state != State::Cancelling) {
            self.abort_uncovered(0..self.regions.len());
            self.conclude(end);
        }
    }

    /// The final manifest is in the log.
    pub(super) fn end_is_durable(&mut self) {
        if let Phase::Ending(ending) = &mut self.phase {
            ending.final_manifest = false;
        }
    }

    pub(super) fn end_later(&mut self, not_before_ms: TimestampMs) {
        if let Phase::Ending(ending) = &mut self.phase {
            ending.not_before_ms = not_before_ms;
        }
    }
}
