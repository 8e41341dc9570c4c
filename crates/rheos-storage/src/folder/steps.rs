//! Single steps on a file system: trying again, folders that last, folders made durable.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a step is tried, and how long the first pause is; each is five times as long as the one before.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE_MS: u64 = 10;

/// Does `step` until it succeeds or fails for a reason that does not pass quickly. Blocks.
pub(super) fn retrying<T>(mut step: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempt = 0;
    loop {
        match step() {
            Err(e) if passes_quickly(&e) && attempt + 1 < ATTEMPTS => {
                thread::sleep(Duration::from_millis(FIRST_PAUSE_MS * 5u64.pow(attempt)));
                attempt += 1;
            }
            result => return result,
        }
    }
}

/// Most of these come from network file systems.
fn passes_quickly(error: &io::Error) -> bool {
    use ErrorKind as K;
    matches!(
        error.kind(),
        K::Interrupted | K::WouldBlock | K::TimedOut | K::ResourceBusy | K::StaleNetworkFileHandle | K::HostUnreachable | K::NetworkDown
    )
}

/// Folders that this process has made sure of, so that each is looked at once.
#[derive(Debug, Default)]
pub(super) struct KnownFolders(Mutex<HashSet<PathBuf>>);

impl KnownFolders {
    /// Makes `folder` exist in a way that survives a crash: the folder and all above it, also where another process created
    /// them a moment ago.
    pub(super) fn ensure(&self, folder: &Path) -> io::Result<()> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(folder) {
            return Ok(());
        }
        retrying(|| fs::create_dir_all(folder))?;
        for parent in folder.ancestors().skip(1) {
            match sync(parent) {
                // Far above, where this process may enter but not look, it has created nothing either.
                Err(e) if e.kind() == ErrorKind::PermissionDenied => break,
                result => result?,
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf());
        Ok(())
    }

    /// Forgets `folder`: someone removed it.
    pub(super) fn forget(&self, folder: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }
}

/// Makes the names in `folder` durable.
#[cfg(unix)]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    match retrying(|| fs::File::open(folder)?.sync_all()) {
        // Some file systems have nothing to do for a folder and say so.
        Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

/// Elsewhere a folder cannot be opened, and its names are the file system's own care.
#[cfg(not(unix))]
pub(super) fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_quickly_is_tried_again_and_the_rest_is_not() {
        for (kind, attempts) in [(ErrorKind::ResourceBusy, ATTEMPTS), (ErrorKind::PermissionDenied, 1)] {
            let mut seen = 0;
            let result: io::Result<()> = retrying(|| {
                seen += 1;
                Err(io::Error::from(kind))
            });
            assert_eq!((result.unwrap_err().kind(), seen), (kind, attempts));
        }
    }
}
