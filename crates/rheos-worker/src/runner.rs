//! One job in this process: its attempts deployed and told of snapshots, their parts stored, its output published.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use rheos_checkpoint::coordinator::{Attempt, CommitId, Event, Restore};
use rheos_checkpoint::{Barrier, Manifest};
use rheos_core::element::Epoch;
use rheos_core::env::{Env, SplitMix64};
use rheos_core::registry::Registry;
use rheos_core::sink::CommitToken;
use rheos_core::storage::Storage;
use rheos_core::time::TimestampMs;
use rheos_core::{Error, ErrorKind, Result};
use rheos_graph::{JobMetrics, NodeKind, TaskGraph, TaskId, TaskReport};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::commit::Committers;
use crate::job::{Blueprint, JobHandle, PreparedJob};
use crate::load::load;
use crate::options::RuntimeOptions;
use crate::pool::TaskPool;
use crate::publisher::{Failure, Publish, Publisher};
use crate::restore::Beginning;
use crate::share::Share;
use crate::splits::{Splits, find_splits};
use crate::store::blocking;
use crate::storing::Storing;

/// Where events for the job's master are put.
pub type EventSender = mpsc::UnboundedSender<Event>;

/// How other storage is reached, where a snapshot of another folder is restored.
pub type OpenStorage = Arc<dyn Fn(&str) -> Result<Arc<dyn Storage>> + Send + Sync>;

/// What a job is made of, whatever attempt runs it.
pub struct JobParts {
    /// The job.
    pub graph: Arc<TaskGraph>,
    /// Who makes what it names.
    pub registry: Arc<Registry>,
    /// The process.
    pub env: Env,
    /// The threads of its tasks.
    pub pool: Arc<TaskPool>,
    /// What drives everything else.
    pub runtime: Handle,
    /// The job's folder; `None`: no snapshots.
    pub storage: Option<Arc<dyn Storage>>,
    /// Opens another folder.
    pub open_storage: OpenStorage,
    /// The job's id, by which its sinks know what is theirs; empty where there are no snapshots.
    pub job_id: String,
    /// Which part of the replies of commits is lost on purpose, and the seed of the choice: for tests.
    pub lost_replies: Option<(f64, u64)>,
    /// How much is kept, and handed on at a time.
    pub options: RuntimeOptions,
}

/// The part of an attempt that is to run in this process.
pub struct Deployment {
    /// The generation of the job's master, for the names of files.
    pub generation: u64,
    /// Which subtasks.
    pub share: Share,
    /// What it starts from.
    pub restore: Restore,
    /// The splits of the sources that this holds nothing of.
    pub splits: Arc<Splits>,
    /// Says when everybody else is ready too; `None`: there is nobody else.
    pub go: Option<oneshot::Receiver<()>>,
}

/// Runs the subtasks of one job in this process. Cheap to clone.
#[derive(Clone)]
pub struct JobRunner(Arc<Inner>);

struct Inner {
    parts: JobParts,
    publisher: Publisher,
    attempts: Mutex<BTreeMap<Attempt, Running>>,
    /// What the tasks of attempts that are over had measured, by task and instance.
    measured: Mutex<BTreeMap<(TaskId, usize), TaskReport>>,
    /// Why the last attempt failed.
    failure: Failure,
}

/// An attempt from the moment it was asked for until nothing of it is left.
enum Running {
    Preparing,
    Runs(Arc<JobHandle>),
    Cancelled(Option<Arc<JobHandle>>),
}

/// Whatever holds such a lock does not stop half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another attempt may help: not where the input, a setting or what is stored is to blame.
pub(crate) fn is_restartable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Retry | ErrorKind::RestartJob | ErrorKind::Bug)
}

/// Tells whoever runs the job. He may be gone: then nobody wants to know.
pub(crate) fn tell(events: &EventSender, event: Event) {
    drop(events.send(event));
}

impl JobRunner {
    /// Nothing runs yet.
    pub fn new(mut parts: JobParts) -> Result<Self> {
        parts.options.job_id.clone_from(&parts.job_id);
        let committers = Committers::new(&parts.graph.job, &parts.registry)?;
        let failure = Failure::default();
        let lost_replies = parts.lost_replies.map(|(rate, seed)| (rate, SplitMix64::new(seed)));
        let publisher = Publisher::start(&parts.runtime, committers, Arc::clone(&failure), lost_replies);
        Ok(JobRunner(Arc::new(Inner { parts, publisher, attempts: Mutex::default(), measured: Mutex::default(), failure })))
    }

