//! A coordinator's process: control and REST on one port.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_coordinator::{Cluster, ClusterOptions};
use rheos_core::{Error, Result};
use rheos_worker::system_env;

use super::front::Front;
use super::resolve;

/// How a coordinator is set up.
#[derive(Debug, Clone)]
pub struct CoordinatorSettings {
    /// Where it listens: `host:port`; port 0 is any.
    pub listen: String,
    /// Where jobs are stored, and their snapshots: a folder, or `s3://bucket/path`.
    pub dir: String,
    /// How that is reached: options that begin with `s3.`.
    pub storage_options: BTreeMap<String, String>,
    /// After how long without a sign of life a worker is lost, in milliseconds.
    pub heartbeat_timeout_ms: u64,
    /// The secret of the cluster, if it has one.
    pub token: Option<String>,
}

/// Serves until `stop` is ready. `tell` is told the address once it is served. To be called on a tokio runtime.
pub async fn serve_coordinator(settings: CoordinatorSettings, stop: impl Future<Output = ()>, tell: impl Fn(&str)) -> Result<()> {
    let address = resolve(&settings.listen).await?;
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|e| Error::config(format!("cannot listen at {address}: {e}")).caused_by(e))?;
    let address = listener.local_addr()?;
    if settings.token.is_none() && !address.ip().is_loopback() {
        tell(&format!("warning: {address} is open to the network, and the cluster has no token: see --token-file"));
    }
    let options = ClusterOptions {
        dir: settings.dir.clone(),
        storage_options: settings.storage_options,
        heartbeat_interval_ms: (settings.heartbeat_timeout_ms / 5).clamp(20, 1_000),
        heartbeat_timeout_ms: settings.heartbeat_timeout_ms,
        token: settings.token,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let cluster = Cluster::start(options, Arc::new(Front::default()), system_env()).await?;
    let routes = tonic::service::Routes::new(cluster.control()).into_axum_router().merge(cluster.rest());
    tell(&format!("listening on {address}; jobs are kept in {}", settings.dir));
    tokio::select! {
        served = axum::serve(listener, routes) => served.map_err(|e| Error::restart(format!("the server ended: {e}")).caused_by(e)),
        () = stop => Ok(()),
    }
}
