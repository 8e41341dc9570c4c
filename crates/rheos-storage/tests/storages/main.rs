//! Every storage passes the same suite; S3 also when replies are lost on the way.

#![allow(clippy::unwrap_used)] // what tests share is a test too

#[cfg(feature = "s3")]
mod fake;
#[cfg(feature = "s3")]
mod moto;
mod outside;
#[cfg(feature = "s3")]
mod proxy;
#[cfg(feature = "s3")]
mod s3;
mod suite;

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::testing::MemoryStorage;
use rheos_storage::open;

#[tokio::test]
async fn memory_does_what_every_storage_must() {
    suite::all(|_| Arc::new(MemoryStorage::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_does_what_every_storage_must() {
    let root = tempfile::tempdir().unwrap();
    suite::all(|name| open(&format!("file://{}/{name}/job", root.path().display()), &BTreeMap::new()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn futures_of_a_folder_may_be_polled_outside_of_the_runtime() {
    let root = tempfile::tempdir().unwrap();
    let storage = open(root.path().to_str().unwrap(), &BTreeMap::new()).unwrap();
    outside::run({
        let storage = Arc::clone(&storage);
        async move { storage.put("x", "1".into()).await.unwrap() }
    });
    assert_eq!(storage.get("x").await.unwrap().unwrap(), "1");
}

#[test]
fn a_storage_is_opened_within_a_runtime() {
    let error = open("/tmp", &BTreeMap::new()).err().unwrap();
    assert_eq!(error.kind(), rheos_core::ErrorKind::Bug);
}
