//! Storage on Amazon S3 and what speaks its protocol, through object_store.
//!
//! Requests that may be repeated are repeated by object_store. The conditional create is not: `create.rs` repeats it itself,
//! because after a lost reply it must find out whether the object that exists is its own.

mod connect;
mod create;
mod failure;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use rheos_core::storage::{PutOutcome, Storage, Stored, check_name, folder_of_prefix};
use rheos_core::{Error, Result};
use tokio::sync::OnceCell;

use crate::runtime::Runtime;

/// Larger objects are written in parts, so that no request lasts long and a failed one repeats little.
const PART_BYTES: usize = 8 << 20;
/// How many parts of an object are on their way at once.
const PARTS_AT_ONCE: usize = 4;
/// S3 takes no more parts than this for an object.
const MAX_PARTS: usize = 10_000;

/// Objects below a prefix of a bucket.
pub(crate) struct S3Storage {
    bucket: Arc<Bucket>,
    runtime: Runtime,
}

/// The bucket, as the operations see it.
struct Bucket {
    /// Repeats requests that fail.
    repeating: AmazonS3,
    /// Sends each request once.
    once: AmazonS3,
    /// `s3://bucket/prefix`, and the endpoint where it is not Amazon's.
    description: String,
    /// What all keys begin with; empty or without slashes at its ends.
    prefix: String,
    /// Set when it is known that the store heeds a conditional create.
    heeds_conditions: OnceCell<()>,
}

impl S3Storage {
    /// Objects in `bucket` below `prefix`. Nothing is contacted yet.
    pub(crate) fn open(bucket: &str, prefix: &str, options: &BTreeMap<String, String>, runtime: Runtime) -> Result<S3Storage> {
        let bucket = Arc::new(connect::connect(bucket, prefix, options)?);
        Ok(S3Storage { bucket, runtime })
    }

    fn run<T, F>(&self, name: &str, work: impl FnOnce(Arc<Bucket>, String) -> F + Send + 'static) -> BoxFuture<'static, Result<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (bucket, name) = (Arc::clone(&self.bucket), name.to_string());
        let runtime = self.runtime.clone();
        async move {
            check_name(&name)?;
            runtime.waiting(work(bucket, name)).await
        }
        .boxed()
    }
}

impl Bucket {
    /// The key of an object or a folder.
    fn key(&self, name: &str) -> Result<Path> {
        let key = if self.prefix.is_empty() { name.to_string() } else { format!("{}/{name}", self.prefix) };
        Path::parse(&key).map_err(|e| Error::bug(format!("'{key}' is no key of S3")).caused_by(e))
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<()> {
        let key = self.key(name)?;
        let written = if bytes.len() <= 2 * PART_BYTES {
            self.repeating.put(&key, bytes.into()).await.map(|_| ())
        } else {
            self.put_in_parts(&key, bytes).await
        };
        written.map_err(|e| self.failure("write", name, e))
    }

    async fn put_in_parts(&self, key: &Path, bytes: Bytes) -> object_store::Result<()> {
        let part_bytes = PART_BYTES.max(bytes.len().div_ceil(MAX_PARTS));
        let mut upload = WriteMultipart::new_with_chunk_size(self.repeating.put_multipart(key).await?, part_bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            upload.wait_for_capacity(PARTS_AT_ONCE).await?;
            upload.put(rest.split_to(part_bytes.min(rest.len())));
        }
        upload.finish().await.map(|_| ())
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>> {
        let key = self.key(name)?;
        let got = async { self.repeating.get(&key).await?.bytes().await };
        match got.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if failure::is_absent(&e) => Ok(None),
            Err(e) => Err(self.failure("read", name, e)),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Stored>> {
        let folder = folder_of_prefix(prefix)?;
        let root = if self.prefix.is_empty() { 0 } else { self.prefix.len() + 1 };
        let below = if folder.is_empty() { Path::parse(&self.prefix).unwrap_or_default() } else { self.key(folder)? };
        let mut found = Vec::new();
        let mut objects = self.repeating.list(Some(&below));
        while let Some(object) = objects.try_next().await.map_err(|e| self.failure("list", prefix, e))? {
            let name = object.location.as_ref().get(root..).unwrap_or_default();
            if name.starts_with(prefix) && check_name(name).is_ok() {
                found.push(Stored { name: name.to_string(), bytes: object.size });
            }
        }
        found.sort();
        Ok(found)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        match self.repeating.delete(&self.key(name)?).await {
            Err(e) if !failure::is_absent(&e) => Err(self.failure("delete", name, e)),
            _ => Ok(()),
        }
    }
}

impl Storage for S3Storage {
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>> {
        self.run(name, |bucket, name| async move { bucket.put(&name, bytes).await })
    }

    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>> {
        self.run(name, |bucket, name| async move { bucket.create(&name, bytes).await })
    }

    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>> {
        self.run(name, |bucket, name| async move { bucket.get(&name).await })
    }

    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>> {
        let (bucket, prefix) = (Arc::clone(&self.bucket), prefix.to_string());
        self.runtime.waiting(async move { bucket.list(&prefix).await })
    }

    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>> {
        self.run(name, |bucket, name| async move { bucket.delete(&name).await })
    }

    fn describe(&self) -> String {
        self.bucket.description.clone()
    }
}
