//! One attempt to run a job within this process: started from its task graph, watched, told of snapshots, cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rheos_core::Result;
use rheos_core::element::{Barrier, Epoch};
use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_graph::{JobMetrics, TaskGraph, TaskId};
use tokio::sync::{mpsc, watch};

use crate::control::{Command, Controls};
use crate::metrics::TaskMeters;
use crate::options::RuntimeOptions;
use crate::pool::TaskPool;
use crate::report::{Reports, TaskEvent, tell};
use crate::restore::Beginning;
use crate::share::Share;
use crate::subtask::SubtaskEnd;
use crate::wiring::{Wired, WiredSubtask, wire};

/// What an attempt is made of.
pub struct Blueprint<'a> {
    /// The job.
    pub graph: &'a TaskGraph,
    /// Who makes what it names.
    pub registry: &'a Registry,
    /// The process.
    pub env: &'a Env,
    /// How much is kept, and handed on at a time.
    pub options: &'a RuntimeOptions,
    /// Which part of it runs here.
    pub share: &'a Share,
    /// Where it begins.
    pub beginning: &'a Beginning,
}

/// Subtasks that are ready to run, their channels joined.
pub struct PreparedJob {
    subtasks: Vec<WiredSubtask>,
    reports: Reports,
    events: mpsc::UnboundedReceiver<TaskEvent>,
    cancelled: watch::Receiver<bool>,
}

impl PreparedJob {
    /// Makes everything that the attempt needs here. Nothing runs yet, but the handle can be told of snapshots already.
    pub fn new(blueprint: &Blueprint<'_>, pool: &TaskPool) -> Result<(PreparedJob, JobHandle)> {
        // Connectors may want the runtime that drives what they await while they are made.
        let _entered = pool.runtime().enter();
        let (reports, events) = mpsc::unbounded_channel();
        let Wired { subtasks, meters } = wire(blueprint, &reports)?;
        let (cancel, cancelled) = watch::channel(false);
        let controls = subtasks.iter().map(|s| ((s.task, s.index), (s.is_source, s.controls.clone()))).collect();
        let wants_full = subtasks.iter().map(|s| ((s.task, s.index), Arc::clone(&s.wants_full))).collect();
        Ok((PreparedJob { subtasks, reports, events, cancelled }, JobHandle { meters, controls, wants_full, cancel }))
    }

    /// Says true when the attempt was cancelled.
    pub(crate) fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancelled.clone()
    }

    /// Starts it on `pool`, which must outlive it. What happens is told by the events, the last of which is [`TaskEvent::Stopped`].
    pub fn start(self, pool: &TaskPool) -> mpsc::UnboundedReceiver<TaskEvent> {
        let PreparedJob { subtasks, reports, events, cancelled } = self;
        let left = Arc::new(AtomicUsize::new(subtasks.len()));
        for WiredSubtask { subtask, .. } in subtasks {
            let (cancelled, reports) = (cancelled.clone(), reports.clone());
            let gone = Gone { left: Arc::clone(&left), reports: reports.clone() };
            pool.spawn(async move {
                match subtask.run(cancelled).await {
                    SubtaskEnd::Finished(part) => tell(&reports, TaskEvent::Ended { part }),
                    SubtaskEnd::Failed(error) => tell(&reports, TaskEvent::Failed { error }),
                    SubtaskEnd::Cancelled | SubtaskEnd::PeerGone => {}
                }
                drop(gone);
            });
        }
        events
    }
}

/// Each subtask holds one; when the last is gone, the job has stopped.
struct Gone {
    left: Arc<AtomicUsize>,
    reports: Reports,
}

impl Drop for Gone {
    fn drop(&mut self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            tell(&self.reports, TaskEvent::Stopped);
        }
    }
}

/// A running attempt. It is cancelled when its handle is dropped.
#[derive(Debug)]
pub struct JobHandle {
    meters: Vec<TaskMeters>,
    /// By subtask: whether it is a source, and where it is told things.
    controls: BTreeMap<(TaskId, usize), (bool, Controls)>,
    wants_full: BTreeMap<(TaskId, usize), Arc<AtomicBool>>,
    cancel: watch::Sender<bool>,
}

impl JobHandle {
    /// What the tasks have measured so far.
    pub fn metrics(&self) -> JobMetrics {
        JobMetrics { tasks: self.meters.iter().map(TaskMeters::report).collect() }
    }

    /// Puts a barrier in at all sources; they give no rows after it where `stop` says so.
    pub fn trigger(&self, barrier: Barrier, stop: bool) {
        for (_, controls) in self.controls.values().filter(|(is_source, _)| *is_source) {
            controls.tell(Command::Trigger { barrier, stop });
        }
    }

    /// Tells all subtasks that a snapshot is complete.
    pub fn completed(&self, epoch: Epoch) {
        self.controls.values().for_each(|(_, controls)| controls.tell(Command::Completed(epoch)));
    }

    /// Tells all subtasks that a snapshot is given up.
    pub fn aborted(&self, epoch: Epoch) {
        self.controls.values().for_each(|(_, controls)| controls.tell(Command::Aborted(epoch)));
    }

    /// The next snapshot of a subtask has to be whole.
    pub fn want_full(&self, task: TaskId, index: usize) {
        if let Some(flag) = self.wants_full.get(&(task, index)) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the attempt soon: everything is closed, nothing is published. [`TaskEvent::Stopped`] tells when it has ended.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.cancel();
    }
}
