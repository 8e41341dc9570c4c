//! Workers that are this process: what a job's driver wants done, done here.

use std::sync::Arc;

use rheos_checkpoint::Barrier;
use rheos_checkpoint::coordinator::{Attempt, CommitId, Restore};
use rheos_coordinator::{EventSender, Workers};
use rheos_core::element::Epoch;
use rheos_core::env::Env;
use rheos_core::sink::CommitToken;
use rheos_core::{Error, Result};
use rheos_graph::{JobMetrics, Regions};
use rheos_worker::{Deployment, JobParts, JobRunner, Share, Splits};
use tokio::sync::OnceCell;

/// The subtasks of one job, in this process.
#[derive(Clone)]
pub(crate) struct LocalWorkers(Arc<Inner>);

struct Inner {
    runner: JobRunner,
    regions: Arc<Regions>,
    env: Env,
    /// Whether what earlier processes left at the sinks has been thrown away.
    clean: OnceCell<()>,
    /// The splits of the sources where the job began at the beginning: regions that begin there again read the same ones.
    fresh: OnceCell<Arc<Splits>>,
}

impl LocalWorkers {
    pub(crate) fn new(parts: JobParts, regions: Arc<Regions>) -> Result<Self> {
        let env = parts.env.clone();
        let runner = JobRunner::new(parts)?;
        Ok(LocalWorkers(Arc::new(Inner { runner, regions, env, clean: OnceCell::new(), fresh: OnceCell::new() })))
    }

    /// What the tasks have measured.
    pub(crate) fn metrics(&self) -> JobMetrics {
        self.0.runner.metrics()
    }

    /// Whether the job takes snapshots.
    pub(crate) fn has_storage(&self) -> bool {
        self.0.runner.has_storage()
    }

    /// The job has finished and all its output is visible: whatever else its attempts prepared will never be.
    pub(crate) async fn leave_clean(&self) {
        if let Err(error) = self.0.runner.clean_up(self.0.env.clock.now_ms()).await {
            tracing::warn!(%error, "what failed attempts left at the sinks stays there");
        }
    }

    /// Why the last attempt failed.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.0.runner.take_failure()
    }

    async fn deployment(&self, region: usize, generation: u64, restore: Restore) -> Result<Deployment> {
        let Inner { runner, regions, env, clean, fresh } = &*self.0;
        clean.get_or_try_init(|| runner.clean_up(env.clock.now_ms())).await?;
        let splits = match &restore {
            Restore::Fresh => Arc::clone(fresh.get_or_try_init(|| async { runner.find_splits(Restore::Fresh).await.map(Arc::new) }).await?),
            other => Arc::new(runner.find_splits(other.clone()).await?),
        };
        let share = Share::region(Arc::clone(regions), region);
        Ok(Deployment { generation, share, restore, splits, go: None })
    }
}

impl Workers for LocalWorkers {
    fn deploy(&self, attempt: Attempt, region: usize, generation: u64, restore: Restore, events: EventSender) {
        let workers = self.clone();
        let deployment = async move { workers.deployment(region, generation, restore).await };
        self.0.runner.deploy(attempt, deployment, events);
    }

    fn trigger(&self, attempt: Attempt, barrier: Barrier, stop: bool) {
        self.0.runner.trigger(attempt, barrier, stop);
    }

    fn completed(&self, attempt: Attempt, epoch: Epoch) {
        self.0.runner.completed(attempt, epoch);
    }

    fn aborted(&self, attempt: Attempt, epoch: Epoch) {
        self.0.runner.aborted(attempt, epoch);
    }

    fn cancel(&self, attempt: Attempt) {
        self.0.runner.cancel(attempt);
    }

    fn commit(&self, commit: CommitId, tokens: Vec<CommitToken>, events: EventSender) {
        self.0.runner.commit(commit, tokens, events);
    }

    fn abort(&self, tokens: Vec<CommitToken>) {
        self.0.runner.abort(tokens);
    }
}
