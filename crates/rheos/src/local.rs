//! Workers that are this process: what a job's driver wants done, done here.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use rheos_checkpoint::coordinator::{Attempt, CommitId, Event, Restore};
use rheos_checkpoint::{Barrier, Manifest, SubtaskId};
use rheos_coordinator::{EventSender, Workers};
use rheos_core::element::{CheckpointKind, Epoch};
use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::sink::CommitToken;
use rheos_core::storage::Storage;
use rheos_core::{Error, ErrorKind, Result};
use rheos_graph::{JobGraph, NodeKind, TaskGraph};
use rheos_storage::Faults;
use rheos_worker::{
    Beginning, Committers, JobHandle, JobMetrics, LocalJob, PartStore, RuntimeOptions, Stored, TakenPart, TaskEvent, TaskPool, load,
};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::publisher::{Failure, Publish, Publisher};

/// The subtasks of one job, in this process.
#[derive(Clone)]
pub(crate) struct LocalWorkers(Arc<Inner>);

/// What a job is made of, whatever attempt runs it.
pub(crate) struct JobParts {
    pub(crate) graph: Arc<TaskGraph>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) env: Env,
    pub(crate) pool: Arc<TaskPool>,
    pub(crate) runtime: Handle,
    /// The job's folder.
    pub(crate) storage: Option<Arc<dyn Storage>>,
    /// How to reach other storage, where a snapshot of another folder is restored.
    pub(crate) storage_options: BTreeMap<String, String>,
    /// The job's id, by which its sinks know what is theirs.
    pub(crate) job_id: String,
    /// Commits whose reply is lost, on purpose.
    pub(crate) faults: Option<Faults>,
}

struct Inner {
    parts: JobParts,
    publisher: Publisher,
    current: Mutex<Option<(Attempt, Arc<JobHandle>)>>,
    /// The last attempt that was cancelled; it may not have started by then.
    cancelled: AtomicU64,
    /// Whether what earlier processes left at the sinks has been thrown away.
    is_clean: AtomicBool,
    /// Why the last attempt failed.
    failure: Failure,
}

/// What a subtask has to be stored, in order.
enum Work {
    Part(Barrier, Box<TakenPart>),
    Last(Box<TakenPart>),
}

/// Whatever holds such a lock does not stop half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether another attempt may help: not where the input, a setting or what is stored is to blame.
pub(crate) fn is_restartable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Retry | ErrorKind::RestartJob | ErrorKind::Bug)
}

impl LocalWorkers {
    pub(crate) fn new(parts: JobParts) -> Result<Self> {
        let committers = Committers::new(&parts.graph.job, &parts.registry)?;
        let failure = Failure::default();
        let publisher = Publisher::start(&parts.runtime, committers, Arc::clone(&failure), parts.faults);
        let (cancelled, is_clean) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(LocalWorkers(Arc::new(Inner { parts, publisher, current: Mutex::default(), cancelled, is_clean, failure })))
    }

    /// What the tasks of the current attempt have measured.
    pub(crate) fn metrics(&self) -> JobMetrics {
        lock(&self.0.current).as_ref().map(|(_, handle)| handle.metrics()).unwrap_or_default()
    }

    /// Whether the job takes snapshots.
    pub(crate) fn has_storage(&self) -> bool {
        self.0.parts.storage.is_some()
    }

    /// The job has finished and all its output is visible: whatever else its attempts prepared will never be.
    pub(crate) async fn leave_clean(&self) {
        if self.0.parts.job_id.is_empty() {
            return;
        }
        self.0.publisher.settled().await;
        let workers = self.clone();
        let cleaned = tokio::task::spawn_blocking(move || {
            let JobParts { graph, registry, job_id, .. } = &workers.0.parts;
            clean_up(&graph.job, registry, job_id)
        });
        if let Ok(Err(error)) = cleaned.await {
            tracing::warn!(%error, "what failed attempts left at the sinks stays there");
        }
    }

