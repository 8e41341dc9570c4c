//! Which coordinator is meant, and a client of it that callers need not await.

use std::path::Path;
use std::sync::Arc;

use rheos::cluster::{Client, DEFAULT_ADDRESS};
use rheos::{Error, ErrorKind};
use tokio::runtime::Runtime;

use crate::failure::Failure;

/// A client and the thread that drives it.
#[derive(Clone)]
pub(crate) struct Blocking {
    pub(crate) client: Client,
    pub(crate) runtime: Arc<Runtime>,
}

impl Blocking {
    /// A client of the coordinator that the arguments mean.
    pub(crate) fn new(target: Option<&str>, token_file: Option<&Path>) -> Result<Blocking, Failure> {
        let target = target.map(str::to_string).or_else(|| std::env::var("RHEOS_TARGET").ok());
        let client = Client::new(target.as_deref().unwrap_or(DEFAULT_ADDRESS), token(token_file)?).map_err(failed)?;
        Ok(Blocking { client, runtime: Arc::new(runtime(1)?) })
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(&self, asked: impl Future<Output = rheos::Result<T>>) -> Result<T, Failure> {
        self.runtime.block_on(asked).map_err(failed)
    }
}

/// The secret of the cluster: from a file, or from the environment.
pub(crate) fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(file) = file else { return Ok(std::env::var("RHEOS_TOKEN").ok().filter(|token| !token.is_empty())) };
    let text = std::fs::read_to_string(file).map_err(|e| Failure::wrong(format!("'{}' cannot be read: {e}", file.display())))?;
    match text.trim() {
        "" => Err(Failure::wrong(format!("'{}' holds no token: it is empty", file.display()))),
        token => Ok(Some(token.to_string())),
    }
}

/// What drives sockets and timers.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).thread_name("rheos-io").enable_all().build();
    built.map_err(|e| Failure::Job(Error::restart(format!("threads cannot be started: {e}")).caused_by(e)))
}

/// What the coordinator refuses is wrong; what else fails is the world's fault.
pub(crate) fn failed(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::FixConfig | ErrorKind::FixInput => Failure::wrong(error),
        _ => Failure::Job(error),
    }
}
