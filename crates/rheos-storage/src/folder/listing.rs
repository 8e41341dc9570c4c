//! Finds the objects below a folder.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rheos_core::storage::{Stored, check_name};

use super::steps::retrying;

/// The objects in `folder` of `root`, and below it, whose names begin with `prefix`, sorted. What is no object (a temporary
/// file, one that someone else put there, a link to a folder) is passed over.
pub(super) fn list(root: &Path, folder: &str, prefix: &str) -> io::Result<Vec<Stored>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_string()];
    while let Some(folder) = waiting.pop() {
        let entries = match retrying(|| fs::read_dir(root.join(&folder))) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            let entry = entry?;
            let Some(part) = entry.file_name().to_str().map(str::to_string) else { continue };
            let name = if folder.is_empty() { part } else { format!("{folder}/{part}") };
            if check_name(&name).is_err() || !(name.starts_with(prefix) || prefix.starts_with(&name)) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                waiting.push(name);
                continue;
            }
            match fs::metadata(entry.path()) {
                Ok(metadata) if metadata.is_file() && name.starts_with(prefix) => found.push(Stored { name, bytes: metadata.len() }),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::NotFound => {} // deleted meanwhile
                Err(e) => return Err(e),
            }
        }
    }
    found.sort();
    Ok(found)
}
