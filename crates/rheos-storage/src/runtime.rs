//! The tokio runtime that does a storage's work, so that the futures of a storage can be polled anywhere.

use futures_util::future::{BoxFuture, FutureExt};
use rheos_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::task::JoinError;

/// A runtime with threads for blocking work and, for S3, with timers and sockets.
#[derive(Debug, Clone)]
pub(crate) struct Runtime(Handle);

impl Runtime {
    /// The one that runs the caller.
    pub(crate) fn current() -> Result<Runtime> {
        Handle::try_current().map(Runtime).map_err(|e| Error::bug("a storage is opened outside of a tokio runtime").caused_by(e))
    }

    /// Runs work that blocks.
    pub(crate) fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> BoxFuture<'static, Result<T>> {
        let handle = self.0.clone();
        async move { handle.spawn_blocking(work).await.unwrap_or_else(|e| Err(lost(e))) }.boxed()
    }

    /// Runs work that waits for sockets and timers.
    #[cfg(feature = "s3")]
    pub(crate) fn waiting<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let handle = self.0.clone();
        async move { handle.spawn(work).await.unwrap_or_else(|e| Err(lost(e))) }.boxed()
    }
}

fn lost(error: JoinError) -> Error {
    if error.is_cancelled() {
        return Error::restart("the storage's runtime was stopped in the middle of an operation");
    }
    Error::bug("an operation of the storage panicked").caused_by(error)
}
