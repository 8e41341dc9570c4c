//! Recovering: nothing runs, and before the next attempt is deployed it must be known from where, and what the snapshot there
//! promised must be committed.

use rheos_core::time::TimestampMs;

use crate::barrier::CheckpointKind;
use crate::coordinator::requests::{Purpose, Request};
use crate::coordinator::{Action, JobMaster, Phase, Recovery, Restore, StorageOp, StorageOutcome};
use crate::log::{Appended, Occupant, Record};

/// What is still to be done before the next attempt.
pub(super) struct Recovering {
    /// Nothing of the last attempt runs any more.
    gone: bool,
    not_before_ms: TimestampMs,
    step: Step,
}

#[derive(PartialEq)]
enum Step {
    /// Find out whether a manifest whose writing failed is in the log.
    Settle,
    Settling,
    /// Throw away what is in no snapshot.
    CleanUp,
    /// Commit again what the snapshot promises.
    Commit,
}

impl Recovering {
    pub(super) fn new(gone: bool, not_before_ms: TimestampMs) -> Self {
        Recovering { gone, not_before_ms, step: Step::Settle }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the commit that precedes the next attempt is being made.
    pub(super) fn commits(&self) -> bool {
        self.step == Step::Commit
    }

    pub(super) fn wakeup_ms(&self) -> Option<TimestampMs> {
        self.gone.then_some(self.not_before_ms)
    }
}

impl JobMaster {
    pub(super) fn attempt_stopped(&mut self) {
        if matches!(self.phase, Phase::Deploying | Phase::Running) {
            self.fail("the job stopped by itself".into(), true);
        }
        match &mut self.phase {
            Phase::Recovering(r) => r.gone = true,
            Phase::Ending(e) => e.stopped(),
            _ => {}
        }
    }

    pub(super) fn advance_recovery(&mut self) {
        loop {
            let Phase::Recovering(r) = &mut self.phase else { return };
            if !r.gone || self.now_ms < r.not_before_ms || self.write.is_some() {
                return;
            }
            match r.step {
                Step::Settle if self.unsettled.is_some() => {
                    r.step = Step::Settling;
                    if let Some(log) = &self.log {
                        self.requests.make(Purpose::Settle, StorageOp::Get(log.appender.name()), &mut self.actions);
                    }
                    return;
                }
                Step::Settle => r.step = Step::CleanUp,
                Step::Settling => return,
                Step::CleanUp if self.commit.is_some() => return,
                Step::CleanUp => {
                    r.step = Step::Commit;
                    self.abort_uncovered();
                    self.early.clear();
                    self.unconfirmed.clear();
                    if let Some(manifest) = &self.latest {
                        self.unconfirmed.extend(&manifest.tokens);
                    }
                }
                Step::Commit if self.unconfirmed.is_empty() => self.deploy(),
                Step::Commit => {
                    self.commit_if_idle();
                    return;
                }
            }
        }
    }

    pub(super) fn settle_done(&mut self, request: Request, outcome: StorageOutcome) {
        let Some(log) = &mut self.log else { return };
        let occupant = match outcome {
            StorageOutcome::Content(bytes) => Record::decode("record", &bytes).map_or(Occupant::Unreadable, Occupant::Record),
            StorageOutcome::NotFound => Occupant::Nothing,
            other => return self.repeat_or_fail(request, &format!("the log cannot be read: {other:?}")),
        };
        match log.appender.look(occupant, 0) {
            Appended::Earlier(manifest) => self.adopt(*manifest),
            // It may still come: then the next manifest finds it there.
            Appended::Absent | Appended::Done => {}
            Appended::Fenced => return self.fence(),
        }
        if let Phase::Recovering(r) = &mut self.phase {
            r.step = Step::CleanUp;
        }
    }

    /// A commit failed on the way: everything again, later.
    pub(super) fn recover_later(&mut self, not_before_ms: TimestampMs) {
        if let Phase::Recovering(r) = &mut self.phase {
            r.not_before_ms = r.not_before_ms.max(not_before_ms);
        }
    }

    /// Throws away the output of an attempt that is gone, as far as no snapshot names it.
    pub(super) fn abort_uncovered(&mut self) {
        if let Some(unsettled) = &self.unsettled {
            self.uncovered.remove(unsettled.iter());
        }
        if !self.uncovered.is_empty() {
            self.actions.push(Action::Abort { tokens: self.uncovered.to_vec() });
            self.uncovered.clear();
        }
    }

    fn deploy(&mut self) {
        let again = self.attempt > 0;
        let restore = match &self.latest {
            _ if again && self.config.recovery == Recovery::Gap => Restore::EndOfInput,
            Some(manifest) => Restore::From(manifest.clone()),
            None => Restore::Fresh,
        };
        self.full_next = self.latest.as_ref().is_some_and(|m| m.borrowed || m.kind == CheckpointKind::Savepoint);
        self.attempt += 1;
        self.ended.clear();
        self.failures_in_row = 0;
        self.phase = Phase::Deploying;
        let generation = self.generation().unwrap_or(0);
        self.actions.push(Action::Deploy { attempt: self.attempt, generation, restore });
    }
}
