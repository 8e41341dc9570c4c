//! The names of part files: whose they are, which number is free, what an earlier process left behind.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

/// How the names of files end that are not published.
pub(super) const HIDDEN_SUFFIX: &str = ".inprogress";

/// How the names of a sink's files begin. Those of a job that may be restored say whose they are.
pub(super) fn prefix_of_sink(uid: &str, job: &str) -> String {
    let plain = |text: &str| -> String { text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect() };
    match job {
        "" => format!("part-{}-", plain(uid)),
        job => format!("part-{}-{}-", plain(job), plain(uid)),
    }
}

/// Whether a hidden file is of this sink: behind the prefix stand a writer's number, its attempt's and a file's, and nothing else.
fn is_hidden_of(name: &str, of_sink: &str) -> bool {
    let stem = name.strip_prefix('.').and_then(|name| name.strip_prefix(of_sink)).and_then(|rest| rest.split('.').next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = stem.map(|stem| stem.split('-').collect()).unwrap_or_default();
    let is_ours = |parts: &[&str]| match parts {
        [writer, attempt, number] => {
            is_number(writer) && attempt.len() == 6 && attempt.bytes().all(|b| b.is_ascii_hexdigit()) && is_number(number)
        }
        _ => false,
    };
    name.ends_with(HIDDEN_SUFFIX) && is_ours(&parts)
}

/// Removes the hidden files that earlier processes of the same job left behind.
pub(super) fn remove_leftovers(folder: &Path, of_sink: &str, until_ms: TimestampMs) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if is_hidden_of(&name, of_sink)
            && written_ms(&entry) <= until_ms
            && let Err(e) = fs::remove_file(entry.path())
            && e.kind() != ErrorKind::NotFound
        {
            return Err(Error::restart(format!("cannot remove the unfinished '{}': {e}", entry.path().display())).caused_by(e));
        }
    }
    Ok(())
}

/// When a file was last written, in milliseconds since the epoch. One of which that is not known was written long ago.
fn written_ms(entry: &fs::DirEntry) -> TimestampMs {
    let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
    let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(TimestampMs::MIN, |since| since.as_millis() as TimestampMs)
}

/// The first number that no file of this writer has, hidden ones included.
pub(super) fn next_number(folder: &Path, prefix: &str) -> Result<u64> {
    let mut next = 0;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if let Some(rest) = name.trim_start_matches('.').strip_prefix(prefix) {
            let digits = rest.split('.').next().unwrap_or_default();
            next = next.max(digits.parse::<u64>().map_or(0, |n| n.saturating_add(1)));
        }
    }
    Ok(next)
}
