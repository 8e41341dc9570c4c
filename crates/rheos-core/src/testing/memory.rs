//! Storage in memory: what a test gives where a real process has a folder or a bucket.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};

use crate::error::Result;
use crate::storage::{PutOutcome, Storage, Stored, check_name, folder_of_prefix};

/// Objects in memory. A clone shows the same objects, as a second process would see them.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

impl MemoryStorage {
    /// One without objects.
    pub fn new() -> Self {
        Self::default()
    }

    fn run<T: Send + 'static>(
        &self,
        name: &str,
        operation: impl FnOnce(&mut BTreeMap<String, Bytes>, String) -> T + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let (this, name) = (self.clone(), name.to_string());
        async move {
            check_name(&name)?;
            Ok(operation(&mut this.lock(), name))
        }
        .boxed()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for MemoryStorage {
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>> {
        self.run(name, |objects, name| {
            objects.insert(name, bytes);
        })
    }

    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>> {
        self.run(name, |objects, name| {
            if objects.contains_key(&name) {
                return PutOutcome::Exists;
            }
            objects.insert(name, bytes);
            PutOutcome::Created
        })
    }

    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>> {
        self.run(name, |objects, name| objects.get(&name).cloned())
    }

    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>> {
        let (this, prefix) = (self.clone(), prefix.to_string());
        async move {
            folder_of_prefix(&prefix)?;
            let objects = this.lock();
            let found = objects.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
            Ok(found.map(|(name, bytes)| Stored { name: name.clone(), bytes: bytes.len() as u64 }).collect())
        }
        .boxed()
    }

    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>> {
        self.run(name, |objects, name| {
            objects.remove(&name);
        })
    }

    fn describe(&self) -> String {
        "memory".to_string()
    }
}
