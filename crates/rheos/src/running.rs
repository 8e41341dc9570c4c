//! A running job, for callers that are not asynchronous.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use rheos_checkpoint::coordinator::{self, CheckpointStats, Config, JobMaster, Recovery, Start};
use rheos_checkpoint::{CheckpointKind, JobInfo, Manifest, RestartStrategy};
use rheos_coordinator::{Note, Observer, Request, subtasks};
use rheos_core::element::Epoch;
use rheos_core::env::Env;
use rheos_core::storage::Storage;
use rheos_graph::{JobMetrics, Regions, TaskGraph};
use rheos_storage::{Faults, FaultyStorage};
use rheos_worker::{JobParts, RuntimeOptions, TaskPool, system_env};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::checkpointing::{DIR, Durability};
use crate::collect::{ResultEvent, Results};
use crate::local::LocalWorkers;
use crate::session::{Job, ResultInfo};
use crate::start::{Silent, StartFrom, StartOptions, absolute, look, place, snapshot_at};
use crate::{Error, Result};

/// A job that runs in this process, on threads of its own. Dropping it cancels it.
pub struct Running {
    workers: LocalWorkers,
    requests: mpsc::UnboundedSender<Request>,
    end: Arc<End>,
    results: Option<Results>,
    info: Option<ResultInfo>,
    notes: Arc<Notes>,
    /// Outlives the job.
    _pool: Arc<TaskPool>,
    runtime: Option<Runtime>,
}

/// How a job that did not fail has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// All input was processed and all output is visible.
    Finished,
    /// It was cancelled; what was not published by then is not published.
    Cancelled,
    /// It was stopped with this savepoint: all output up to it is visible.
    Stopped {
        /// The savepoint.
        savepoint: Epoch,
    },
}

#[derive(Default)]
struct End {
    how: Mutex<Option<coordinator::JobEnd>>,
    is_there: std::sync::Condvar,
}

/// Keeps what is asked for later, and tells whoever wants to know at once.
struct Notes {
    observer: Arc<dyn Observer>,
    last: Mutex<Option<(Epoch, CheckpointStats)>>,
}

impl Observer for Notes {
    fn note(&self, note: Note) {
        if let Note::CheckpointDone { epoch, stats } = &note {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((*epoch, *stats));
        }
        self.observer.note(note);
    }
}

impl Running {
    pub(crate) fn start(job: Job, durability: &Durability, options: StartOptions) -> Result<Running> {
        let tasks = Arc::new(TaskGraph::of(&job.graph));
        let threads = tasks.tasks.iter().map(|t| t.parallelism).sum::<usize>();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let no_threads = |e: std::io::Error| Error::restart(format!("threads cannot be started: {e}")).caused_by(e);
        // Timers, sockets and snapshots are driven by one thread, apart from those that compute.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("rheos-io")
            .enable_all()
            .build()
            .map_err(no_threads)?;
        let pool = Arc::new(TaskPool::new(threads.clamp(1, cores), runtime.handle().clone()).map_err(no_threads)?);
        let env = system_env();
        let faults = options.faults.as_deref().map(Faults::parse).transpose()?;
        let storage = open(&runtime, durability, &options, faults, &env)?;
        let (start, info) = runtime.block_on(beginning(storage.as_ref(), durability, &options, &job, &env))?;
        let checkpointing = storage.is_some().then(|| durability.checkpointing.clone());
        let restarts_by_itself = RestartStrategy::exponential_delay();
        let restart = match (&durability.restart, &storage) {
            // The rows of a query that are shown already would come again.
            (_, None) if job.result.is_some() || job.results.is_some() => RestartStrategy::None,
            (Some(restart), _) => restart.clone(),
            (None, Some(_)) => restarts_by_itself,
            (None, None) => RestartStrategy::None,
        };
        job.hold_results(storage.is_some() && durability.recovery == Recovery::Precise);
        let config = Config {
            job: info.clone(),
            rheos: env!("CARGO_PKG_VERSION").into(),
            plan: serde_json::to_value(&job.graph)?,
            checkpointing,
            recovery: durability.recovery,
            restart,
            start,
            nonce: env.random.next_u64(),
        };
        let storage_options = durability.storage_options.clone();
        let parts = JobParts {
            graph: Arc::clone(&tasks),
            registry: job.registry,
            env: env.clone(),
            pool: Arc::clone(&pool),
            runtime: runtime.handle().clone(),
            storage: storage.clone(),
            open_storage: Arc::new(move |place: &str| rheos_storage::open(place, &storage_options)),
            lost_replies: faults.map(|faults| (faults.lost, faults.seed)),
            options: RuntimeOptions { buffer_bytes: durability.buffer_bytes as usize, ..RuntimeOptions::default() },
            job_id: if storage.is_some() { info.id } else { String::new() },
        };
        let workers = LocalWorkers::new(parts, Arc::new(Regions::of(&tasks)))?;
        let (requests, asked) = mpsc::unbounded_channel();
        let end = Arc::<End>::default();
        let notes = Arc::new(Notes { observer: options.observer.unwrap_or_else(|| Arc::new(Silent)), last: Mutex::default() });
        let (running_workers, running_end, running_notes) = (workers.clone(), Arc::clone(&end), Arc::clone(&notes));
        let master = JobMaster::new(config, subtasks(&tasks));
        let clock = Arc::clone(&env.clock);
        let wake_reader = job.results.as_ref().map(Results::waker);
        runtime.spawn(async move {
            let run = rheos_coordinator::run(master, Arc::new(workers.clone()), storage, clock, notes, asked);
            // Whoever waits must hear of the end, whatever happens.
            let how = AssertUnwindSafe(run)
                .catch_unwind()
                .await
                .unwrap_or_else(|_| coordinator::JobEnd::Failed { message: "the coordinator of the job panicked".into() });
            if how == coordinator::JobEnd::Finished {
                workers.leave_clean().await;
            }
            drop(workers);
            *end.how.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
            end.is_there.notify_all();
            if let Some(wake_reader) = wake_reader {
                wake_reader();
            }
        });
        Ok(Running {
            workers: running_workers,
            requests,
            end: running_end,
            results: job.results,
            info: job.result,
            notes: running_notes,
            _pool: pool,
            runtime: Some(runtime),
        })
    }

