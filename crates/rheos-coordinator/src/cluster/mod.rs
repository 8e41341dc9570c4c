//! The coordinator of a cluster: jobs that outlive processes, on workers that come and go.
//!
//! A job's way:
//! 1. [`Cluster::submit`] has a script planned ([`Planner`]), stores what is to run by its content and a record of the job
//!    (`record`); from then on the job is durable.
//! 2. The job is driven by [`crate::run`], as in one process: the same [`rheos_checkpoint::JobMaster`] decides.
//! 3. What it decides is said to the workers' sessions (`remote`, `requests`): slots are leased (`sessions`), subtasks placed on them
//!    (`placement`), everything is made and joined on all workers before anything runs.
//! 4. A worker whose session ends (`grpc`) is lost: what it ran has failed, and the master has it started again from the latest
//!    snapshot.
//! 5. A coordinator that starts finds the jobs that have not ended, and goes on with each from its latest snapshot.

mod grpc;
mod job;
mod placement;
mod plan;
mod record;
mod remote;
mod requests;
mod sessions;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rheos_checkpoint::coordinator::{Config, JobEnd, JobMaster, Start, Subtask};
use rheos_checkpoint::{JobInfo, Manifest, SubtaskId};
use rheos_core::env::Env;
use rheos_core::storage::Storage;
use rheos_core::{Error, Result};
use rheos_graph::{NodeKind, Regions, TaskGraph};
use rheos_protocol::v1;
use tokio::sync::mpsc;

use crate::driver::{self, Request};
pub(crate) use job::ClusterJob;
pub use job::{CheckpointInfo, LogLine};
pub use plan::{JobSettings, PlanError, PlannedJob, Planner, Submission};
use record::{JobRecord, Records, folder};
use remote::RemoteWorkers;
use sessions::Sessions;
pub use sessions::WorkerInfo;

/// What the coordinator is given by whoever puts the system together.
pub trait Assembly: Planner {
    /// Opens the storage at a place: a folder, or `s3://bucket/path`.
    fn open_storage(&self, place: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>>;

    /// The snapshot at a place that a user has named, or the latest of a job's folder; `None` where there is none. It says where its
    /// files are.
    fn snapshot<'a>(&'a self, place: &'a str, options: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Option<Manifest>>>;
}

/// How a cluster is set up.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Where jobs are stored, and their snapshots unless they say otherwise: a path or URL.
    pub dir: String,
    /// How it is reached.
    pub storage_options: BTreeMap<String, String>,
    /// How often a worker and the coordinator hear of each other.
    pub heartbeat_interval_ms: u64,
    /// After how long without that a worker is lost.
    pub heartbeat_timeout_ms: u64,
    /// The secret of the cluster, if it has one.
    pub token: Option<String>,
    /// The version of Rheos.
    pub version: String,
}

/// A coordinator. Cheap to clone.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    options: ClusterOptions,
    assembly: Arc<dyn Assembly>,
    env: Env,
    records: Records,
    sessions: Arc<Sessions>,
    jobs: Mutex<BTreeMap<String, Arc<ClusterJob>>>,
}

/// Why a request about a job could not be carried out.
#[derive(Debug)]
pub enum RequestError {
    /// The script is wrong.
    Plan(PlanError),
    /// There is no job with this id.
    NoSuchJob(String),
    /// The job has ended, and so cannot be told anything.
    Ended {
        /// Which.
        job: String,
        /// How.
        state: String,
    },
    /// Something else is wrong.
    Other(Error),
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        RequestError::Other(error)
    }
}

