//! A job within this process: started from its task graph, watched, cancelled, waited for.

use std::sync::{Arc, Mutex, PoisonError};

use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::{Error, Result};
use rheos_graph::TaskGraph;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::metrics::{JobMetrics, TaskMeters};
use crate::options::RuntimeOptions;
use crate::supervise::supervise;
use crate::wiring::{Wired, wire};

/// How a job that did not fail has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// All input was processed and all output is visible.
    Finished,
    /// It was cancelled; nothing was published.
    Cancelled,
}

/// Runs all subtasks of a job in this process.
pub struct LocalJob;

impl LocalJob {
    /// Makes everything that the graph asks for and starts it on `runtime`, which is for tasks alone: they compute for long
    /// stretches. An error here means that nothing has run; what fails later is told by [`JobHandle::wait`].
    pub fn start(graph: &TaskGraph, registry: &Registry, env: &Env, options: &RuntimeOptions, runtime: &Handle) -> Result<JobHandle> {
        // Connectors may want the runtime they will run on while they are made.
        let _entered = runtime.enter();
        let Wired { subtasks, meters, sinks } = wire(graph, registry, env, options)?;
        let (cancel, cancelled) = watch::channel(false);
        let mut set = JoinSet::new();
        for (sink, subtask) in subtasks {
            let cancelled = cancelled.clone();
            set.spawn_on(async move { (sink, subtask.run(cancelled).await) }, runtime);
        }
        let (done, is_done) = watch::channel(false);
        let end = Arc::new(Mutex::new(None));
        let supervisor = {
            let (cancel, end) = (cancel.clone(), Arc::clone(&end));
            async move {
                let how = supervise(set, sinks, cancel).await;
                *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
                done.send_replace(true);
            }
        };
        runtime.spawn(supervisor);
        Ok(JobHandle { name: graph.job.name.clone(), meters, cancel, is_done, end })
    }
}

/// A running job. It is cancelled when its handle is dropped.
#[derive(Debug)]
pub struct JobHandle {
    name: String,
    meters: Vec<TaskMeters>,
    cancel: watch::Sender<bool>,
    is_done: watch::Receiver<bool>,
    end: Arc<Mutex<Option<Result<JobEnd>>>>,
}

impl JobHandle {
    /// The job's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tasks have measured so far.
    pub fn metrics(&self) -> JobMetrics {
        JobMetrics { tasks: self.meters.iter().map(TaskMeters::report).collect() }
    }

    /// Ends the job soon: everything is closed, nothing more is published. [`JobHandle::wait`] says when it has ended.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// Whether the job has ended.
    pub fn is_done(&self) -> bool {
        *self.is_done.borrow()
    }

    /// Waits until the job has ended: all is closed, and committed if it finished. Fails with the first failure of a subtask.
    pub async fn wait(&self) -> Result<JobEnd> {
        let lost = || Error::bug("the runtime was shut down under a job");
        self.is_done.clone().wait_for(|done| *done).await.map_err(|_| lost())?;
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        match end.take() {
            Some(Ok(how)) => {
                *end = Some(Ok(how));
                Ok(how)
            }
            Some(Err(error)) => {
                // Whoever asks again gets the text without its cause.
                *end = Some(Err(Error::new(error.kind(), error.to_string())));
                Err(error)
            }
            None => Err(lost()),
        }
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.cancel();
    }
}