    /// What the tasks here have measured since their attempts began. Of a subtask that is being replaced the later attempt counts.
    pub fn metrics(&self) -> JobMetrics {
        let mut tasks = lock(&self.0.measured).clone();
        for handle in lock(&self.0.attempts).values().filter_map(Running::handle) {
            tasks.extend(handle.metrics().tasks.into_iter().map(|task| ((task.task, task.index), task)));
        }
        JobMetrics { tasks: tasks.into_values().collect() }
    }

    /// Whether the job takes snapshots.
    pub fn has_storage(&self) -> bool {
        self.0.parts.storage.is_some()
    }

    /// Why the last attempt failed.
    pub fn take_failure(&self) -> Option<Error> {
        lock(&self.0.failure).take()
    }

    /// Finds the splits of the sources that `restore` holds nothing of.
    pub async fn find_splits(&self, restore: Restore) -> Result<Splits> {
        let runner = self.clone();
        blocking(move || {
            let JobParts { graph, registry, env, runtime, .. } = &runner.0.parts;
            let _entered = runtime.enter();
            find_splits(&graph.job, registry, env, &restore)
        })
        .await
    }

    /// Has the sinks throw away what was prepared and has not been committed: before the first attempt of all, what dead processes
    /// left; when the job has finished, what its attempts left. What was prepared after `until_ms` stays.
    pub async fn clean_up(&self, until_ms: TimestampMs) -> Result<()> {
        if self.0.parts.job_id.is_empty() {
            return Ok(());
        }
        self.0.publisher.settled().await;
        let runner = self.clone();
        blocking(move || {
            let JobParts { graph, registry, job_id, .. } = &runner.0.parts;
            for node in &graph.job.nodes {
                if let NodeKind::Sink { table } = &node.kind
                    && let Some(factory) = registry.connector(&table.connector).and_then(|info| info.sink.as_ref())
                {
                    factory.clean_up(table, &node.uid, job_id, until_ms)?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Starts an attempt as soon as `deployment` is known. Every attempt is told to have stopped some time, also one that could not
    /// be started.
    pub fn deploy(&self, attempt: Attempt, deployment: impl Future<Output = Result<Deployment>> + Send + 'static, events: EventSender) {
        let runner = self.clone();
        // It may be cancelled from now on.
        lock(&self.0.attempts).insert(attempt, Running::Preparing);
        self.0.parts.runtime.spawn(async move {
            let run = async { runner.run(attempt, deployment.await?, &events).await };
            match AssertUnwindSafe(run).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => runner.fail(attempt, error, &events),
                Err(_) => {
                    runner.cancel(attempt);
                    runner.fail(attempt, Error::bug("the start of the job panicked"), &events);
                }
            }
            runner.is_over(attempt);
            tell(&events, Event::Stopped { attempt });
        });
    }

    async fn run(&self, attempt: Attempt, deployment: Deployment, events: &EventSender) -> Result<()> {
        let Deployment { generation, share, restore, splits, go } = deployment;
        let clock = &self.0.parts.env.clock;
        let start_ns = clock.monotonic_ns();
        let state = match &restore {
            Restore::From(manifest) => {
                Some(load(&self.storage_of(manifest)?, manifest, |uid, groups| share.wants(&self.0.parts.graph, uid, groups)).await?)
            }
            Restore::Fresh | Restore::EndOfInput => None,
        };
        let loaded_ms = (clock.monotonic_ns() - start_ns) / 1_000_000;
        let is_restored = state.is_some();
        // What is still to be committed or thrown away must not meet what the attempt writes.
        self.0.publisher.settled().await;
        let (runner, beginning) = (self.clone(), Beginning { state, splits });
        // Connectors look at files and servers.
        let (prepared, handle) = blocking(move || {
            let JobParts { graph, registry, env, options, pool, .. } = &runner.0.parts;
            PreparedJob::new(&Blueprint { graph, registry, env, options, share: &share, beginning: &beginning }, pool)
        })
        .await?;
        let handle = Arc::new(handle);
        self.runs(attempt, &handle);
        tell(events, Event::Deployed { attempt });
        if let Some(go) = go {
            let mut cancelled = prepared.cancelled();
            let is_cancelled = std::pin::pin!(cancelled.wait_for(|cancelled| *cancelled));
            // Whoever would have said so may be gone.
            if !matches!(select(go, is_cancelled).await, Either::Left((Ok(()), _))) {
                return Ok(());
            }
        }
        if is_restored {
            tracing::info!(loaded_ms, elapsed_ms = (clock.monotonic_ns() - start_ns) / 1_000_000, "restored");
        }
        let mut task_events = prepared.start(&self.0.parts.pool);
        let mut storing = Storing::new(&self.0.parts, (generation, attempt), Arc::clone(&handle), events.clone());
        while let Some(event) = task_events.recv().await {
            if let Err(error) = storing.take(event) {
                self.fail(attempt, error, events);
            }
        }
        storing.finish().await;
        Ok(())
    }

    fn is_over(&self, attempt: Attempt) {
        let ended = lock(&self.0.attempts).remove(&attempt);
        for task in ended.iter().filter_map(Running::handle).flat_map(|handle| handle.metrics().tasks) {
            lock(&self.0.measured).insert((task.task, task.index), task);
        }
    }

    fn runs(&self, attempt: Attempt, handle: &Arc<JobHandle>) {
        let mut attempts = lock(&self.0.attempts);
        if let Some(running) = attempts.get_mut(&attempt) {
            *running = match running {
                Running::Cancelled(_) => {
                    handle.cancel();
                    Running::Cancelled(Some(Arc::clone(handle)))
                }
                Running::Preparing | Running::Runs(_) => Running::Runs(Arc::clone(handle)),
            };
        }
    }

    /// Where the files of a snapshot are.
    fn storage_of(&self, manifest: &Manifest) -> Result<Arc<dyn Storage>> {
        let JobParts { storage, open_storage, runtime, .. } = &self.0.parts;
        if let Some(elsewhere) = &manifest.files_in {
            let _entered = runtime.enter();
            return open_storage(elsewhere);
        }
        storage.clone().ok_or_else(|| Error::bug("a snapshot to restore, and no storage"))
    }

    /// The attempt cannot go on, for a reason that its tasks do not know of.
    pub fn fail(&self, attempt: Attempt, error: Error, events: &EventSender) {
        let (message, restartable) = (error.to_string(), is_restartable(&error));
        *lock(&self.0.failure) = Some(error);
        tell(events, Event::Failed { attempt, message, restartable });
    }

    fn handle(&self, attempt: Attempt) -> Option<Arc<JobHandle>> {
        lock(&self.0.attempts).get(&attempt).and_then(Running::handle).cloned()
    }

    /// Puts a barrier in at the sources here; they give no rows after it where `stop` says so.
    pub fn trigger(&self, attempt: Attempt, barrier: Barrier, stop: bool) {
        self.handle(attempt).into_iter().for_each(|handle| handle.trigger(barrier, stop));
    }

    /// Tells the subtasks here that a snapshot is complete.
    pub fn completed(&self, attempt: Attempt, epoch: Epoch) {
        self.handle(attempt).into_iter().for_each(|handle| handle.completed(epoch));
    }

    /// Tells the subtasks here that a snapshot is given up.
    pub fn aborted(&self, attempt: Attempt, epoch: Epoch) {
        self.handle(attempt).into_iter().for_each(|handle| handle.aborted(epoch));
    }

    /// Ends an attempt soon, also one that is still being prepared.
    pub fn cancel(&self, attempt: Attempt) {
        if let Some(running) = lock(&self.0.attempts).get_mut(&attempt) {
            let handle = running.handle().cloned();
            handle.iter().for_each(|handle| handle.cancel());
            *running = Running::Cancelled(handle);
        }
    }

    /// Ends all attempts soon.
    pub fn cancel_all(&self) {
        let attempts: Vec<Attempt> = lock(&self.0.attempts).keys().copied().collect();
        attempts.into_iter().for_each(|attempt| self.cancel(attempt));
    }

    /// Waits until no attempt is left. Some seconds at most: a connector that hangs must not keep the process from going on.
    pub async fn idle(&self) {
        for _ in 0..500 {
            if lock(&self.0.attempts).is_empty() {
                return;
            }
            self.0.parts.env.clock.sleep_ms(10).await;
        }
        tracing::warn!("an attempt of job '{}' does not end", self.0.parts.job_id);
    }

    /// Makes prepared output visible, some of which may be visible already.
    pub fn commit(&self, commit: CommitId, tokens: Vec<CommitToken>, events: EventSender) {
        self.0.publisher.put(Publish::Commit(commit, tokens, events));
    }

    /// Throws prepared output away.
    pub fn abort(&self, tokens: Vec<CommitToken>) {
        self.0.publisher.put(Publish::Abort(tokens));
    }
}

impl Running {
    fn handle(&self) -> Option<&Arc<JobHandle>> {
        match self {
            Running::Preparing => None,
            Running::Runs(handle) => Some(handle),
            Running::Cancelled(handle) => handle.as_ref(),
        }
    }
}
