//! The moments of a job that are seen on storage: a snapshot under way, a manifest just written.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep below the coordinator's folder a job's folder may lie.
const MAX_DEPTH: usize = 4;

/// Looks at the folder of a job: `log/` with its records, `files/` with data.
pub(super) struct Folder {
    dir: PathBuf,
    /// The job's folder, once it is found.
    job: Option<PathBuf>,
    /// The highest record at the last look.
    record: Option<String>,
    /// The files that were there at the last record.
    files: HashSet<String>,
}

/// What is new on storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing.
    Nothing,
    /// Files of a snapshot that is not complete.
    Files,
    /// A record: a snapshot is complete, or somebody has claimed the job.
    Record,
}

impl Folder {
    /// Of the one job whose folder lies somewhere below `dir`.
    pub(super) fn new(dir: &Path) -> Folder {
        Folder { dir: dir.into(), job: None, record: None, files: HashSet::new() }
    }

    /// What counts as old from now on.
    pub(super) fn begin(&mut self) {
        self.job = self.job.take().or_else(|| find(&self.dir, MAX_DEPTH));
        let Some(job) = &self.job else { return };
        self.record = names(&job.join("log")).into_iter().max();
        self.files = names(&job.join("files")).into_iter().collect();
    }

    /// What has come since. A record makes everything old.
    pub(super) fn look(&mut self) -> Seen {
        let Some(job) = &self.job else {
            self.begin();
            return Seen::Nothing;
        };
        if names(&job.join("log")).into_iter().max() > self.record {
            self.begin();
            return Seen::Record;
        }
        let is_new = names(&job.join("files")).into_iter().any(|file| !self.files.contains(&file));
        if is_new { Seen::Files } else { Seen::Nothing }
    }
}

fn find(dir: &Path, depth: usize) -> Option<PathBuf> {
    if dir.join("log").is_dir() {
        return Some(dir.into());
    }
    if depth == 0 {
        return None;
    }
    let folders = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.filter_map(|folder| find(&folder, depth - 1)).next()
}

/// The names in a folder that are not temporary.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| !name.starts_with('.')).collect()
}

/// How many visible and how many hidden files a folder has.
pub(super) fn count(folder: &Path) -> (usize, usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let hidden = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    entries.map(hidden).fold((0, 0), |(shown, hidden), is_hidden| if is_hidden { (shown, hidden + 1) } else { (shown + 1, hidden) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_before_their_record() {
        let dir = tempfile::tempdir().unwrap();
        let job = dir.path().join("jobs/a/job-1");
        let mut folder = Folder::new(dir.path());
        assert_eq!(folder.look(), Seen::Nothing, "no job yet");
        for name in ["log", "files"] {
            fs::create_dir_all(job.join(name)).unwrap();
        }
        fs::write(job.join("log/00000000000000000001.json"), "").unwrap();
        fs::write(job.join("files/1-1"), "").unwrap();
        assert_eq!(folder.look(), Seen::Nothing, "all of it is old");
        fs::write(job.join("files/.1-2"), "").unwrap();
        assert_eq!(folder.look(), Seen::Nothing);
        fs::rename(job.join("files/.1-2"), job.join("files/1-2")).unwrap();
        assert_eq!((folder.look(), folder.look()), (Seen::Files, Seen::Files));
        fs::write(job.join("log/00000000000000000002.json"), "").unwrap();
        assert_eq!((folder.look(), folder.look()), (Seen::Record, Seen::Nothing));
        fs::remove_file(job.join("log/00000000000000000002.json")).unwrap();
        assert_eq!(folder.look(), Seen::Nothing, "old manifests are deleted");
    }

    #[test]
    fn hidden_files_are_counted_apart() {
        let dir = tempfile::tempdir().unwrap();
        ["part-1", ".part-2", "part-3"].iter().for_each(|name| fs::write(dir.path().join(name), "").unwrap());
        assert_eq!(count(dir.path()), (2, 1));
        assert_eq!(count(&dir.path().join("nowhere")), (0, 0));
    }
}
