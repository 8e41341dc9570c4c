//! One job of the cluster while the coordinator knows it: driven in the background, watched by whoever asks.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rheos_checkpoint::coordinator::{CheckpointStats, JobEnd, Note};
use rheos_core::element::Epoch;
use rheos_core::env::Clock;
use rheos_core::time::TimestampMs;
use rheos_graph::TaskGraph;
use tokio::sync::{mpsc, watch};

use super::record::{Ending, JobRecord, Outcome};
use super::remote::{RemoteWorkers, Standing};
use crate::driver::Request;
use crate::workers::Observer;

/// How many lines of a job's story are kept.
const KEPT_LINES: usize = 1000;

/// A line of a job's story.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct LogLine {
    /// Its number, rising by one.
    pub number: u64,
    /// When.
    pub at_ms: TimestampMs,
    /// What happened.
    pub text: String,
}

/// How the snapshots of a job go.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct CheckpointInfo {
    /// How many were completed since the coordinator took the job over.
    pub completed: u64,
    /// How many failed.
    pub failed: u64,
    /// The last that was completed.
    pub last_epoch: Option<Epoch>,
    /// How long that took, in milliseconds.
    pub last_duration_ms: Option<u64>,
    /// How large its state is, in bytes.
    pub last_bytes: Option<u64>,
}

/// A job that the coordinator knows.
pub(crate) struct ClusterJob {
    pub(crate) record: JobRecord,
    pub(crate) graph: Arc<TaskGraph>,
    /// Where its folder of snapshots is.
    pub(crate) location: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Rises with every line and change.
    pub(crate) changes: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    workers: Option<RemoteWorkers>,
    requests: Option<mpsc::UnboundedSender<Request>>,
    ending: Option<Ending>,
    restarts: u64,
    is_restarting: bool,
    checkpoints: CheckpointInfo,
    lines: VecDeque<LogLine>,
    next_line: u64,
}