    /// Why the last attempt failed.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.0.failure).take()
    }

    fn handle(&self, attempt: Attempt) -> Option<Arc<JobHandle>> {
        lock(&self.0.current).as_ref().filter(|(of, _)| *of == attempt).map(|(_, handle)| Arc::clone(handle))
    }

    async fn run(&self, attempt: Attempt, generation: u64, restore: Restore, events: &EventSender) -> Result<()> {
        let clock = &self.0.parts.env.clock;
        let start_ns = clock.monotonic_ns();
        let beginning = match restore {
            Restore::Fresh => Beginning::Fresh,
            Restore::EndOfInput => Beginning::EndOfInput,
            Restore::From(manifest) => Beginning::Restored(load(&self.storage_of(&manifest)?, &manifest).await?),
        };
        let loaded_ms = (clock.monotonic_ns() - start_ns) / 1_000_000;
        let is_restored = matches!(beginning, Beginning::Restored(_));
        // What is still to be committed or thrown away must not meet what the attempt writes.
        self.0.publisher.settled().await;
        let workers = self.clone();
        // Connectors look at files and servers.
        let (handle, mut task_events) = tokio::task::spawn_blocking(move || workers.start(&beginning))
            .await
            .unwrap_or_else(|e| Err(Error::bug(format!("the start of the job ended: {e}"))))?;
        if is_restored {
            tracing::info!(loaded_ms, elapsed_ms = (clock.monotonic_ns() - start_ns) / 1_000_000, "restored");
        }
        let Inner { parts, current, .. } = &*self.0;
        let JobParts { graph, env, .. } = parts;
        let handle = Arc::new(handle);
        *lock(current) = Some((attempt, Arc::clone(&handle)));
        if self.0.cancelled.load(Ordering::SeqCst) >= attempt {
            handle.cancel();
        }
        tell(events, Event::Deployed { attempt });
        let next_file = Arc::<AtomicU64>::default();
        let mut stores: BTreeMap<SubtaskId, (mpsc::UnboundedSender<Work>, tokio::task::JoinHandle<()>)> = BTreeMap::new();
        while let Some(event) = task_events.recv().await {
            let (subtask, work) = match event {
                TaskEvent::Failed { error } => {
                    self.fail(attempt, error, events);
                    continue;
                }
                TaskEvent::Stopped => break,
                TaskEvent::Taken { barrier, part } => (SubtaskId { task: part.task, index: part.index }, Work::Part(barrier, part)),
                TaskEvent::Ended { part } => (SubtaskId { task: part.task, index: part.index }, Work::Last(part)),
            };
            let (queue, _) = stores.entry(subtask).or_insert_with(|| {
                let store = PartStore::new(
                    parts.storage.clone(),
                    Arc::clone(graph),
                    Arc::clone(&env.clock),
                    (generation, attempt),
                    Arc::clone(&next_file),
                );
                let (queue, work) = mpsc::unbounded_channel();
                (queue, tokio::spawn(store_all(store, subtask, attempt, work, Arc::clone(&handle), events.clone())))
            });
            // A store that is gone has panicked: the snapshot times out.
            drop(queue.send(work));
        }
        for (queue, stored) in stores.into_values() {
            drop(queue);
            drop(stored.await);
        }
        Ok(())
    }

    /// Makes all subtasks and starts them.
    fn start(&self, beginning: &Beginning) -> Result<(JobHandle, mpsc::UnboundedReceiver<TaskEvent>)> {
        let JobParts { graph, registry, env, pool, job_id, .. } = &self.0.parts;
        if !job_id.is_empty() && !self.0.is_clean.swap(true, Ordering::SeqCst) {
            clean_up(&graph.job, registry, job_id)?;
        }
        let options = RuntimeOptions { job_id: job_id.clone(), ..RuntimeOptions::default() };
        LocalJob::start(graph, registry, env, &options, pool, beginning)
    }

    /// Where the files of a snapshot are.
    fn storage_of(&self, manifest: &Manifest) -> Result<Arc<dyn Storage>> {
        let JobParts { storage, storage_options, runtime, .. } = &self.0.parts;
        if let Some(elsewhere) = &manifest.files_in {
            let _entered = runtime.enter();
            return rheos_storage::open(elsewhere, storage_options);
        }
        storage.clone().ok_or_else(|| Error::bug("a snapshot to restore, and no storage"))
    }

    fn fail(&self, attempt: Attempt, error: Error, events: &EventSender) {
        let (message, restartable) = (error.to_string(), is_restartable(&error));
        *lock(&self.0.failure) = Some(error);
        tell(events, Event::Failed { attempt, message, restartable });
    }
}

