//! The master of one job: a state machine that claims the job, has it deployed, takes its snapshots, has output committed, and
//! starts it again when it fails. Events in, actions out.
//!
//! ```text
//! job:     Starting ──────> Running ────────────────────────────────────────────> Ending ─────────────> Ended
//!          (claim, read)    (snapshots, commits)                                  (final manifest,
//!                                                                                  last commit, stop)
//! region:           ┌──────────────────── restart ────────────────────┐
//!                   v                                                 │
//!                   Gone ─────────────────> Deploying ─> Running ─> Cancelling
//!                   (wait, settle what was                └─> Ended
//!                   written, commit again)
//! ```
//!
//! The job has a phase, and each of its regions (`region`) a state; a job whose subtasks are all connected has one. Snapshots and
//! commits are of the whole job: a snapshot is triggered when all regions run that have not ended, and commits go on whatever
//! fails. Attempts are of regions: one that fails goes back to the latest snapshot alone (`failing`, `recovering`).
//!
//! What runs beside them: `requests` to storage, the one manifest that is being written (`completion`), what is found out about one
//! whose writing failed (`settling`), the one commit that is being made (`commit`), and deletions (`deletion`).

mod checkpoint;
mod commit;
mod completion;
mod config;
mod deletion;
mod ending;
mod event;
mod failing;
mod note;
mod parts;
mod recovering;
mod region;
mod requests;
mod settling;
mod starting;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::env::SplitMix64;
use rheos_core::sink::CommitToken;
use rheos_core::time::TimestampMs;

use crate::manifest::Manifest;
use crate::part::SubtaskId;
use crate::restart::Restarts;
use checkpoint::{Pending, Wanted};
use completion::Write;
pub use config::{Checkpointing, Config, Recovery, Start, Subtask};
use deletion::JobLog;
use ending::Ending;
pub use event::{Action, Attempt, CommitError, CommitId, Event, JobEnd, OpId, Restore, StorageOp, StorageOutcome};
use failing::Scope;
pub use note::{CheckpointStats, Note};
use parts::EndedSubtask;
use region::Region;
use requests::{Purpose, Request, Requests};
use settling::Unsettled;
use starting::Starting;
use tokens::TokenSet;

/// The state machine of one job.
///
/// Call [`Self::handle`] with every event, [`Event::Tick`] first, and do the actions that it returns in their order; call it
/// with a tick when [`Self::next_wakeup_ms`] has come. After [`Action::Ended`] it does nothing more.
pub struct JobMaster {
    config: Config,
    subtasks: Vec<Subtask>,
    random: SplitMix64,
    now_ms: TimestampMs,
    /// What the call under way wants done.
    actions: Vec<Action>,
    phase: Phase,
    requests: Requests,
    /// The log, once claimed.
    log: Option<JobLog>,
    regions: Vec<Region>,
    /// Whether what fails one region fails all.
    fails_together: bool,
    /// The last attempt that was deployed.
    attempt: Attempt,
    /// The last epoch that was given out, or occurs in the log.
    epoch: Epoch,
    /// The latest complete snapshot: where a restart goes on.
    latest: Option<Arc<Manifest>>,
    /// Whether the next snapshot must be whole, since the files of the last one are somebody else's.
    full_next: bool,
    /// The snapshot whose parts are awaited.
    pending: Option<Pending>,
    /// The manifest that is being written.
    write: Option<Write>,
    /// Manifests whose writing failed and that may be, or still come, in the log.
    unsettled: Option<Unsettled>,
    /// The last parts of subtasks of the current attempts that have ended.
    ended: BTreeMap<SubtaskId, EndedSubtask>,
    /// The tokens of the latest complete snapshot.
    covered: TokenSet,
    /// Tokens that are to be committed, and not known to be.
    unconfirmed: TokenSet,
    /// The commit that is being made.
    commit: Option<(CommitId, Vec<CommitToken>)>,
    last_commit: CommitId,
    restarts: Restarts,
    /// Snapshots that failed since the last that did not.
    failures_in_row: u32,
    next_trigger_ms: TimestampMs,
    /// The savepoint that somebody wants.
    wanted: Option<Wanted>,
}

enum Phase {
    New,
    Starting(Starting),
    /// Its regions run, or recover.
    Running,
    Ending(Ending),
    Ended,
}

impl JobMaster {
    /// The master of a job with these subtasks.
    pub fn new(config: Config, subtasks: Vec<Subtask>) -> Self {
        JobMaster {
            random: SplitMix64::new(config.nonce),
            restarts: Restarts::new(config.restart.clone()),
            regions: (0..subtasks.iter().map(|s| s.region + 1).max().unwrap_or(1)).map(|_| Region::new()).collect(),
            fails_together: !region::fail_alone(&config),
            config,
            subtasks,
            now_ms: 0,
            actions: Vec::new(),
            phase: Phase::New,
            requests: Requests::default(),
            log: None,
            attempt: 0,
            epoch: 0,
            latest: None,
            full_next: false,
            pending: None,
            write: None,
            unsettled: None,
            ended: BTreeMap::new(),
            covered: TokenSet::default(),
            unconfirmed: TokenSet::default(),
            commit: None,
            last_commit: 0,
            failures_in_row: 0,
            next_trigger_ms: TimestampMs::MAX,
            wanted: None,
        }
    }

