//! A worker's process: its data plane, its threads, its metrics, and the session with the coordinator.

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use rheos_coordinator::{single, task_metrics};
use rheos_core::{Error, Result};
use rheos_exchange::net::{Network, NetworkOptions};
use rheos_worker::process::{WorkerOptions, WorkerProcess};
use rheos_worker::{TaskPool, system_env};

use super::front::Front;
use super::resolve;

/// How a worker is set up.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// The coordinator: `host:port`.
    pub coordinator: String,
    /// Where it takes in rows of other workers: `host:port`; port 0 is any.
    pub data_listen: String,
    /// Where other workers reach that, if not there.
    pub data_address: Option<String>,
    /// Where its metrics can be scraped: `host:port`; port 0 is any.
    pub metrics_listen: String,
    /// How many slots it offers.
    pub slots: usize,
    /// How many threads compute.
    pub threads: usize,
    /// After how long a connection to another worker that cannot be made again is given up, in milliseconds.
    pub link_timeout_ms: u64,
    /// Whether rows to other workers are compressed (LZ4).
    pub compress: bool,
    /// Where it keeps copies of the files that it stores, for restarts, and how many bytes of them.
    pub copies: Option<(PathBuf, u64)>,
    /// The secret of the cluster, if it has one.
    pub token: Option<String>,
}

/// Serves a coordinator until `stop` is ready, or until that refuses. `tell` is told what people want to know. To be called on a tokio
/// runtime.
pub async fn serve_worker(settings: WorkerSettings, stop: impl Future<Output = ()>, tell: impl Fn(&str)) -> Result<()> {
    let env = system_env();
    let id = env.random.next_u64().max(1);
    let network = NetworkOptions {
        token: settings.token.clone(),
        reconnect_timeout_ms: settings.link_timeout_ms,
        compress: settings.compress,
        ..NetworkOptions::new(id)
    };
    let network = Network::bind(resolve(&settings.data_listen).await?, network, Arc::clone(&env.clock)).await?;
    let data_address = settings.data_address.unwrap_or_else(|| network.local_address().to_string());
    let metrics_listen = resolve(&settings.metrics_listen).await?;
    let listener = tokio::net::TcpListener::bind(metrics_listen).await;
    let listener = listener.map_err(|e| Error::config(format!("cannot listen at {metrics_listen}: {e}")).caused_by(e))?;
    let metrics_address = listener.local_addr()?.to_string();
    let pool = TaskPool::new(settings.threads, tokio::runtime::Handle::current());
    let pool = pool.map_err(|e| Error::restart(format!("threads cannot be started: {e}")).caused_by(e))?;
    let slots = settings.slots;
    tell(&format!("worker {id:016x} with {slots} slots; rows at {data_address}, metrics at http://{metrics_address}/metrics"));
    let options = WorkerOptions {
        id,
        coordinator: settings.coordinator,
        token: settings.token,
        slots,
        data_address,
        metrics_address,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let process = WorkerProcess::new(options, Arc::new(Front { copies: settings.copies }), env, Arc::new(pool), network);
    let shown = process.clone();
    let metrics = move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics(&shown)) };
    let routes = axum::Router::new().route("/metrics", get(metrics)).route("/healthz", get(|| async { "ok\n" }));
    tokio::select! {
        served = process.serve(stop, &tell) => served,
        ended = async { axum::serve(listener, routes).await } => {
            ended.map_err(|e| Error::restart(format!("the server of metrics ended: {e}")).caused_by(e))
        }
    }
}

fn metrics(process: &WorkerProcess) -> String {
    let mut out = task_metrics(&process.metrics());
    let help = "Bytes of rows that other workers have not confirmed.";
    single(&mut out, "rheos_network_buffered_bytes", "gauge", help, process.buffered_bytes());
    out
}
