//! Failures: what stops, and what is planned next.

use rheos_core::env::Random;

use crate::coordinator::region::State;
use crate::coordinator::{Action, Attempt, JobEnd, JobMaster, Note, Phase};

/// What cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Region(usize),
    /// All that runs.
    Job,
}

impl JobMaster {
    /// The attempts of these regions cannot go on: the next ones are planned, or the job fails.
    pub(super) fn fail(&mut self, scope: Scope, message: String, restartable: bool) {
        let pending = self.pending.take();
        // The sources of all regions give nothing more after the barrier of a stop.
        let all = self.fails_together || self.regions.len() == 1 || pending.as_ref().is_some_and(|p| p.stops());
        let region = if let Scope::Region(region) = scope { Some(region).filter(|_| !all) } else { None };
        if let Some(pending) = &pending {
            let what = region.map_or("the job".into(), |r| format!("region {r}"));
            self.note(Note::CheckpointFailed { epoch: pending.epoch(), reason: format!("{what} failed: {message}") });
        }
        let random = self.random.next_u64();
        let Some(delay_ms) = (if restartable { self.restarts.failure(self.now_ms, random) } else { None }) else {
            self.cancel_running();
            return self.end(JobEnd::Failed { message });
        };
        let not_before_ms = self.after(delay_ms);
        match region {
            Some(region) => {
                self.stop(region);
                self.regions[region].recover(not_before_ms);
                if let Some(pending) = pending {
                    self.tell_aborted(pending.epoch());
                }
            }
            None => {
                let is_over = matches!(self.phase, Phase::Ending(_));
                for region in 0..self.regions.len() {
                    // At the end of the job what has ended goes back to the snapshot too: its last parts could not be written.
                    if self.regions[region].state != State::Ended || is_over {
                        self.stop(region);
                        self.regions[region].recover(not_before_ms);
                    }
                }
                self.phase = Phase::Running;
            }
        }
        let from = self.latest.as_ref().map(|m| m.epoch);
        self.note(Note::Restarting { reason: message, delay_ms, from, region });
    }

    /// The job cannot be helped by another attempt.
    pub(super) fn fail_for_good(&mut self, message: String) {
        self.fail(Scope::Job, message, false);
    }

    /// Nothing of the attempt of a region runs any more.
    pub(super) fn attempt_stopped(&mut self, region: usize) {
        if matches!(self.phase, Phase::Running) && self.regions[region].runs() {
            self.fail(Scope::Region(region), "the job stopped by itself".into(), true);
        }
        let state = &mut self.regions[region].state;
        if *state != State::Ended {
            *state = State::Gone;
        }
    }

    /// Another coordinator has claimed the job: stop whatever runs, and do nothing more.
    pub(super) fn fence(&mut self) {
        self.cancel_running();
        self.conclude(JobEnd::Fenced);
    }

    /// Cancels whatever runs.
    pub(super) fn cancel_running(&mut self) {
        for region in self.regions.iter_mut().filter(|r| r.runs()) {
            region.state = State::Cancelling;
            self.actions.push(Action::Cancel { attempt: region.attempt });
        }
    }

    pub(super) fn tell_aborted(&mut self, epoch: u64) {
        let running: Vec<Attempt> = self.running();
        self.actions.extend(running.into_iter().map(|attempt| Action::Aborted { attempt, epoch }));
    }

    /// Cancels the attempt of a region if it runs. What of it has ended counts no more.
    fn stop(&mut self, index: usize) {
        let region = &mut self.regions[index];
        if region.runs() {
            region.state = State::Cancelling;
            self.actions.push(Action::Cancel { attempt: region.attempt });
        } else if region.state == State::Ended {
            region.state = State::Gone;
        }
        for subtask in self.subtasks.iter().filter(|s| s.region == index) {
            self.ended.remove(&subtask.id);
        }
    }
}