    /// What the query's rows are; `None` for an INSERT.
    pub fn result_info(&self) -> Option<&ResultInfo> {
        self.info.as_ref()
    }

    /// Waits for the next rows of a query; `None` when there are no more (then [`Running::wait`] says why).
    pub fn next_result(&mut self) -> Option<ResultEvent> {
        loop {
            match self.next_result_within(Duration::from_millis(100)) {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(NoMoreResults) => return None,
            }
        }
    }

    /// The same with a limit: `Ok(None)` when nothing has come in that time, an error value when there are no more.
    pub fn next_result_within(&mut self, limit: Duration) -> std::result::Result<Option<ResultEvent>, NoMoreResults> {
        let Some(results) = &self.results else { return Err(NoMoreResults) };
        loop {
            // Asked before looking: what came before the end is there by then.
            let is_done = self.is_done();
            match results.next_within(if is_done { Duration::ZERO } else { limit }) {
                Ok(Some(event)) => return Ok(Some(event)),
                // The job has ended meanwhile.
                Ok(None) => {}
                Err(RecvTimeoutError::Timeout) if is_done => return Err(NoMoreResults),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(NoMoreResults),
            }
        }
    }

    /// What the tasks have measured since the job started, or last started again.
    pub fn metrics(&self) -> JobMetrics {
        self.workers.metrics()
    }

