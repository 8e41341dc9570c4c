//! Durable storage of a job: [`open`] turns what a user wrote into a [`Storage`], on a folder or on S3.
//!
//! The contract is in [`rheos_core::storage`]. Every store passes the same tests (`tests/storages`), and [`FaultyStorage`] makes
//! any of them fail on purpose.
//!
//! This crate knows nothing of snapshots.

mod copies;
mod folder;
mod location;
mod runtime;
#[cfg(feature = "s3")]
mod s3;
mod unique;

pub mod faults;

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::Result;
use rheos_core::storage::Storage;

pub use copies::LocalCopies;
pub use faults::{Faults, FaultyStorage};
use location::Location;
use runtime::Runtime;

/// Opens the storage that `url_or_path` means: a path or `file://` is a folder of this machine (or one that it shares with
/// others), `s3://bucket/prefix` is Amazon S3 or what speaks its protocol.
///
/// Options that begin with `s3.` say how to reach S3 (each of them may be left out):
///
/// | option | meaning | without it |
/// |---|---|---|
/// | `s3.endpoint` | host, or URL with `http://` or `https://` | `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, or Amazon's |
/// | `s3.access-key`, `s3.secret-key` | credentials | the AWS environment variables, then the machine's role |
/// | `s3.region` | the bucket's region | `AWS_REGION`, `AWS_DEFAULT_REGION`, or `us-east-1` |
/// | `s3.path.style.access` | `true`: the bucket is in the path, `false`: in the host name | `true` where there is an endpoint |
///
/// Must be called within a tokio runtime, which does the work of the storage; its futures may be polled elsewhere. Nothing is
/// created or contacted before the first operation.
pub fn open(url_or_path: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>> {
    let location = Location::parse(url_or_path)?;
    let runtime = Runtime::current()?;
    match location {
        Location::Folder(path) => Ok(Arc::new(folder::FolderStorage::open(&path, runtime)?)),
        #[cfg(feature = "s3")]
        Location::Bucket { bucket, prefix } => Ok(Arc::new(s3::S3Storage::open(&bucket, &prefix, options, runtime)?)),
        #[cfg(not(feature = "s3"))]
        Location::Bucket { .. } => {
            let _ = options;
            Err(rheos_core::Error::config(format!("storage '{url_or_path}': this build of rheos has no S3 (feature 's3')")))
        }
    }
}