    /// Takes an event in and says what is to be done.
    pub fn handle(&mut self, now_ms: TimestampMs, event: Event) -> Vec<Action> {
        self.now_ms = self.now_ms.max(now_ms);
        if matches!(self.phase, Phase::Ended) {
            return Vec::new();
        }
        if matches!(self.phase, Phase::New) {
            self.start();
        }
        self.dispatch(event);
        self.advance();
        std::mem::take(&mut self.actions)
    }

    /// When a tick is due, if nothing happens before.
    pub fn next_wakeup_ms(&self) -> Option<TimestampMs> {
        let phase: Vec<TimestampMs> = match &self.phase {
            Phase::New => return Some(self.now_ms),
            Phase::Starting(_) => Vec::new(),
            Phase::Running => {
                let trigger = self.pending_deadline_ms().or_else(|| self.trigger_wakeup_ms());
                self.recovery_wakeups_ms().chain(trigger).collect()
            }
            Phase::Ending(e) => e.wakeup_ms().into_iter().collect(),
            Phase::Ended => return None,
        };
        // What is due already waits for something else than time.
        let phase = phase.into_iter().filter(|at| *at > self.now_ms && *at != TimestampMs::MAX);
        phase.chain(self.requests.next_wakeup_ms()).min()
    }

    /// Whether the job is over.
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// The position of the master's claim, once it has one.
    pub fn generation(&self) -> Option<u64> {
        self.log.as_ref().map(|log| log.appender.generation())
    }

    /// The latest complete snapshot.
    pub fn latest(&self) -> Option<&Arc<Manifest>> {
        self.latest.as_ref()
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Tick => {}
            Event::Storage { op, outcome } => {
                if let Some(request) = self.requests.done(op) {
                    self.storage_done(request, outcome);
                }
            }
            Event::CommitDone { commit, outcome } => self.commit_done(commit, outcome),
            Event::SavepointRequested => self.want_savepoint(false),
            Event::StopRequested { savepoint: true } => self.want_savepoint(true),
            Event::StopRequested { savepoint: false } => self.cancel(),
            Event::Deployed { attempt }
            | Event::Ack { attempt, .. }
            | Event::Declined { attempt, .. }
            | Event::Ended { attempt, .. }
            | Event::Failed { attempt, .. }
            | Event::Stopped { attempt } => {
                // Otherwise of an earlier attempt.
                if let Some(region) = self.region_with(attempt) {
                    self.attempt_event(region, event);
                }
            }
        }
    }

    /// Something happened to the current attempt of a region.
    fn attempt_event(&mut self, region: usize, event: Event) {
        let runs = matches!(self.phase, Phase::Running) && self.regions[region].runs();
        match event {
            Event::Stopped { .. } => self.attempt_stopped(region),
            _ if !runs => {}
            Event::Deployed { .. } => self.deployed(region),
            Event::Ack { epoch, part, .. } => self.ack(region, epoch, part),
            Event::Declined { epoch, subtask, reason, .. } => self.declined(epoch, subtask, &reason),
            Event::Ended { after, part, .. } => self.subtask_ended(region, after, part),
            Event::Failed { message, restartable, .. } => self.fail(Scope::Region(region), message, restartable),
            _ => {}
        }
    }

    fn storage_done(&mut self, request: Request, outcome: StorageOutcome) {
        match request.purpose {
            Purpose::ListForClaim | Purpose::PutClaim | Purpose::LookAtClaim | Purpose::ListAfterClaim | Purpose::ReadRecord(_) => {
                self.starting_done(request, outcome);
            }
            Purpose::PutManifest | Purpose::LookAtManifest => self.write_done(request, outcome),
            Purpose::PutRetired | Purpose::LookAtRetired => self.settle_done(request, outcome),
            Purpose::ListFiles | Purpose::DropManifest(_) | Purpose::DropFile => self.deletion_done(request, outcome),
        }
    }

    /// Does what has become due or possible.
    fn advance(&mut self) {
        self.expire();
        self.trigger_if_due();
        self.advance_recovery();
        self.advance_ending();
        if !matches!(self.phase, Phase::Ended) {
            self.requests.pump(self.now_ms, &mut self.actions);
        }
    }

    /// Whether snapshots go to storage.
    fn is_durable(&self) -> bool {
        self.config.checkpointing.as_ref().is_some_and(|c| c.durable)
    }

    fn after(&self, ms: u64) -> TimestampMs {
        self.now_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
    }

    fn note(&mut self, note: Note) {
        self.actions.push(Action::Note(note));
    }

    fn conclude(&mut self, end: JobEnd) {
        self.phase = Phase::Ended;
        self.actions.push(Action::Ended(end));
    }
}
