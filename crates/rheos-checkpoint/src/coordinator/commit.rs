//! Committing what the sinks prepared: one commit at a time, so that a sink sees epochs in order.

use rheos_core::env::Random;

use crate::coordinator::failing::Scope;
use crate::coordinator::{Action, CommitError, CommitId, JobEnd, JobMaster, Note, Phase};

impl JobMaster {
    /// Commits all that waits, unless a commit is under way.
    pub(super) fn commit_if_idle(&mut self) {
        if self.commit.is_none() && !self.unconfirmed.is_empty() {
            self.last_commit += 1;
            let tokens = self.unconfirmed.to_vec();
            self.commit = Some((self.last_commit, tokens.clone()));
            self.actions.push(Action::Commit { commit: self.last_commit, tokens });
        }
    }

    pub(super) fn commit_done(&mut self, commit: CommitId, outcome: Result<(), CommitError>) {
        let Some((_, tokens)) = self.commit.take_if(|(id, _)| *id == commit) else { return };
        match outcome {
            Ok(()) => {
                self.unconfirmed.remove(&tokens);
                for ended in self.ended.values_mut() {
                    ended.part.tokens.retain(|t| !tokens.contains(t));
                }
                if self.runs() {
                    self.commit_if_idle();
                }
            }
            Err(CommitError { message, restartable }) => self.commit_failed(format!("commit failed: {message}"), restartable),
        }
    }

    /// A failed commit fails all that runs, since it is of all regions; where nothing runs it is only made again.
    fn commit_failed(&mut self, message: String, restartable: bool) {
        let retries = match &self.phase {
            Phase::Running if self.runs() => return self.fail(Scope::Job, message, restartable),
            // One of the last attempts is made again in any case.
            Phase::Running => self.recommits() || !restartable,
            Phase::Ending(e) => e.needs_commit(),
            _ => false,
        };
        if !retries {
            return;
        }
        let random = self.random.next_u64();
        match if restartable { self.restarts.failure(self.now_ms, random) } else { None } {
            Some(delay_ms) => {
                let from = self.latest.as_ref().map(|m| m.epoch);
                self.note(Note::Restarting { reason: message, delay_ms, from, region: None });
                let at = self.after(delay_ms);
                self.recover_later(at);
                self.end_later(at);
            }
            None => self.end(JobEnd::Failed { message }),
        }
    }
}
