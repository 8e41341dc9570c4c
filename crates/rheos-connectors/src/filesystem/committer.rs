//! Makes part files visible once the snapshot that they belong to is complete.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rheos_core::sink::{CommitToken, Committer};
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a commit token says: a whole file under the name that hides it, and its name.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingFile {
    pub(super) temporary: PathBuf,
    pub(super) name: PathBuf,
}

/// Renames part files.
#[derive(Debug)]
pub(super) struct Renamer;

impl Committer for Renamer {
    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        let mut folders = BTreeSet::new();
        for token in tokens {
            let file: PendingFile = serde_json::from_value(token.payload.clone())
                .map_err(|e| Error::from(e).context(format!("commit token of sink '{}'", token.sink)))?;
            reveal(&file)?;
            folders.extend(file.name.parent().map(Path::to_path_buf));
        }
        folders.iter().try_for_each(|folder| sync_folder(folder))
    }
}

fn reveal(file: &PendingFile) -> Result<()> {
    let (is_pending, is_there) = (file.temporary.exists(), file.name.exists());
    match (is_pending, is_there) {
        (true, true) => Err(Error::config(format!(
            "'{}' cannot be published: another job has written a file of that name; '{}' holds the rows",
            file.name.display(),
            file.temporary.display()
        ))),
        (true, false) => fs::rename(&file.temporary, &file.name)
            .map_err(|e| Error::restart(format!("cannot publish '{}': {e}", file.name.display())).caused_by(e)),
        (false, true) => Ok(()),
        (false, false) => {
            // Published before, and taken away by whoever reads it.
            tracing::warn!(file = %file.name.display(), "a part file that was to be published is gone");
            Ok(())
        }
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|f| f.sync_all());
    synced.map_err(|e| Error::restart(format!("cannot make the folder '{}' durable: {e}", folder.display())).caused_by(e))
}
