//! Errors of the file system in the words of who must mend them.

use std::io::{self, ErrorKind};

use rheos_core::Error;

use super::Root;

impl Root {
    /// What `error` means for whoever wanted to `action` the object `name` (empty: the folder itself).
    pub(super) fn failure(&self, action: &str, name: &str, error: io::Error) -> Error {
        let object = if name.is_empty() { String::new() } else { format!(" '{name}'") };
        let head = format!("{}: cannot {action}{object}", self.describe());
        let needs_the_user = |reason: &str| Error::config(format!("{head}: {reason}"));
        let mapped = match error.kind() {
            ErrorKind::PermissionDenied => needs_the_user("permission denied for the user that runs this process"),
            ErrorKind::ReadOnlyFilesystem => needs_the_user("the file system is read-only"),
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => needs_the_user(&self.file_in_the_way(name)),
            ErrorKind::IsADirectory => needs_the_user("there is a folder of this name"),
            ErrorKind::DirectoryNotEmpty => needs_the_user("there is a folder of this name, with files in it"),
            ErrorKind::NotFound => needs_the_user("the folder does not exist and cannot be created"),
            ErrorKind::InvalidInput | ErrorKind::InvalidFilename => {
                needs_the_user(&format!("the file system does not take this name ({error})"))
            }
            ErrorKind::StorageFull => Error::retry(format!("{head}: the disk is full")),
            ErrorKind::QuotaExceeded => Error::retry(format!("{head}: the quota of the disk is used up")),
            _ => Error::retry(format!("{head}: {error}")),
        };
        mapped.caused_by(error)
    }

    /// A hard link was refused where a file could be written just before.
    pub(super) fn no_links(&self, name: &str, error: io::Error) -> Error {
        let reason = "the file system has no hard links, which make sure that one writer alone creates a file; use another one, or S3";
        Error::config(format!("{}: cannot create '{name}': {reason}", self.describe())).caused_by(error)
    }

    /// Which part of the way to `name` is a file.
    fn file_in_the_way(&self, name: &str) -> String {
        let path = self.path.join(name.trim_end_matches('/'));
        match path.ancestors().find(|a| a.is_file()) {
            Some(file) => format!("'{}' is a file where a folder is needed", file.display()),
            None => "a part of the path is a file".to_string(),
        }
    }
}
