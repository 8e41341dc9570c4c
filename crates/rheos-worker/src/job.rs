//! A job within this process: started from its task graph, watched, cancelled, waited for.

use std::sync::{Arc, Mutex, PoisonError};

use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::{Error, Result};
use rheos_graph::TaskGraph;
use tokio::sync::{mpsc, watch};

use crate::metrics::{JobMetrics, TaskMeters};
use crate::options::RuntimeOptions;
use crate::pool::TaskPool;
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
    /// Makes everything that the graph asks for and starts it on `pool`. An error here means that nothing has run; what
    /// fails later is told by [`JobHandle::wait`]. The pool must outlive the job.
    pub fn start(graph: &TaskGraph, registry: &Registry, env: &Env, options: &RuntimeOptions, pool: &TaskPool) -> Result<JobHandle> {
        // Connectors may want the runtime that drives what they await while they are made.
        let _entered = pool.runtime().enter();
        let Wired { subtasks, meters, sinks } = wire(graph, registry, env, options)?;
        let (cancel, cancelled) = watch::channel(false);
        let (ended, ends) = mpsc::unbounded_channel();
        let count = subtasks.len();
        for (sink, subtask) in subtasks {
            let (cancelled, ended) = (cancelled.clone(), ended.clone());
            // A supervisor that no longer listens has given up on the job.
            pool.spawn(async move { drop(ended.send((sink, subtask.run(cancelled).await))) });
        }
        drop(ended);
        let (done, is_done) = watch::channel(false);
        let end = Arc::new(Mutex::new(None));
        let supervisor = {
            let (cancel, end) = (cancel.clone(), Arc::clone(&end));
            async move {
                let how = supervise(ends, count, sinks, cancel).await;
                *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
                done.send_replace(true);
            }
        };
        pool.spawn(supervisor);
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
        let lost = || Error::bug("the pool was shut down under a job");
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
