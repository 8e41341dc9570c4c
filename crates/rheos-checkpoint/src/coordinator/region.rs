//! Regions: the parts of a job that fail, and are deployed, alone.
//!
//! A region is a connected component of the job's subtasks: no row leaves it, so it can go back to a snapshot while the others run
//! on. A snapshot is of all regions, and so is a commit; what belongs to one region is its attempt, and what that has prepared.

use rheos_core::time::TimestampMs;

use crate::coordinator::tokens::TokenSet;
use crate::coordinator::{Attempt, Config, JobMaster, Phase, Recovery};
use crate::part::SubtaskId;

/// One region.
pub(super) struct Region {
    /// Its last attempt; 0 before the first.
    pub(super) attempt: Attempt,
    pub(super) state: State,
    /// When the next attempt may be deployed.
    pub(super) not_before_ms: TimestampMs,
    /// What the last attempt left behind is thrown away; only commits are awaited before the next one.
    pub(super) is_clean: bool,
    /// Tokens of its attempt that are in no complete snapshot.
    pub(super) uncovered: TokenSet,
    /// Tokens that were given to a commit as soon as they were acknowledged ([`Recovery::Rollback`]).
    pub(super) early: TokenSet,
}

/// How far the attempt of a region is. What follows on [`State::Gone`] the phase of the job says: another attempt, or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is being deployed.
    Deploying,
    /// It runs.
    Running,
    /// It was told to stop.
    Cancelling,
    /// Nothing of it runs.
    Gone,
    /// All its subtasks have ended. It is not deployed again when others fail: their last parts stand for it.
    Ended,
}

impl Region {
    pub(super) fn new() -> Self {
        Region {
            attempt: 0,
            state: State::Gone,
            not_before_ms: 0,
            is_clean: false,
            uncovered: TokenSet::default(),
            early: TokenSet::default(),
        }
    }

    /// Whether its attempt works, or is about to.
    pub(super) fn runs(&self) -> bool {
        matches!(self.state, State::Deploying | State::Running)
    }

    /// Another attempt follows, not before this time.
    pub(super) fn recover(&mut self, not_before_ms: TimestampMs) {
        self.is_clean = false;
        self.not_before_ms = self.not_before_ms.max(not_before_ms);
    }
}

/// Whether the regions of such a job fail alone. Without durable snapshots, and where a failure is to leave a gap, a restart goes back
/// to no snapshot but begins anew, or at the end of the input; such a beginning is the job's: all that it gives is of one.
pub(super) fn fail_alone(config: &Config) -> bool {
    config.checkpointing.as_ref().is_some_and(|c| c.durable) && config.recovery != Recovery::Gap
}

impl JobMaster {
    /// The region with this attempt.
    pub(super) fn region_with(&self, attempt: Attempt) -> Option<usize> {
        self.regions.iter().position(|r| r.attempt == attempt)
    }

    pub(super) fn region_of(&self, id: SubtaskId) -> Option<usize> {
        self.subtasks.iter().find(|s| s.id == id).map(|s| s.region)
    }

    /// The attempts that run.
    pub(super) fn running(&self) -> Vec<Attempt> {
        self.regions.iter().filter(|r| r.runs()).map(|r| r.attempt).collect()
    }

    /// Whether the job goes on, and some of it runs.
    pub(super) fn runs(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.regions.iter().any(Region::runs)
    }

    /// Whether all of the job runs that has not ended.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.phase, Phase::Running) && self.regions.iter().all(|r| matches!(r.state, State::Running | State::Ended))
    }
}