/// Tells the driver. It may be gone: then nobody wants to know.
pub(crate) fn tell(events: &EventSender, event: Event) {
    drop(events.send(event));
}

/// Stores the parts of a subtask, one after the other.
async fn store_all(
    mut store: PartStore,
    subtask: SubtaskId,
    attempt: Attempt,
    mut work: mpsc::UnboundedReceiver<Work>,
    handle: Arc<JobHandle>,
    events: EventSender,
) {
    while let Some(work) = work.recv().await {
        let (barrier, part) = match work {
            Work::Part(barrier, part) => (Some(barrier), part),
            Work::Last(part) => (None, part),
        };
        let kind = barrier.map_or(CheckpointKind::Final, |b| b.kind);
        let after = part.epoch;
        let stored = store.store(after, kind, *part).await;
        if !matches!(stored, Ok(Stored { want_full: false, .. })) {
            handle.want_full(subtask.task, subtask.index);
        }
        tell(
            &events,
            match (stored, barrier) {
                (Ok(Stored { part, .. }), Some(barrier)) => Event::Ack { attempt, epoch: barrier.epoch, part },
                (Ok(Stored { part, .. }), None) => Event::Ended { attempt, after, part },
                (Err(error), Some(barrier)) => Event::Declined { attempt, epoch: barrier.epoch, subtask, reason: error.to_string() },
                (Err(error), None) => Event::Failed { attempt, message: error.to_string(), restartable: is_restartable(&error) },
            },
        );
    }
}

impl Workers for LocalWorkers {
    fn deploy(&self, attempt: Attempt, generation: u64, restore: Restore, events: EventSender) {
        let workers = self.clone();
        self.0.parts.runtime.spawn(async move {
            let run = AssertUnwindSafe(workers.run(attempt, generation, restore, &events)).catch_unwind();
            // Every attempt must be told to have stopped.
            match run.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => workers.fail(attempt, error, &events),
                Err(_) => {
                    workers.cancel(attempt);
                    workers.fail(attempt, Error::bug("the start of the job panicked"), &events);
                }
            }
            tell(&events, Event::Stopped { attempt });
        });
    }

    fn trigger(&self, attempt: Attempt, barrier: Barrier, stop: bool) {
        self.handle(attempt).into_iter().for_each(|handle| handle.trigger(barrier, stop));
    }

    fn completed(&self, attempt: Attempt, epoch: Epoch) {
        self.handle(attempt).into_iter().for_each(|handle| handle.completed(epoch));
    }

    fn aborted(&self, attempt: Attempt, epoch: Epoch) {
        self.handle(attempt).into_iter().for_each(|handle| handle.aborted(epoch));
    }

    fn cancel(&self, attempt: Attempt) {
        self.0.cancelled.fetch_max(attempt, Ordering::SeqCst);
        self.handle(attempt).into_iter().for_each(|handle| handle.cancel());
    }

    fn commit(&self, commit: CommitId, tokens: Vec<CommitToken>, events: EventSender) {
        self.0.publisher.put(Publish::Commit(commit, tokens, events));
    }

    fn abort(&self, tokens: Vec<CommitToken>) {
        self.0.publisher.put(Publish::Abort(tokens));
    }
}

/// Has the sinks throw away what dead processes of the job left behind.
fn clean_up(job: &JobGraph, registry: &Registry, job_id: &str) -> Result<()> {
    for node in &job.nodes {
        if let NodeKind::Sink { table } = &node.kind
            && let Some(factory) = registry.connector(&table.connector).and_then(|info| info.sink.as_ref())
        {
            factory.clean_up(table, &node.uid, job_id)?;
        }
    }
    Ok(())
}
