//! A worker of a cluster: the process that runs what a coordinator tells it to.
//!
//! 1. [`WorkerProcess::serve`] opens a session with the coordinator (`session`): it registers, beats its heart, and does what it is told. A session
//!    that has ended, whoever ended it, takes everything with it that was run under it; then a new one begins. So a worker that was
//!    thought dead and was not can do no harm.
//! 2. Jobs are opened by the hash of their graph (`artifact`) and run by the same [`JobRunner`](crate::JobRunner) as in one process
//!    (`jobs`).
//! 3. Rows between subtasks of different workers go through the [`Network`].

mod artifact;
mod jobs;
mod session;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::storage::Storage;
use rheos_core::{Error, Result};
use rheos_exchange::net::Network;
use rheos_graph::JobMetrics;

use crate::pool::TaskPool;
use crate::runner::lock;
use session::{Ended, session};

/// What a worker is given by whoever puts the system together.
pub trait Assembly: Send + Sync {
    /// Opens the storage at a place: a folder, or `s3://bucket/path`. To be called on a tokio runtime.
    fn open_storage(&self, place: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>>;

    /// All connectors and operators, for a job with this folder.
    fn registry(&self, storage: &Arc<dyn Storage>) -> Registry;
}

/// How a worker is set up.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Unique for each start of a process.
    pub id: u64,
    /// The coordinator: `host:port`.
    pub coordinator: String,
    /// The secret of the cluster, if it has one.
    pub token: Option<String>,
    /// How many slots it offers.
    pub slots: usize,
    /// Where other workers reach it: `host:port`.
    pub data_address: String,
    /// Where its metrics can be scraped; empty if nowhere.
    pub metrics_address: String,
    /// The version of Rheos.
    pub version: String,
}

/// A worker's process. Cheap to clone.
#[derive(Clone)]
pub struct WorkerProcess(Arc<Inner>);

struct Inner {
    options: WorkerOptions,
    assembly: Arc<dyn Assembly>,
    env: Env,
    pool: Arc<TaskPool>,
    network: Network,
    /// The jobs of the session there is.
    jobs: Mutex<Option<jobs::Jobs>>,
}

/// The first and the longest time between two tries to reach the coordinator.
const PAUSE_MS: (u64, u64) = (50, 1000);

impl WorkerProcess {
    /// Nothing is said to anybody yet.
    pub fn new(options: WorkerOptions, assembly: Arc<dyn Assembly>, env: Env, pool: Arc<TaskPool>, network: Network) -> Self {
        WorkerProcess(Arc::new(Inner { options, assembly, env, pool, network, jobs: Mutex::default() }))
    }

    /// Serves a coordinator until `stop` is ready, or until it refuses for good. `tell` is told what people want to know.
    pub async fn serve(&self, stop: impl Future<Output = ()>, tell: impl Fn(&str)) -> Result<()> {
        let mut stop = std::pin::pin!(stop);
        let mut failures = self.0.network.failures();
        let mut pause_ms = PAUSE_MS.0;
        let mut has_told = false;
        loop {
            let ended = tokio::select! {
                ended = session(&self.0, failures.as_mut(), || tell(&format!("serving the coordinator at {}", self.0.options.coordinator))) => ended,
                () = &mut stop => Ended::Stopped,
            };
            // What was run under the session is nobody's now.
            let jobs = lock(&self.0.jobs).take();
            if let Some(jobs) = jobs {
                jobs.end().await;
            }
            match ended {
                Ended::Stopped => return Ok(()),
                Ended::Refused(error) => return Err(error),
                Ended::Lost(reason) => {
                    tell(&format!("lost the coordinator at {}: {reason}; trying again", self.0.options.coordinator));
                    (pause_ms, has_told) = (PAUSE_MS.0, true);
                }
                Ended::Unreachable(reason) => {
                    if !has_told {
                        tell(&format!("cannot reach the coordinator at {} yet: {reason}", self.0.options.coordinator));
                        has_told = true;
                    }
                    pause_ms = (pause_ms * 2).min(PAUSE_MS.1);
                }
            }
            tokio::select! {
                () = self.0.env.clock.sleep_ms(pause_ms) => {}
                () = &mut stop => return Ok(()),
            }
        }
    }

    /// What the tasks of each job have measured.
    pub fn metrics(&self) -> Vec<(String, JobMetrics)> {
        lock(&self.0.jobs).as_ref().map(jobs::Jobs::metrics).unwrap_or_default()
    }

    /// What the frames take that other workers have not confirmed, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.0.network.buffered_bytes()
    }
}

fn broken(error: &dyn std::fmt::Display) -> Error {
    Error::restart(error.to_string())
}
