//! Recovering: the attempt of a region is gone, and before the next one is deployed it must be known from where, what it left behind
//! is thrown away, and what the snapshot there promised must be committed. The other regions run on meanwhile.

use std::ops::Range;

use rheos_core::time::TimestampMs;

use crate::barrier::CheckpointKind;
use crate::coordinator::region::{Region, State};
use crate::coordinator::tokens::TokenSet;
use crate::coordinator::{Action, JobMaster, Phase, Recovery, Restore};

impl JobMaster {
    /// When regions are due whose attempts are gone.
    pub(super) fn recovery_wakeups_ms(&self) -> impl Iterator<Item = TimestampMs> {
        self.regions.iter().filter(|r| r.state == State::Gone).map(|r| r.not_before_ms)
    }

    pub(super) fn advance_recovery(&mut self) {
        let is_due = |r: &Region, now_ms| r.state == State::Gone && now_ms >= r.not_before_ms;
        if !matches!(self.phase, Phase::Running) || self.write.is_some() || !self.regions.iter().any(|r| is_due(r, self.now_ms)) {
            return;
        }
        if !self.settle() {
            return;
        }
        for region in 0..self.regions.len() {
            // What it prepared early may be in the commit that is under way.
            if is_due(&self.regions[region], self.now_ms) && !self.regions[region].is_clean && self.commit.is_none() {
                self.clean_up(region);
            }
        }
        let ready: Vec<usize> =
            (0..self.regions.len()).filter(|r| is_due(&self.regions[*r], self.now_ms) && self.regions[*r].is_clean).collect();
        if ready.is_empty() {
            return;
        }
        self.commit_if_idle();
        if self.unconfirmed.is_empty() {
            ready.into_iter().for_each(|region| self.deploy(region));
        }
    }

    /// Whether commits that precede the next attempts are being made.
    pub(super) fn recommits(&self) -> bool {
        self.regions.iter().any(|r| r.state == State::Gone && r.is_clean)
    }

    /// A commit failed on the way: again, later.
    pub(super) fn recover_later(&mut self, not_before_ms: TimestampMs) {
        for region in self.regions.iter_mut().filter(|r| matches!(r.state, State::Gone | State::Cancelling)) {
            region.not_before_ms = region.not_before_ms.max(not_before_ms);
        }
    }

    /// Throws away what the last attempt of a region left behind, and has committed again what the snapshot promises.
    fn clean_up(&mut self, index: usize) {
        self.abort_uncovered(index..index + 1);
        let region = &mut self.regions[index];
        region.is_clean = true;
        self.unconfirmed.remove(region.early.iter());
        region.early.clear();
        if let Some(manifest) = &self.latest {
            self.unconfirmed.extend(&manifest.tokens);
        }
    }

    /// Throws away the output of attempts that are gone, as far as no snapshot names it.
    pub(super) fn abort_uncovered(&mut self, regions: Range<usize>) {
        let mut tokens = TokenSet::default();
        for region in &mut self.regions[regions] {
            tokens.extend(region.uncovered.iter());
            region.uncovered.clear();
        }
        if let Some(unsettled) = &self.unsettled {
            tokens.remove(unsettled.tokens.iter());
        }
        if !tokens.is_empty() {
            self.actions.push(Action::Abort { tokens: tokens.to_vec() });
        }
    }

    fn deploy(&mut self, region: usize) {
        let again = self.regions[region].attempt > 0;
        let restore = match &self.latest {
            _ if again && self.config.recovery == Recovery::Gap => Restore::EndOfInput,
            Some(manifest) => Restore::From(manifest.clone()),
            None => Restore::Fresh,
        };
        let is_foreign = self.latest.as_ref().is_some_and(|m| m.borrowed || m.kind == CheckpointKind::Savepoint);
        let others_run = self.runs();
        self.full_next = is_foreign || (self.full_next && others_run);
        if !others_run {
            self.failures_in_row = 0;
        }
        self.attempt += 1;
        self.regions[region].attempt = self.attempt;
        self.regions[region].state = State::Deploying;
        let generation = self.generation().unwrap_or(0);
        self.actions.push(Action::Deploy { attempt: self.attempt, region, generation, restore });
    }
}