impl ClusterJob {
    pub(crate) fn new(record: JobRecord, graph: Arc<TaskGraph>, location: String, clock: Arc<dyn Clock>) -> Self {
        let state = State { ending: record.ending.clone(), ..State::default() };
        ClusterJob { record, graph, location, clock, state: Mutex::new(state), changes: watch::channel(0).0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is driven from now on.
    pub(crate) fn driven_by(&self, workers: RemoteWorkers, requests: mpsc::UnboundedSender<Request>) {
        let mut state = self.lock();
        state.workers = Some(workers);
        state.requests = Some(requests);
    }

    pub(crate) fn workers(&self) -> Option<RemoteWorkers> {
        self.lock().workers.clone()
    }

    /// Wants something of it; false if it has ended.
    pub(crate) fn ask(&self, request: Request) -> bool {
        self.lock().requests.as_ref().is_some_and(|requests| requests.send(request).is_ok())
    }

    /// How it has ended, if it has.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.lock().ending.clone()
    }

    /// It has ended.
    pub(crate) fn ended(&self, ending: Ending) {
        let text = match (ending.outcome, &ending.detail) {
            (Outcome::Finished, _) => "finished: all input was read, all output is visible".to_string(),
            (Outcome::Canceled, _) => "canceled".to_string(),
            (Outcome::Stopped, detail) => format!("stopped with {}", detail.as_deref().unwrap_or("a savepoint")),
            (Outcome::Failed, detail) => format!("failed: {}", detail.as_deref().unwrap_or("for no known reason")),
        };
        let mut state = self.lock();
        state.ending = Some(ending);
        state.requests = None;
        state.workers = None;
        state.is_restarting = false;
        drop(state);
        self.tell(text);
    }

    /// Adds a line to its story.
    pub(crate) fn tell(&self, text: impl Into<String>) {
        let mut state = self.lock();
        let line = LogLine { number: state.next_line, at_ms: self.clock.now_ms(), text: text.into() };
        tracing::info!(job = self.record.id, "{}", line.text);
        state.next_line += 1;
        state.lines.push_back(line);
        if state.lines.len() > KEPT_LINES {
            state.lines.pop_front();
        }
        drop(state);
        self.changes.send_modify(|n| *n += 1);
    }

    /// The lines from a number on.
    pub(crate) fn lines(&self, from: u64) -> Vec<LogLine> {
        self.lock().lines.iter().filter(|line| line.number >= from).cloned().collect()
    }

    pub(crate) fn restarts(&self) -> u64 {
        self.lock().restarts
    }

    pub(crate) fn checkpoints(&self) -> CheckpointInfo {
        self.lock().checkpoints.clone()
    }

    /// How it stands: a word, and for people what it waits for.
    pub(crate) fn standing(&self) -> (&'static str, Option<String>) {
        let state = self.lock();
        if let Some(ending) = &state.ending {
            let word = match ending.outcome {
                Outcome::Finished => "FINISHED",
                Outcome::Canceled => "CANCELED",
                Outcome::Stopped => "STOPPED",
                Outcome::Failed => "FAILED",
            };
            return (word, ending.detail.clone());
        }
        match state.workers.as_ref().map(RemoteWorkers::standing) {
            Some(Standing::Lacks { needs, free }) => {
                let slots = if needs == 1 { "1 slot".to_string() } else { format!("{needs} slots") };
                ("WAITING", Some(format!("it needs {slots}, and {free} are free: start more workers, or end another job")))
            }
            Some(Standing::Runs) if !state.is_restarting => ("RUNNING", None),
            Some(Standing::Rests | Standing::Runs | Standing::Deploys) if state.is_restarting => ("RESTARTING", None),
            Some(_) | None => ("STARTING", None),
        }
    }

    fn done(&self, epoch: Epoch, stats: CheckpointStats) {
        let mut state = self.lock();
        let checkpoints = &mut state.checkpoints;
        checkpoints.completed += 1;
        checkpoints.last_epoch = Some(epoch);
        checkpoints.last_duration_ms = Some(stats.duration_ms);
        checkpoints.last_bytes = Some(stats.bytes);
    }
}

impl Observer for ClusterJob {
    fn note(&self, note: Note) {
        match note {
            Note::Running { from } => {
                self.lock().is_restarting = false;
                self.tell(match from {
                    Some(epoch) => format!("starts from the snapshot of epoch {epoch}"),
                    None => "starts".to_string(),
                });
            }
            Note::Restarting { reason, delay_ms, region, .. } => {
                let mut state = self.lock();
                state.restarts += 1;
                state.is_restarting = true;
                drop(state);
                let what = region.map(|region| format!("region {region} ")).unwrap_or_default();
                self.tell(format!("{what}restarts in {:.1} s: {reason}", delay_ms as f64 / 1000.0));
            }
            Note::CheckpointDone { epoch, stats } => self.done(epoch, stats),
            Note::CheckpointFailed { epoch, reason } => {
                self.lock().checkpoints.failed += 1;
                self.tell(if epoch == 0 {
                    format!("a snapshot failed: {reason}")
                } else {
                    format!("the snapshot of epoch {epoch} failed: {reason}")
                });
            }
        }
    }
}

/// What is stored of a job's end; `None` where somebody else goes on with it.
pub(crate) fn ending(end: JobEnd, at_ms: TimestampMs) -> Option<Ending> {
    let (outcome, detail) = match end {
        JobEnd::Finished => (Outcome::Finished, None),
        JobEnd::Cancelled => (Outcome::Canceled, None),
        JobEnd::Stopped { savepoint } => (Outcome::Stopped, Some(format!("the savepoint of epoch {savepoint}"))),
        JobEnd::Failed { message } => (Outcome::Failed, Some(message)),
        JobEnd::Fenced => return None,
    };
    Some(Ending { outcome, at_ms, detail })
}