impl Cluster {
    /// Finds the jobs that have not ended, and goes on with them. To be called on a tokio runtime.
    pub async fn start(options: ClusterOptions, assembly: Arc<dyn Assembly>, env: Env) -> Result<Cluster> {
        let storage = assembly.open_storage(&options.dir, &options.storage_options)?;
        let records = Records::new(storage);
        let sessions = Arc::new(Sessions::new(Arc::clone(&env.clock)));
        let cluster = Cluster(Arc::new(Inner { options, assembly, env, records, sessions, jobs: Mutex::default() }));
        for record in cluster.0.records.all().await? {
            let is_over = record.ending.is_some();
            match cluster.known(record).await {
                Ok(job) if !is_over => {
                    job.tell("the coordinator has started, and goes on with the job");
                    match cluster.start_of(&job).await {
                        Ok(start) => cluster.drive(job, start),
                        Err(error) => tracing::error!(%error, job = job.record.id, "a job is left alone"),
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::error!(%error, "a job is left alone"),
            }
        }
        let (sessions, clock) = (Arc::clone(&cluster.0.sessions), Arc::clone(&cluster.0.env.clock));
        let (interval_ms, timeout_ms) = (cluster.0.options.heartbeat_interval_ms, cluster.0.options.heartbeat_timeout_ms);
        tokio::spawn(async move {
            loop {
                clock.sleep_ms(interval_ms.min(timeout_ms / 4).max(1)).await;
                sessions.close_silent(timeout_ms);
            }
        });
        Ok(cluster)
    }

    fn jobs_lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ClusterJob>>> {
        self.0.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All jobs, in the order of their submission.
    pub(crate) fn jobs(&self) -> Vec<Arc<ClusterJob>> {
        let mut jobs: Vec<_> = self.jobs_lock().values().cloned().collect();
        jobs.sort_by(|a, b| (a.record.submitted_ms, &a.record.id).cmp(&(b.record.submitted_ms, &b.record.id)));
        jobs
    }

    /// A job by its id.
    pub(crate) fn job(&self, id: &str) -> Result<Arc<ClusterJob>, RequestError> {
        self.jobs_lock().get(id).cloned().ok_or_else(|| RequestError::NoSuchJob(id.into()))
    }

    /// The workers that are there.
    pub fn workers(&self) -> Vec<WorkerInfo> {
        self.0.sessions.workers()
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(crate) fn options(&self) -> &ClusterOptions {
        &self.0.options
    }

    /// Plans a script and starts its jobs, which are durable when this returns.
    pub(crate) async fn submit(&self, submission: Submission) -> Result<Vec<Arc<ClusterJob>>, RequestError> {
        let (assembly, to_plan) = (Arc::clone(&self.0.assembly), submission.clone());
        let planned = tokio::task::spawn_blocking(move || assembly.plan(&to_plan))
            .await
            .map_err(|e| Error::bug(format!("planning ended: {e}")))?
            .map_err(RequestError::Plan)?;
        if submission.restore.is_some() && planned.len() != 1 {
            return Err(Error::config(format!("a snapshot is of one job, and the script has {}", planned.len())).into());
        }
        let mut jobs = Vec::new();
        for PlannedJob { graph, settings, has_results } in planned {
            let id = format!("{:012x}", self.0.env.random.next_u64() >> 16);
            let name = graph.name.clone();
            let start = match &submission.restore {
                Some(place) => self.snapshot(place, &settings, &graph).await?,
                None => Start::Fresh,
            };
            let graph = self.0.records.put_graph(&TaskGraph::of(&graph)).await?;
            let now_ms = self.0.env.clock.now_ms();
            let record = JobRecord::new(id, name, submission.sql.clone(), now_ms, graph, settings);
            let record = JobRecord { has_results, restore: submission.restore.clone(), ..record };
            self.0.records.put(&record).await?;
            let job = self.known(record).await?;
            job.tell("submitted");
            self.drive(Arc::clone(&job), start);
            jobs.push(job);
        }
        Ok(jobs)
    }

    /// Where a job goes on that was begun by another coordinator.
    async fn start_of(&self, job: &ClusterJob) -> Result<Start> {
        let Some(place) = &job.record.restore else { return Ok(Start::Latest) };
        let own = self.0.assembly.snapshot(&job.location, &self.storage_options(job)).await?;
        if own.is_some() { Ok(Start::Latest) } else { self.snapshot(place, &job.record.settings, &job.graph.job).await }
    }

    async fn snapshot(&self, place: &str, settings: &JobSettings, graph: &rheos_graph::JobGraph) -> Result<Start> {
        let found = self.0.assembly.snapshot(place, &settings.storage_options).await?;
        let manifest = found.ok_or_else(|| Error::config(format!("there is no snapshot at '{place}'")))?;
        let missing: Vec<String> = manifest.without_operator(|uid| graph.knows(uid));
        if !missing.is_empty() {
            return Err(Error::config(format!("the snapshot is of another query: {} in it would find no operator", missing.join(", "))));
        }
        Ok(Start::From(Box::new(manifest)))
    }

    async fn known(&self, record: JobRecord) -> Result<Arc<ClusterJob>> {
        let graph = self.0.records.graph(&record.graph).await?;
        let dir = record.settings.dir.clone();
        let location = match dir {
            Some(dir) => format!("{}/{}", dir.trim_end_matches('/'), record.id),
            None => format!("{}/{}", self.0.options.dir.trim_end_matches('/'), folder(&record.id)),
        };
        let id = record.id.clone();
        let job = Arc::new(ClusterJob::new(record, Arc::new(graph), location, Arc::clone(&self.0.env.clock)));
        self.jobs_lock().insert(id, Arc::clone(&job));
        Ok(job)
    }

    /// How the storage of a job's folder is reached.
    pub(crate) fn storage_options(&self, job: &ClusterJob) -> BTreeMap<String, String> {
        let mut options = self.0.options.storage_options.clone();
        options.extend(job.record.settings.storage_options.clone());
        options
    }

    /// The storage of a job's folder.
    pub(crate) fn storage_of(&self, job: &ClusterJob) -> Result<Arc<dyn Storage>> {
        self.0.assembly.open_storage(&job.location, &self.storage_options(job))
    }

    /// Runs a job in the background until it has ended.
    fn drive(&self, job: Arc<ClusterJob>, start: Start) {
        let (cluster, clock) = (self.clone(), Arc::clone(&self.0.env.clock));
        let (requests, asked) = mpsc::unbounded_channel();
        let settings = &job.record.settings;
        let open = v1::OpenJob {
            job: job.record.id.clone(),
            graph: job.record.graph.clone(),
            storage: job.location.clone(),
            storage_options: self.storage_options(&job).into_iter().collect(),
            buffer_bytes: settings.buffer_bytes,
        };
        let workers = RemoteWorkers::new(open, Arc::clone(&job.graph), Arc::clone(&self.0.sessions), self.0.env.clone());
        job.driven_by(workers.clone(), requests);
        tokio::spawn(async move {
            let run = AssertUnwindSafe(cluster.run(&job, workers.clone(), start, asked)).catch_unwind().await;
            let failed = |message: String| JobEnd::Failed { message };
            let end = run
                .unwrap_or_else(|_| Ok(failed("the coordinator of the job panicked".into())))
                .unwrap_or_else(|error| failed(error.to_string()));
            if end == JobEnd::Finished {
                workers.leave_clean().await;
            }
            cluster.0.sessions.close_job(&job.record.id);
            let Some(ending) = job::ending(end, clock.now_ms()) else {
                job.tell("another coordinator has taken the job over");
                return;
            };
            let record = JobRecord { ending: Some(ending.clone()), ..job.record.clone() };
            // Until that is stored, a coordinator that starts would go on with the job: it would find it ended, and come here.
            while let Err(error) = cluster.0.records.put(&record).await {
                tracing::warn!(%error, job = record.id, "the end of a job cannot be stored yet");
                clock.sleep_ms(1_000).await;
            }
            job.ended(ending);
        });
    }

    async fn run(
        &self,
        job: &Arc<ClusterJob>,
        workers: RemoteWorkers,
        start: Start,
        asked: mpsc::UnboundedReceiver<Request>,
    ) -> Result<JobEnd> {
        let settings = &job.record.settings;
        let config = Config {
            job: JobInfo { id: job.record.id.clone(), name: job.record.name.clone() },
            rheos: self.0.options.version.clone(),
            plan: serde_json::to_value(&job.graph.job)?,
            checkpointing: Some(settings.checkpointing.clone()),
            recovery: settings.recovery,
            restart: settings.restart.clone(),
            start,
            nonce: self.0.env.random.next_u64(),
        };
        let storage = self.storage_of(job)?;
        let master = JobMaster::new(config, subtasks(&job.graph));
        let (clock, observer) = (Arc::clone(&self.0.env.clock), Arc::clone(job));
        Ok(driver::run(master, Arc::new(workers), Some(storage), clock, observer, asked).await)
    }

    /// Wants something of a job.
    pub(crate) fn ask(&self, id: &str, request: Request) -> Result<Arc<ClusterJob>, RequestError> {
        let job = self.job(id)?;
        if job.ask(request) {
            return Ok(job);
        }
        let state = job.standing().0.to_string();
        Err(RequestError::Ended { job: id.into(), state })
    }
}

/// The subtasks that a task graph runs as.
pub fn subtasks(graph: &TaskGraph) -> Vec<Subtask> {
    let regions = Regions::of(graph);
    let mut subtasks = Vec::new();
    for task in &graph.tasks {
        let source = task.nodes.first().is_some_and(|node| matches!(graph.job.nodes[*node].kind, NodeKind::Source { .. }));
        subtasks.extend((0..task.parallelism).map(|index| {
            let region = regions.region(task.id, index);
            Subtask { id: SubtaskId { task: task.id, index }, source, region }
        }));
    }
    subtasks
}
