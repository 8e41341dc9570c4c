//! What every storage must do, whatever it is made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use rheos_core::ErrorKind;
use rheos_core::storage::{PutOutcome, Storage};

/// A behaviour: its name as a sentence, and what shows it on a storage without objects.
type Behaviour = (&'static str, fn(Arc<dyn Storage>) -> BoxFuture<'static, ()>);

const BEHAVIOURS: [Behaviour; 9] = [
    ("an object is read as it was written", |s| an_object_is_read_as_it_was_written(s).boxed()),
    ("a put replaces the object", |s| a_put_replaces_the_object(s).boxed()),
    ("what exists is not created again", |s| what_exists_is_not_created_again(s).boxed()),
    ("one of many writers creates an object", |s| one_of_many_writers_creates_an_object(s).boxed()),
    ("equal bytes do not make two winners", |s| equal_bytes_do_not_make_two_winners(s).boxed()),
    ("readers see whole objects", |s| readers_see_whole_objects(s).boxed()),
    ("a list is sorted and begins with its prefix", |s| a_list_is_sorted_and_begins_with_its_prefix(s).boxed()),
    ("what is deleted is gone, twice too", |s| what_is_deleted_is_gone_twice_too(s).boxed()),
    ("names that leave the root are refused", |s| names_that_leave_the_root_are_refused(s).boxed()),
];

/// Shows all behaviours, each on a storage that `open` gives for a name.
pub(crate) async fn all(open: impl Fn(&str) -> Arc<dyn Storage>) {
    for (number, (sentence, behaviour)) in BEHAVIOURS.iter().enumerate() {
        let storage = open(&format!("case-{number}"));
        eprintln!("{}: {sentence}", storage.describe());
        behaviour(storage).await;
    }
}

async fn names(storage: &Arc<dyn Storage>, prefix: &str) -> Vec<String> {
    storage.list(prefix).await.unwrap().into_iter().map(|s| s.name).collect()
}

async fn an_object_is_read_as_it_was_written(storage: Arc<dyn Storage>) {
    assert_eq!(storage.get("files/none").await.unwrap(), None);
    // 20 MB is written in parts by S3.
    for (name, length) in [("empty", 0), ("files/small", 5), ("files/a/b.c=d_e-f", 300_000), ("files/large", 20_000_000)] {
        let bytes: Bytes = (0..length).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        storage.put(name, bytes.clone()).await.unwrap();
        assert!(storage.get(name).await.unwrap().unwrap() == bytes, "{name}");
        assert_eq!(storage.list(name).await.unwrap()[0].bytes, u64::from(length));
    }
}

async fn a_put_replaces_the_object(storage: Arc<dyn Storage>) {
    for bytes in ["1", "longer", ""] {
        storage.put("log/000", bytes.into()).await.unwrap();
        assert_eq!(storage.get("log/000").await.unwrap().unwrap(), bytes);
    }
    assert_eq!(names(&storage, "").await, ["log/000"]);
}

async fn what_exists_is_not_created_again(storage: Arc<dyn Storage>) {
    assert_eq!(storage.put_if_absent("log/000", "first".into()).await.unwrap(), PutOutcome::Created);
    assert_eq!(storage.put_if_absent("log/000", "second".into()).await.unwrap(), PutOutcome::Exists);
    assert_eq!(storage.put_if_absent("log/000", "first".into()).await.unwrap(), PutOutcome::Exists);
    assert_eq!(storage.get("log/000").await.unwrap().unwrap(), "first");
    storage.delete("log/000").await.unwrap();
    assert_eq!(storage.put_if_absent("log/000", "third".into()).await.unwrap(), PutOutcome::Created);
}

async fn one_of_many_writers_creates_an_object(storage: Arc<dyn Storage>) {
    for round in 0..5 {
        let name = format!("log/{round}");
        let outcomes = join_all((0..20).map(|writer| storage.put_if_absent(&name, format!("writer {writer}").into()))).await;
        let winners: Vec<usize> = (0..20).filter(|w| *outcomes[*w].as_ref().unwrap() == PutOutcome::Created).collect();
        assert_eq!(winners.len(), 1, "{winners:?} have all created {name}");
        assert_eq!(storage.get(&name).await.unwrap().unwrap(), format!("writer {}", winners[0]));
    }
}

async fn equal_bytes_do_not_make_two_winners(storage: Arc<dyn Storage>) {
    let outcomes = join_all((0..20).map(|_| storage.put_if_absent("claim", "the same".into()))).await;
    assert_eq!(outcomes.iter().filter(|o| *o.as_ref().unwrap() == PutOutcome::Created).count(), 1);
}

async fn readers_see_whole_objects(storage: Arc<dyn Storage>) {
    let version = |byte: u8| Bytes::from(vec![byte; 200_000]);
    storage.put("x", version(0)).await.unwrap();
    let writer = async {
        for byte in 1..10 {
            storage.put("x", version(byte)).await.unwrap();
        }
    };
    let reader = async {
        let mut seen = BTreeSet::new();
        while !seen.contains(&9) {
            let bytes = storage.get("x").await.unwrap().unwrap();
            assert!(bytes == version(bytes[0]), "a mixture of versions, or a part of one");
            seen.insert(bytes[0]);
        }
    };
    futures_util::future::join(writer, reader).await;
}

async fn a_list_is_sorted_and_begins_with_its_prefix(storage: Arc<dyn Storage>) {
    assert_eq!(names(&storage, "").await, [""; 0]);
    for name in ["log/002", "log/001", "log/010", "logs", "files/b/c", "files/a", "files/a-b"] {
        storage.put(name, name.to_string().into()).await.unwrap();
    }
    assert_eq!(names(&storage, "").await, ["files/a", "files/a-b", "files/b/c", "log/001", "log/002", "log/010", "logs"]);
    assert_eq!(names(&storage, "log/").await, ["log/001", "log/002", "log/010"]);
    assert_eq!(names(&storage, "log/00").await, ["log/001", "log/002"]);
    assert_eq!(names(&storage, "log").await, ["log/001", "log/002", "log/010", "logs"]);
    assert_eq!(names(&storage, "files/b").await, ["files/b/c"]);
    assert_eq!(names(&storage, "files/b/").await, ["files/b/c"]);
    assert_eq!(names(&storage, "none/").await, [""; 0]);
    assert_eq!(storage.list("files/a-b").await.unwrap()[0].bytes, 9);
}

async fn what_is_deleted_is_gone_twice_too(storage: Arc<dyn Storage>) {
    storage.delete("never/there").await.unwrap();
    storage.put("log/000", "1".into()).await.unwrap();
    storage.put("log/001", "1".into()).await.unwrap();
    for _ in 0..2 {
        storage.delete("log/000").await.unwrap();
        assert_eq!(storage.get("log/000").await.unwrap(), None);
        assert_eq!(names(&storage, "").await, ["log/001"]);
    }
}

async fn names_that_leave_the_root_are_refused(storage: Arc<dyn Storage>) {
    for name in ["../x", "/x", "", "a//b", "a/", ".x"] {
        for error in [
            storage.put(name, "1".into()).await.unwrap_err(),
            storage.put_if_absent(name, "1".into()).await.unwrap_err(),
            storage.get(name).await.unwrap_err(),
            storage.delete(name).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Bug, "{name}");
        }
    }
    assert_eq!(storage.list("../").await.unwrap_err().kind(), ErrorKind::Bug);
}
