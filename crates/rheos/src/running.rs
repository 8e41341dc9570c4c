//! A running job, for callers that are not asynchronous.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rheos_graph::TaskGraph;
use rheos_worker::{JobEnd, JobHandle, JobMetrics, LocalJob, RuntimeOptions, TaskPool, system_env};
use tokio::runtime::Runtime;

use crate::collect::ResultEvent;
use crate::session::{Job, ResultInfo};
use crate::{Error, Result};

/// A job that runs in this process, on threads of its own. Dropping it cancels it.
pub struct Running {
    handle: JobHandle,
    results: Option<Receiver<ResultEvent>>,
    info: Option<ResultInfo>,
    /// Outlives the job.
    _pool: TaskPool,
    runtime: Runtime,
}

impl Running {
    pub(crate) fn start(job: Job) -> Result<Running> {
        let tasks = TaskGraph::of(&job.graph);
        let threads = tasks.tasks.iter().map(|t| t.parallelism).sum::<usize>();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Timers and sockets are driven by one thread, apart from those that compute.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("rheos-io")
            .enable_time()
            .build()
            .map_err(|e| Error::restart(format!("threads cannot be started: {e}")).caused_by(e))?;
        let pool = TaskPool::new(threads.clamp(1, cores), runtime.handle().clone())
            .map_err(|e| Error::restart(format!("threads cannot be started: {e}")).caused_by(e))?;
        let handle = LocalJob::start(&tasks, &job.registry, &system_env(), &RuntimeOptions::default(), &pool)?;
        Ok(Running { handle, results: job.results, info: job.result, _pool: pool, runtime })
    }

    /// What the query's rows are; `None` for an INSERT.
    pub fn result_info(&self) -> Option<&ResultInfo> {
        self.info.as_ref()
    }

    /// Waits for the next rows of a query; `None` when there are no more (then [`Running::wait`] says why).
    pub fn next_result(&mut self) -> Option<ResultEvent> {
        self.results.as_ref()?.recv().ok()
    }

    /// The same with a limit: `Ok(None)` when nothing has come in that time, an error value when there are no more.
    pub fn next_result_within(&mut self, limit: Duration) -> std::result::Result<Option<ResultEvent>, NoMoreResults> {
        let Some(results) = &self.results else { return Err(NoMoreResults) };
        match results.recv_timeout(limit) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(NoMoreResults),
        }
    }

    /// What the tasks have measured so far.
    pub fn metrics(&self) -> JobMetrics {
        self.handle.metrics()
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        self.handle.is_done()
    }

    /// Ends the job soon, without publishing what is not published.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Waits for the end and says how it was.
    pub fn wait(&self) -> Result<JobEnd> {
        self.runtime.block_on(self.handle.wait())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A writer that waits for us to read would never see the cancellation.
        self.results = None;
        self.handle.cancel();
    }
}

/// A query's rows have come to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMoreResults;
