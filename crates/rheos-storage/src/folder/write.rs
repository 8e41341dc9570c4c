//! Writes a file so that it is there as a whole, for good, or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rheos_core::storage::PutOutcome;
use rheos_core::{Error, Result};

use super::Root;
use super::steps::{retrying, sync};
use crate::unique::unique;

/// Creates or replaces an object.
pub(super) fn put(root: &Root, name: &str, bytes: &[u8]) -> Result<()> {
    let target = root.file(name)?;
    let failure = |e| root.failure("write", name, e);
    let staged = Staged::write(root, &target, bytes).map_err(failure)?;
    retrying(|| fs::rename(&staged.path, &target)).map_err(failure)?;
    sync(staged.folder()).map_err(failure)
}

/// Creates an object unless it exists.
pub(super) fn put_if_absent(root: &Root, name: &str, bytes: &[u8]) -> Result<PutOutcome> {
    let target = root.file(name)?;
    let failure = |e| root.failure("create", name, e);
    if fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_dir()) {
        return Err(failure(io::Error::from(ErrorKind::IsADirectory)));
    }
    let staged = Staged::write(root, &target, bytes).map_err(failure)?;
    let outcome = link(root, name, &staged.path, &target)?;
    // Also where it exists: what its writer was not told yet to be durable, others will rely on from now on.
    sync(staged.folder()).map_err(failure)?;
    Ok(outcome)
}

fn link(root: &Root, name: &str, staged: &Path, target: &Path) -> Result<PutOutcome> {
    match retrying(|| fs::hard_link(staged, target)) {
        Ok(()) => Ok(PutOutcome::Created),
        // A network file system may repeat a request whose reply was lost, and find what it has done itself.
        Err(e) if e.kind() == ErrorKind::AlreadyExists && is_same_file(staged, target) => Ok(PutOutcome::Created),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(PutOutcome::Exists),
        Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Err(root.no_links(name, e)),
        Err(e) => Err::<_, Error>(root.failure("create", name, e)),
    }
}

/// Whether two names mean one file.
#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path| fs::symlink_metadata(path).map(|m| (m.dev(), m.ino()));
    matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}

/// A file under a temporary name; dropping removes the name.
struct Staged {
    path: PathBuf,
}

impl Staged {
    /// Writes `bytes` next to `target` and makes them durable.
    fn write(root: &Root, target: &Path, bytes: &[u8]) -> io::Result<Staged> {
        let folder = target.parent().unwrap_or(&root.path);
        root.known.ensure(folder)?;
        let (staged, mut file) = match Self::create(folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                root.known.forget(folder);
                root.known.ensure(folder)?;
                Self::create(folder)?
            }
            result => result?,
        };
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(staged)
    }

    fn create(folder: &Path) -> io::Result<(Staged, File)> {
        let path = folder.join(format!(".{}.tmp", unique()));
        let file = retrying(|| File::create_new(&path))?;
        Ok((Staged { path }, file))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a rename the name is gone already; where it cannot be removed it is only wasted space.
        let _ = fs::remove_file(&self.path);
    }
}
