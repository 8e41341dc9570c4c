//! The master of one job: a state machine that claims the job, has it deployed, takes its snapshots, has output committed, and
//! starts it again when it fails. Events in, actions out.
//!
//! ```text
//!             ┌───────────────────────── restart ──────────────────────┐
//!             v                                                        │
//! Starting ─> Recovering ──────────────> Deploying ─> Running ─────────┴─> Ending ─> Ended
//! (claim,     (wait, settle what was     (an attempt)  (snapshots,          (final manifest,
//!  read)       written, commit again)                   commits)             last commit, stop)
//! ```
//!
//! Each state is a file. What runs beside them: `requests` to storage, the one manifest that is being written
//! (`completion`), the one commit that is being made (`commit`), and deletions (`deletion`).

mod checkpoint;
mod commit;
mod completion;
mod config;
mod deletion;
mod ending;
mod event;
mod note;
mod recovering;
mod requests;
mod starting;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::env::{Random, SplitMix64};
use rheos_core::sink::CommitToken;
use rheos_core::time::TimestampMs;

use crate::manifest::Manifest;
use crate::part::SubtaskId;
use crate::restart::Restarts;
use checkpoint::{EndedSubtask, Pending, Wanted};
use completion::Write;
pub use config::{Checkpointing, Config, Recovery, Start, Subtask};
use deletion::JobLog;
use ending::{Ending, Gone};
pub use event::{Action, Attempt, CommitError, CommitId, Event, JobEnd, OpId, Restore, StorageOp, StorageOutcome};
pub use note::{CheckpointStats, Note};
use recovering::Recovering;
use requests::{Purpose, Request, Requests};
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
    /// The tokens of manifests whose writing failed and that may be, or still come, in the log.
    unsettled: Option<TokenSet>,
    /// The last parts of subtasks of this attempt that have ended.
    ended: BTreeMap<SubtaskId, EndedSubtask>,
    /// The tokens of the latest complete snapshot.
    covered: TokenSet,
    /// Tokens of this attempt that are in no complete snapshot.
    uncovered: TokenSet,
    /// Tokens that are to be committed, and not known to be.
    unconfirmed: TokenSet,
    /// Tokens that were given to a commit as soon as they were acknowledged ([`Recovery::Rollback`]).
    early: TokenSet,
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
    Recovering(Recovering),
    Deploying,
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
            uncovered: TokenSet::default(),
            unconfirmed: TokenSet::default(),
            early: TokenSet::default(),
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
        let phase = match &self.phase {
            Phase::New => return Some(self.now_ms),
            Phase::Recovering(r) => r.wakeup_ms(),
            Phase::Ending(e) => e.wakeup_ms(),
            Phase::Running => self.pending_deadline_ms().or_else(|| self.trigger_wakeup_ms()),
            Phase::Deploying | Phase::Starting(_) => None,
            Phase::Ended => return None,
        };
        // What is due already waits for something else than time.
        let phase = phase.filter(|at| *at > self.now_ms && *at != TimestampMs::MAX);
        [phase, self.requests.next_wakeup_ms()].into_iter().flatten().min()
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
            Event::Stopped { attempt } if attempt == self.attempt => self.attempt_stopped(),
            _ if !matches!(self.phase, Phase::Deploying | Phase::Running) => {}
            Event::Deployed { attempt } if attempt == self.attempt => self.deployed(),
            Event::Ack { attempt, epoch, part } if attempt == self.attempt => self.ack(epoch, part),
            Event::Declined { attempt, epoch, subtask, reason } if attempt == self.attempt => self.declined(epoch, subtask, &reason),
            Event::Ended { attempt, after, part } if attempt == self.attempt => self.subtask_ended(after, part),
            Event::Failed { attempt, message, restartable } if attempt == self.attempt => self.fail(message, restartable),
            // Of another attempt.
            Event::Stopped { .. }
            | Event::Deployed { .. }
            | Event::Ack { .. }
            | Event::Declined { .. }
            | Event::Ended { .. }
            | Event::Failed { .. } => {}
        }
    }

    fn storage_done(&mut self, request: Request, outcome: StorageOutcome) {
        match request.purpose {
            Purpose::ListForClaim | Purpose::PutClaim | Purpose::LookAtClaim | Purpose::ListAfterClaim | Purpose::ReadRecord(_) => {
                self.starting_done(request, outcome);
            }
            Purpose::PutManifest | Purpose::LookAtManifest => self.write_done(request, outcome),
            Purpose::Settle => self.settle_done(request, outcome),
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

    /// The attempt cannot go on: the next one is planned, or the job fails.
    fn fail(&mut self, message: String, restartable: bool) {
        if let Some(pending) = self.pending.take() {
            self.note(Note::CheckpointFailed { epoch: pending.epoch(), reason: format!("the job failed: {message}") });
        }
        let gone = match &self.phase {
            Phase::Deploying | Phase::Running => {
                self.actions.push(Action::Cancel { attempt: self.attempt });
                false
            }
            Phase::Recovering(r) => r.is_gone(),
            Phase::Ending(e) => e.is_gone(),
            _ => true,
        };
        let random = self.random.next_u64();
        match if restartable { self.restarts.failure(self.now_ms, random) } else { None } {
            Some(delay_ms) => {
                let from = self.latest.as_ref().map(|m| m.epoch);
                self.note(Note::Restarting { reason: message, delay_ms, from });
                self.phase = Phase::Recovering(Recovering::new(gone, self.after(delay_ms)));
            }
            None => self.end(JobEnd::Failed { message }, if gone { Gone::Yes } else { Gone::Cancelling }),
        }
    }

    /// The job cannot be helped by another attempt.
    fn fail_for_good(&mut self, message: String) {
        self.fail(message, false);
    }

    /// Another coordinator has claimed the job: stop whatever runs, and do nothing more.
    fn fence(&mut self) {
        let runs = match &self.phase {
            Phase::Deploying | Phase::Running => true,
            Phase::Ending(e) => e.runs(),
            _ => false,
        };
        if runs {
            self.actions.push(Action::Cancel { attempt: self.attempt });
        }
        self.conclude(JobEnd::Fenced);
    }

    fn note(&mut self, note: Note) {
        self.actions.push(Action::Note(note));
    }

    fn conclude(&mut self, end: JobEnd) {
        self.phase = Phase::Ended;
        self.actions.push(Action::Ended(end));
    }
}