    /// The last snapshot that was completed, and how it went.
    pub fn last_checkpoint(&self) -> Option<(Epoch, CheckpointStats)> {
        *self.notes.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        self.end.how.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Ends the job soon, without publishing what is not published.
    pub fn cancel(&self) {
        self.ask(Request::Cancel);
    }

    /// Ends the job with a savepoint to go on from. Fails at once where it takes no snapshots.
    pub fn stop_with_savepoint(&self) -> Result<()> {
        if !self.workers.has_storage() {
            return Err(Error::config(format!("a savepoint needs a place: set '{DIR}', or --checkpoint-dir")));
        }
        self.ask(Request::StopWithSavepoint);
        Ok(())
    }

    /// Wants a savepoint of the job, which goes on.
    pub fn savepoint(&self) {
        self.ask(Request::Savepoint);
    }

    fn ask(&self, request: Request) {
        // One that has ended needs nothing more.
        let _ = self.requests.send(request);
    }

    /// Waits for the end and says how it was.
    pub fn wait(&self) -> Result<JobEnd> {
        let how = self.end.how.lock().unwrap_or_else(PoisonError::into_inner);
        let how = self.end.is_there.wait_while(how, |how| how.is_none()).unwrap_or_else(PoisonError::into_inner);
        match how.clone() {
            Some(coordinator::JobEnd::Finished) => Ok(JobEnd::Finished),
            Some(coordinator::JobEnd::Cancelled) => Ok(JobEnd::Cancelled),
            Some(coordinator::JobEnd::Stopped { savepoint }) => Ok(JobEnd::Stopped { savepoint }),
            Some(coordinator::JobEnd::Fenced) => {
                Err(Error::restart("another process has taken the job over: it has claimed the same folder of snapshots since"))
            }
            Some(coordinator::JobEnd::Failed { message }) => Err(match self.workers.take_failure() {
                Some(error) if message.contains(&error.to_string()) => error,
                _ => Error::restart(message),
            }),
            None => Err(Error::bug("a job without an end")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A writer that waits for us to read would never see the cancellation.
        self.results = None;
        self.cancel();
        if let Some(runtime) = self.runtime.take() {
            let done = self.end.how.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.end.is_there.wait_timeout_while(done, Duration::from_secs(5), |how| how.is_none()));
            runtime.shutdown_background();
        }
    }
}

/// A query's rows have come to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMoreResults;

/// The storage of the job's folder, if it has one.
fn open(
    runtime: &Runtime,
    durability: &Durability,
    options: &StartOptions,
    faults: Option<Faults>,
    env: &Env,
) -> Result<Option<Arc<dyn Storage>>> {
    let Some(dir) = &durability.dir else {
        if options.from != StartFrom::New {
            return Err(Error::config(format!(
                "a job that is to be restored needs a folder of snapshots: set '{DIR}', or --checkpoint-dir"
            )));
        }
        return Ok(None);
    };
    let _entered = runtime.enter();
    let storage = rheos_storage::open(&folder_of(dir, &options.folder), &durability.storage_options)?;
    Ok(Some(match faults {
        Some(faults) => Arc::new(FaultyStorage::new(storage, faults, Arc::clone(&env.clock))),
        None => storage,
    }))
}

fn folder_of(dir: &str, folder: &str) -> String {
    if folder.is_empty() { dir.to_string() } else { format!("{}/{folder}", dir.trim_end_matches('/')) }
}

/// Where the job starts from, and whose snapshots it goes on with.
async fn beginning(
    storage: Option<&Arc<dyn Storage>>,
    durability: &Durability,
    options: &StartOptions,
    job: &Job,
    env: &Env,
) -> Result<(Start, JobInfo)> {
    let name = job.graph.name.clone();
    let new = || JobInfo { id: format!("{:012x}", env.random.next_u64() >> 16), name: name.clone() };
    let Some(storage) = storage else { return Ok((Start::Fresh, new())) };
    if let StartFrom::Snapshot(text) = &options.from {
        let (folder, position) = place(text);
        let elsewhere = rheos_storage::open(&folder, &durability.storage_options)?;
        let mut manifest = snapshot_at(&elsewhere, text, position).await?;
        check_plan(&manifest, job)?;
        let own = durability.dir.as_deref().map(|dir| folder_of(dir, &options.folder));
        if manifest.files_in.is_none() && own.is_none_or(|own| !is_same(&own, &folder)) {
            manifest.files_in = Some(absolute(&folder));
        }
        return Ok((Start::From(Box::new(manifest)), new()));
    }
    let found = look(storage).await?;
    let latest = found.log.latest().map(|(_, manifest)| manifest);
    match (&options.from, latest) {
        (StartFrom::New, Some(manifest)) => Err(Error::config(format!(
            "{} holds snapshots of the job '{}' (the latest is {}): --restore goes on from there, --fresh begins anew",
            storage.describe(),
            manifest.job.name,
            kind_and_epoch(manifest)
        ))),
        (StartFrom::Latest, Some(manifest)) => {
            check_plan(manifest, job)?;
            Ok((Start::Latest, JobInfo { id: manifest.job.id.clone(), name }))
        }
        (StartFrom::Latest, None) => match found.unreadable.into_iter().next() {
            Some((_, error)) => Err(error),
            // One that never got to a snapshot is the same job: its sinks know by the id what it left behind.
            None => Ok((
                Start::Latest,
                found.log.claims().next_back().map_or_else(new, |claim| JobInfo { id: claim.job.id.clone(), name: name.clone() }),
            )),
        },
        _ => Ok((Start::Fresh, new())),
    }
}

/// `epoch 7`, `the savepoint of epoch 7`.
pub(crate) fn kind_and_epoch(manifest: &Manifest) -> String {
    match manifest.kind {
        CheckpointKind::Savepoint => format!("the savepoint of epoch {}", manifest.epoch),
        CheckpointKind::Final => format!("epoch {}, of its end", manifest.epoch),
        CheckpointKind::Checkpoint => format!("epoch {}", manifest.epoch),
    }
}

/// State that finds no operator would be lost without a word.
fn check_plan(manifest: &Manifest, job: &Job) -> Result<()> {
    let missing = manifest.without_operator(|uid| job.graph.knows(uid));
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::config(format!(
        "the snapshot is of another query: {} in it, with {} state, would find no operator; --fresh begins anew",
        missing.join(", "),
        if missing.len() == 1 { "its" } else { "their" }
    )))
}

fn is_same(a: &str, b: &str) -> bool {
    absolute(a).trim_end_matches('/') == absolute(b).trim_end_matches('/')
}
