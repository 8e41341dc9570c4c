//! Makes part files visible once the snapshot that they belong to is complete.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rheos_core::sink::{CommitToken, Committer};
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a commit token says: a whole file under the name that hides it, and its name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PendingFile {
    pub(super) temporary: PathBuf,
    pub(super) name: PathBuf,
}

/// Renames part files.
#[derive(Debug)]
pub(super) struct Renamer;

impl Committer for Renamer {
    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        // Each with whether a file was renamed in it. Where none was, a commit before this one may have been cut short between
        // renaming and making durable, unless whoever reads the files has taken the folder away.
        let mut folders: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for token in tokens {
            let file = pending(token)?;
            let renamed = reveal(&file)?;
            // Folders of partitions may be new: so their names are to be made durable too, up to where the hidden file was.
            let root = file.temporary.parent();
            for folder in file.name.ancestors().skip(1) {
                *folders.entry(folder.to_path_buf()).or_default() |= renamed;
                if Some(folder) == root || !root.is_some_and(|root| folder.starts_with(root)) {
                    break;
                }
            }
        }
        folders.iter().filter(|(folder, renamed)| **renamed || folder.exists()).try_for_each(|(folder, _)| sync_folder(folder))
    }

    fn abort(&mut self, tokens: &[CommitToken]) -> Result<()> {
        for token in tokens {
            let file = pending(token)?;
            match fs::remove_file(&file.temporary) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(Error::restart(format!("cannot remove '{}': {e}", file.temporary.display())).caused_by(e));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn pending(token: &CommitToken) -> Result<PendingFile> {
    serde_json::from_value(token.payload.clone()).map_err(|e| Error::from(e).context(format!("commit token of sink '{}'", token.sink)))
}

/// Gives a file its name; says whether that was still to be done.
fn reveal(file: &PendingFile) -> Result<bool> {
    let (is_pending, is_there) = (file.temporary.exists(), file.name.exists());
    match (is_pending, is_there) {
        (true, true) => Err(Error::config(format!(
            "'{}' cannot be published: another job has written a file of that name; '{}' holds the rows",
            file.name.display(),
            file.temporary.display()
        ))),
        (true, false) => fs::create_dir_all(file.name.parent().unwrap_or(Path::new("")))
            .and_then(|()| fs::rename(&file.temporary, &file.name))
            .map(|()| true)
            .map_err(|e| Error::restart(format!("cannot publish '{}': {e}", file.name.display())).caused_by(e)),
        (false, true) => Ok(false),
        (false, false) => {
            // Published before, and taken away by whoever reads it.
            tracing::warn!(file = %file.name.display(), "a part file that was to be published is gone");
            Ok(false)
        }
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(|e| Error::restart(format!("cannot make the folder '{}' durable: {e}", folder.display())).caused_by(e))
}
