//! One attempt to run a job within this process: started from its task graph, watched, told of snapshots, cancelled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rheos_core::Result;
use rheos_core::element::{Barrier, Epoch};
use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_graph::{TaskGraph, TaskId};
use tokio::sync::{mpsc, watch};

use crate::control::{Command, Controls};
use crate::metrics::{JobMetrics, TaskMeters};
use crate::options::RuntimeOptions;
use crate::pool::TaskPool;
use crate::report::{Reports, TaskEvent, tell};
use crate::restore::Beginning;
use crate::subtask::SubtaskEnd;
use crate::wiring::{Wired, WiredSubtask, wire};

/// Runs all subtasks of a job in this process.
pub struct LocalJob;

impl LocalJob {
    /// Makes everything that the graph asks for and starts it on `pool`. An error here means that nothing has run; what happens later
    /// is told by the events, the last of which is [`TaskEvent::Stopped`]. The pool must outlive the job.
    pub fn start(
        graph: &TaskGraph,
        registry: &Registry,
        env: &Env,
        options: &RuntimeOptions,
        pool: &TaskPool,
        beginning: &Beginning,
    ) -> Result<(JobHandle, mpsc::UnboundedReceiver<TaskEvent>)> {
        // Connectors may want the runtime that drives what they await while they are made.
        let _entered = pool.runtime().enter();
        let (reports, events) = mpsc::unbounded_channel();
        let Wired { subtasks, meters } = wire(graph, registry, env, options, beginning, &reports)?;
        let (cancel, cancelled) = watch::channel(false);
        let left = Arc::new(AtomicUsize::new(subtasks.len()));
        let (mut controls, mut wants_full) = (BTreeMap::new(), BTreeMap::new());
        for WiredSubtask { task, index, is_source, subtask, controls: told, wants_full: flag } in subtasks {
            controls.insert((task, index), (is_source, told));
            wants_full.insert((task, index), flag);
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
        Ok((JobHandle { meters, controls, wants_full, cancel }, events))
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
