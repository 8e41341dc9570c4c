//! A request of the master's to storage, carried out.

use std::sync::Arc;

use bytes::Bytes;
use rheos_checkpoint::coordinator::{StorageOp, StorageOutcome};
use rheos_core::Result;
use rheos_core::storage::{PutOutcome, Storage};

/// Asks storage; a failure is an outcome too.
pub(crate) async fn ask(storage: Arc<dyn Storage>, request: StorageOp) -> StorageOutcome {
    let outcome = match request {
        StorageOp::List(prefix) => list(&*storage, &prefix).await,
        StorageOp::Get(name) => storage.get(&name).await.map(|found| match found {
            Some(content) => StorageOutcome::Content(content.to_vec()),
            None => StorageOutcome::NotFound,
        }),
        StorageOp::PutIfAbsent(name, content) => storage.put_if_absent(&name, Bytes::from(content)).await.map(|put| match put {
            PutOutcome::Created => StorageOutcome::Done,
            PutOutcome::Exists => StorageOutcome::AlreadyExists,
        }),
        StorageOp::Replace(name, content) => storage.put(&name, Bytes::from(content)).await.map(|()| StorageOutcome::Done),
        StorageOp::Delete(name) => storage.delete(&name).await.map(|()| StorageOutcome::Done),
    };
    outcome.unwrap_or_else(|error| StorageOutcome::Failed(error.to_string()))
}

async fn list(storage: &dyn Storage, prefix: &str) -> Result<StorageOutcome> {
    Ok(StorageOutcome::Names(storage.list(prefix).await?.into_iter().map(|stored| stored.name).collect()))
}
