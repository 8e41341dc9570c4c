//! Copies of what a process has stored, on its own disk: a restart reads them there, and nothing from afar.
//!
//! Only files that never change are kept: those of snapshots, below `files/`. A copy that is damaged is as good as none.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rheos_core::storage::{PutOutcome, Storage, Stored};
use rheos_core::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Where files are that never change.
const FILES: &str = "files/";

/// Storage with copies on this machine.
pub struct LocalCopies {
    storage: Arc<dyn Storage>,
    copies: Arc<Copies>,
}

struct Copies {
    folder: PathBuf,
    limit_bytes: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The oldest first.
    order: VecDeque<PathBuf>,
    /// Length and XXH3-64 of each.
    files: HashMap<PathBuf, (u64, u64)>,
    bytes: u64,
}

impl LocalCopies {
    /// Copies of what is put into `storage`, below a folder for `place`, up to `limit_bytes`: the oldest go first. What an earlier
    /// process left in that folder is deleted.
    pub fn new(storage: Arc<dyn Storage>, folder: &Path, place: &str, limit_bytes: u64) -> Result<Self> {
        let own = place.bytes().map(|b| if b.is_ascii_alphanumeric() { char::from(b) } else { '_' }).collect::<String>();
        let folder = folder.join(own);
        let failed = |e: std::io::Error| Error::config(format!("no copies can be kept in '{}': {e}", folder.display())).caused_by(e);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(LocalCopies { storage, copies: Arc::new(Copies { folder, limit_bytes, kept: Mutex::default() }) })
    }
}

impl Copies {
    fn path(&self, name: &str) -> Option<PathBuf> {
        let file = name.strip_prefix(FILES)?;
        (!file.contains('/')).then(|| self.folder.join(file))
    }

    fn keep(&self, path: &Path, bytes: &Bytes) {
        if bytes.len() as u64 > self.limit_bytes || fs::write(path, bytes).is_err() {
            return; // It is read from afar.
        }
        let mut kept = self.lock();
        kept.order.push_back(path.to_path_buf());
        kept.files.insert(path.to_path_buf(), (bytes.len() as u64, xxh3_64(bytes)));
        kept.bytes += bytes.len() as u64;
        while kept.bytes > self.limit_bytes
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.bytes -= kept.files.remove(&oldest).map_or(0, |(bytes, _)| bytes);
            // One that cannot be deleted takes room and does no harm.
            drop(fs::remove_file(oldest));
        }
    }

    /// A copy that is what was put.
    fn read(&self, path: &Path) -> Option<Bytes> {
        let (length, hash) = self.lock().files.get(path).copied()?;
        let copy = fs::read(path).ok()?;
        (copy.len() as u64 == length && xxh3_64(&copy) == hash).then(|| copy.into())
    }

    fn forget(&self, path: &Path) {
        let mut kept = self.lock();
        if let Some((bytes, _)) = kept.files.remove(path) {
            kept.bytes -= bytes;
            kept.order.retain(|of| of != path);
            drop(fs::remove_file(path));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for LocalCopies {
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>> {
        let put = self.storage.put(name, bytes.clone());
        let (copies, path) = (Arc::clone(&self.copies), self.copies.path(name));
        Box::pin(async move {
            put.await?;
            if let Some(path) = path {
                // Whether it was kept does not matter.
                drop(tokio::task::spawn_blocking(move || copies.keep(&path, &bytes)).await);
            }
            Ok(())
        })
    }

    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>> {
        self.storage.put_if_absent(name, bytes)
    }

    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>> {
        let (copies, path) = (Arc::clone(&self.copies), self.copies.path(name));
        let (storage, name) = (Arc::clone(&self.storage), name.to_string());
        Box::pin(async move {
            if let Some(path) = path
                && let Ok(Some(copy)) = tokio::task::spawn_blocking(move || copies.read(&path)).await
            {
                return Ok(Some(copy));
            }
            storage.get(&name).await
        })
    }

    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>> {
        self.storage.list(prefix)
    }

    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>> {
        if let Some(path) = self.copies.path(name) {
            self.copies.forget(&path);
        }
        self.storage.delete(name)
    }

    fn describe(&self) -> String {
        self.storage.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_read_here_and_the_oldest_go_first() {
        let (far, near) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = far.path().to_str().unwrap();
        let storage = crate::open(place, &Default::default()).unwrap();
        let copies = LocalCopies::new(Arc::clone(&storage), near.path(), place, 10).unwrap();
        for name in ["files/a", "files/b", "log/c"] {
            copies.put(name, Bytes::from_static(b"123456")).await.unwrap();
        }
        storage.delete("files/a").await.unwrap();
        storage.delete("files/b").await.unwrap();
        storage.delete("log/c").await.unwrap();
        assert_eq!(copies.get("files/a").await.unwrap(), None, "12 bytes are more than 10");
        assert_eq!(copies.get("files/b").await.unwrap().as_deref(), Some(&b"123456"[..]));
        std::fs::write(copies.copies.path("files/b").unwrap(), b"damage").unwrap();
        assert_eq!(copies.get("files/b").await.unwrap(), None, "what is damaged is read from afar");
        assert_eq!(copies.get("log/c").await.unwrap(), None, "only what never changes");
    }
}
