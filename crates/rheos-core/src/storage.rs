//! The contract of durable storage: named immutable bytes of a job, and an atomic create that exactly one writer wins.
//!
//! Snapshots and the log of epochs live here. The set of operations is what a folder of files and an object store both have;
//! everything else (which snapshot is complete, who may write) is built on [`Storage::put_if_absent`].

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::error::{Error, Result};

/// Where the durable bytes of a job are kept, by name below one root.
///
/// **Names** are as [`check_name`] wants them, such as `log/000001.json`. A name is not a folder of another name.
///
/// **Durability**: when `put` or `put_if_absent` has returned, the bytes survive a crash of the process and of the machine.
/// A deleted object may come back after a crash of the machine.
///
/// **Consistency**: what a finished call has written or deleted, every later `get` and `list` of every process sees. Readers
/// never see a part of an object.
///
/// **Errors** name the store and the object. [`Retry`](crate::ErrorKind::Retry) is for what may pass; what may pass quickly was
/// tried several times before. [`FixConfig`](crate::ErrorKind::FixConfig) is for what a user must mend: no such bucket,
/// permission denied. After an error of a write it is open whether the bytes were stored; they may even appear
/// later. So whoever repeats a `put_if_absent` that failed and is told `Exists` must read what is there before he concludes
/// that someone else won.
///
/// **Futures** own what they need, do nothing before they are polled, and may be polled on any thread. Dropping one leaves open
/// whether the operation happens.
pub trait Storage: Send + Sync {
    /// Creates or replaces an object.
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>>;

    /// Creates an object unless it exists. Of several writers of one name, in whatever processes, exactly one gets
    /// [`PutOutcome::Created`]. For small objects (below 16 MiB).
    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>>;

    /// The bytes of an object; `None` if there is none.
    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>>;

    /// All objects whose names begin with `prefix` (`""` is all, `files/` a folder, `log/0001` a part of one), by name.
    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>>;

    /// Removes an object; one that does not exist is fine.
    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>>;

    /// Which store this is, for messages: `s3://bucket/job` or `folder '/var/lib/job'`. Without secrets.
    fn describe(&self) -> String;
}

/// What became of a [`Storage::put_if_absent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object is the one of this call.
    Created,
    /// There was one already; it was left as it is.
    Exists,
}

/// An object as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stored {
    /// Its name below the root.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// The longest name, and the longest part between slashes, that every store takes.
const MAX_NAME_BYTES: usize = 512;
const MAX_PART_BYTES: usize = 200;

/// Checks a name: parts joined by `/`, each of ASCII letters, digits, `-`, `_`, `.`, `=`, not beginning with a dot, at most
/// 200 bytes; at most 512 bytes together. Names come from Rheos itself, so another one is a bug.
pub fn check_name(name: &str) -> Result<()> {
    if name.len() <= MAX_NAME_BYTES && name.split('/').all(is_part) {
        return Ok(());
    }
    Err(Error::bug(format!("'{name}' is no name of a stored object: it needs parts of letters, digits, -, _, . and = joined by /")))
}

/// Checks a prefix of names and gives the folder that holds all names with that prefix: `""` for `lo`, `log` for `log/00`.
pub fn folder_of_prefix(prefix: &str) -> Result<&str> {
    let (folder, start) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let is_rooted = prefix.starts_with('/');
    if !is_rooted && (folder.is_empty() || check_name(folder).is_ok()) && (start.is_empty() || is_part(start)) {
        return Ok(folder);
    }
    Err(Error::bug(format!("'{prefix}' is no prefix of names of stored objects")))
}

fn is_part(part: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.=".contains(&b);
    !part.is_empty() && !part.starts_with('.') && part.len() <= MAX_PART_BYTES && part.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_root_or_hide_are_refused() {
        for good in ["a", "log/000.json", "files/3f-0_1=x"] {
            check_name(good).unwrap();
        }
        for bad in ["", "/a", "a/", "a//b", "../a", "a/..", ".hidden", "a b", "a\\b", "ä", &"x".repeat(201)] {
            let error = check_name(bad).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Bug, "{bad}");
        }
    }

    #[test]
    fn a_prefix_lies_in_a_folder() {
        assert_eq!(folder_of_prefix("").unwrap(), "");
        assert_eq!(folder_of_prefix("lo").unwrap(), "");
        assert_eq!(folder_of_prefix("log/").unwrap(), "log");
        assert_eq!(folder_of_prefix("a/b/00").unwrap(), "a/b");
        for bad in ["/", "//", "../", "a/../b", "a//"] {
            assert!(folder_of_prefix(bad).is_err(), "{bad}");
        }
    }
}
