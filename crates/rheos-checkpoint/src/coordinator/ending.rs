//! Ending: what must be done between the decision that a job ends and its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::time::TimestampMs;

use crate::barrier::CheckpointKind;
use crate::coordinator::completion::WriteFor;
use crate::coordinator::{Action, JobEnd, JobMaster, Phase};

/// What is still to be done.
pub(super) struct Ending {
    end: JobEnd,
    gone: Gone,
    /// A final manifest is to be written.
    final_manifest: bool,
    /// All that snapshots promise is to be committed.
    commit: bool,
    not_before_ms: TimestampMs,
}

/// How far the attempt is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// It runs.
    Running,
    /// It was told to stop.
    Cancelling,
    /// Nothing of it runs.
    Yes,
}

impl Ending {
    pub(super) fn is_gone(&self) -> bool {
        self.gone == Gone::Yes
    }

    pub(super) fn runs(&self) -> bool {
        self.gone == Gone::Running
    }

    pub(super) fn needs_commit(&self) -> bool {
        self.commit
    }

    pub(super) fn stopped(&mut self) {
        self.gone = Gone::Yes;
    }

    pub(super) fn wakeup_ms(&self) -> Option<TimestampMs> {
        (self.commit || self.final_manifest).then_some(self.not_before_ms)
    }
}

impl JobMaster {
    /// The job is to end in this way.
    pub(super) fn end(&mut self, end: JobEnd, gone: Gone) {
        let finished = end == JobEnd::Finished;
        let final_manifest = finished && self.is_durable() && self.latest.as_ref().is_none_or(|m| m.kind != CheckpointKind::Final);
        if finished && !self.is_durable() {
            for ended in self.ended.values() {
                self.uncovered.remove(&ended.part.tokens);
                self.unconfirmed.extend(&ended.part.tokens);
            }
        }
        let commit = finished || matches!(end, JobEnd::Stopped { .. });
        self.phase = Phase::Ending(Ending { end, gone, final_manifest, commit, not_before_ms: self.now_ms });
    }

    pub(super) fn cancel(&mut self) {
        match &mut self.phase {
            Phase::New | Phase::Starting(_) => self.conclude(JobEnd::Cancelled),
            Phase::Deploying | Phase::Running => {
                self.pending = None;
                self.actions.push(Action::Cancel { attempt: self.attempt });
                self.end(JobEnd::Cancelled, Gone::Cancelling);
            }
            Phase::Recovering(r) => {
                let gone = if r.is_gone() { Gone::Yes } else { Gone::Cancelling };
                self.end(JobEnd::Cancelled, gone);
            }
            Phase::Ending(e) if e.end == JobEnd::Finished || matches!(e.end, JobEnd::Stopped { .. }) => {
                let gone = e.gone;
                self.end(JobEnd::Cancelled, gone);
            }
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
        match ending.gone {
            Gone::Running => {
                ending.gone = Gone::Cancelling;
                self.actions.push(Action::Cancel { attempt: self.attempt });
            }
            Gone::Cancelling => {}
            Gone::Yes => {
                let end = ending.end.clone();
                self.abort_uncovered();
                self.conclude(end);
            }
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

    pub(super) fn end_failed(&mut self, end: JobEnd, gone: bool) {
        let gone = match &self.phase {
            Phase::Ending(e) => e.gone,
            _ if gone => Gone::Yes,
            _ => Gone::Cancelling,
        };
        self.end(end, gone);
    }
}
