//! A cluster, assembled: the coordinator given a planner, workers given connectors, and a client of its REST interface.

mod client;
mod coordinator;
mod front;
mod results;
mod worker;

pub use client::{Client, JobState, ResultRows};
pub use coordinator::{CoordinatorSettings, serve_coordinator};
pub use rheos_coordinator::{PlanError, Submission};
pub use worker::{WorkerSettings, serve_worker};

use rheos_core::{Error, Result};

/// Where a coordinator listens unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7480";

/// A name or address with a port, resolved.
async fn resolve(address: &str) -> Result<std::net::SocketAddr> {
    let wrong = |why: String| Error::config(format!("'{address}' is no address to listen at, such as 127.0.0.1:7480: {why}"));
    let mut found = tokio::net::lookup_host(address).await.map_err(|e| wrong(e.to_string()))?;
    found.next().ok_or_else(|| wrong("the name is known nowhere".into()))
}
