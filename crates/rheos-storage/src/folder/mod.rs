//! Storage on a folder of a file system, local or shared.
//!
//! An own implementation, because `LocalFileSystem` of object_store 0.13 never calls fsync: after a crash of the machine, a
//! write that it reported may be gone or empty. Here an object is written under a temporary name in its folder, fsynced, then
//! renamed (`put`) or hard-linked (`put_if_absent`: a link fails if the name exists), and the folder is fsynced.
//! Temporary names begin with a dot, which no object's name does, so an unfinished file is never listed. What a crash leaves
//! behind under such a name is only wasted space.

mod failure;
mod listing;
mod steps;
mod write;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rheos_core::storage::{PutOutcome, Storage, Stored, check_name, folder_of_prefix};
use rheos_core::{Error, Result};

use crate::runtime::Runtime;
use steps::KnownFolders;

/// Objects as files below a folder.
pub(crate) struct FolderStorage {
    root: Arc<Root>,
    runtime: Runtime,
}

/// The folder, and what this process knows of it.
struct Root {
    path: PathBuf,
    /// Folders that are known to survive a crash.
    known: KnownFolders,
}

impl FolderStorage {
    /// Objects below `path`, which is created by the first write.
    pub(crate) fn open(path: &Path, runtime: Runtime) -> Result<FolderStorage> {
        let absolute = std::path::absolute(path);
        let path = absolute.map_err(|e| Error::config(format!("folder '{}' has no absolute path", path.display())).caused_by(e))?;
        let root = Root { path, known: KnownFolders::default() };
        match fs::metadata(&root.path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(Error::config(format!("{} is a file; the storage must be a folder", root.describe()))),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(root.failure("open", "", e)),
        }
        Ok(FolderStorage { root: Arc::new(root), runtime })
    }

    fn run<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce(&Root, &str) -> Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T>> {
        let (root, name) = (Arc::clone(&self.root), name.to_string());
        self.runtime.blocking(move || work(&root, &name))
    }
}

impl Root {
    /// The file of an object.
    fn file(&self, name: &str) -> Result<PathBuf> {
        check_name(name)?;
        Ok(self.path.join(name))
    }

    fn get(&self, name: &str) -> Result<Option<Bytes>> {
        let path = self.file(name)?;
        match steps::retrying(|| fs::read(&path)) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.failure("read", name, e)),
        }
    }

    fn delete(&self, name: &str) -> Result<()> {
        let path = self.file(name)?;
        match steps::retrying(|| fs::remove_file(&path)) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(self.failure("delete", name, e)),
        }
    }

    fn describe(&self) -> String {
        format!("folder '{}'", self.path.display())
    }
}

impl Storage for FolderStorage {
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>> {
        self.run(name, move |root, name| write::put(root, name, &bytes))
    }

    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>> {
        self.run(name, move |root, name| write::put_if_absent(root, name, &bytes))
    }

    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>> {
        self.run(name, |root, name| root.get(name))
    }

    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>> {
        self.run(prefix, |root, prefix| {
            let folder = folder_of_prefix(prefix)?;
            listing::list(&root.path, folder, prefix).map_err(|e| root.failure("list", prefix, e))
        })
    }

    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>> {
        self.run(name, |root, name| root.delete(name))
    }

    fn describe(&self) -> String {
        self.root.describe()
    }
}

#[cfg(test)]
mod tests;
