//! S3: the suite, lost replies, and what a user may have got wrong.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rheos_core::ErrorKind;
use rheos_core::storage::{PutOutcome, Storage};
use rheos_storage::open;

use crate::fake;
use crate::moto::Moto;
use crate::outside;
use crate::proxy::Proxy;
use crate::suite;

fn options(server: SocketAddr) -> BTreeMap<String, String> {
    let pairs = [("s3.endpoint", format!("http://{server}")), ("s3.access-key", "test".into()), ("s3.secret-key", "test".into())];
    pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
}

fn open_at(server: SocketAddr, url: &str) -> Arc<dyn Storage> {
    open(url, &options(server)).unwrap()
}

/// One server for all of it: it takes seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn s3_does_what_every_storage_must_and_survives_a_bad_network() {
    let Some(moto) = Moto::start() else { return };
    moto.create_bucket("bucket");
    suite::all(|name| open_at(moto.address, &format!("s3://bucket/{name}/job"))).await;
    moto.create_bucket("whole");
    a_bucket_without_a_prefix_works(&open_at(moto.address, "s3://whole")).await;
    let proxy = Proxy::start(moto.address);
    a_create_whose_reply_is_lost_is_ones_own(&proxy, &open_at(proxy.address, "s3://bucket/lost")).await;
    an_object_of_another_is_not_ones_own_after_a_lost_request(&proxy, &open_at(proxy.address, "s3://bucket/other")).await;
    what_may_be_repeated_is_repeated(&proxy, &open_at(proxy.address, "s3://bucket/again")).await;
    a_missing_bucket_is_the_users_to_mend(&open_at(moto.address, "s3://nothing/x")).await;
}

async fn a_bucket_without_a_prefix_works(storage: &Arc<dyn Storage>) {
    storage.put("log/000", "1".into()).await.unwrap();
    storage.put("x", "1".into()).await.unwrap();
    let names: Vec<String> = storage.list("").await.unwrap().into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["log/000", "x"]);
    assert_eq!(storage.list("log/").await.unwrap().len(), 1);
}

async fn a_create_whose_reply_is_lost_is_ones_own(proxy: &Proxy, storage: &Arc<dyn Storage>) {
    storage.put_if_absent("warm", "1".into()).await.unwrap();
    proxy.lose_replies(1);
    assert_eq!(storage.put_if_absent("claim", "mine".into()).await.unwrap(), PutOutcome::Created);
    assert_eq!(proxy.left(), 0);
    assert_eq!(storage.put_if_absent("claim", "mine".into()).await.unwrap(), PutOutcome::Exists);
}

async fn an_object_of_another_is_not_ones_own_after_a_lost_request(proxy: &Proxy, storage: &Arc<dyn Storage>) {
    storage.put_if_absent("claim", "the same".into()).await.unwrap();
    proxy.lose_requests(1);
    assert_eq!(storage.put_if_absent("claim", "the same".into()).await.unwrap(), PutOutcome::Exists);
    assert_eq!(proxy.left(), 0);
}

async fn what_may_be_repeated_is_repeated(proxy: &Proxy, storage: &Arc<dyn Storage>) {
    proxy.lose_requests(2);
    storage.put("x", "1".into()).await.unwrap();
    proxy.lose_replies(2);
    assert_eq!(storage.get("x").await.unwrap().unwrap(), "1");
    proxy.lose_replies(1);
    assert_eq!(storage.list("").await.unwrap().len(), 1);
    assert_eq!(proxy.left(), 0);
}

async fn a_missing_bucket_is_the_users_to_mend(storage: &Arc<dyn Storage>) {
    for error in [
        storage.get("x").await.unwrap_err(),
        storage.put("x", "1".into()).await.unwrap_err(),
        storage.put_if_absent("x", "1".into()).await.unwrap_err(),
        storage.list("").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::FixConfig, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("s3://nothing/x at http://127.0.0.1:") && text.contains("NoSuchBucket"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_may_come_back() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).unwrap();
    // Polled outside of the runtime, which has the sockets and timers that this needs.
    let error = outside::run(open_at(nobody, "s3://bucket/x").put("log/000", "1".into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retry, "{error}");
    assert!(error.to_string().starts_with(&format!("s3://bucket/x at http://{nobody}: cannot write 'log/000': ")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_ignores_the_condition_of_a_create_is_refused() {
    let storage = open_at(fake::start("200 OK", ""), "s3://bucket/x");
    let error = storage.put_if_absent("log/000", "1".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FixConfig, "{error}");
    assert!(error.to_string().contains("ignores 'If-None-Match: *'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_who_must_do_what() {
    for (status, body, kind, expected) in [
        (
            "403 Forbidden",
            "<Error><Code>AccessDenied</Code><Message>No.</Message></Error>",
            ErrorKind::FixConfig,
            "AccessDenied: No. (check",
        ),
        ("403 Forbidden", "<Error><Code>InvalidAccessKeyId</Code></Error>", ErrorKind::FixConfig, "InvalidAccessKeyId (check"),
        ("301 Moved Permanently", "", ErrorKind::FixConfig, "set s3.region"),
        ("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>", ErrorKind::FixConfig, "ExpiredToken"),
        ("503 Service Unavailable", "<Error><Code>SlowDown</Code></Error>", ErrorKind::Retry, "SlowDown"),
    ] {
        let storage = open_at(fake::start(status, body), "s3://bucket/x");
        for error in [
            storage.put("log/000", "1".into()).await.unwrap_err(),
            storage.put_if_absent("log/000", "1".into()).await.unwrap_err(),
            storage.get("log/000").await.unwrap_err(),
            storage.list("log/").await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), kind, "{status}: {error}");
            assert!(error.to_string().contains(expected), "{status}: {error}");
        }
    }
}
