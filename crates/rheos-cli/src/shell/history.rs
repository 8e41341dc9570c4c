//! The history of entries, in a file of the user's state folder.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use reedline::{FileBackedHistory, History};

use crate::args::SqlArgs;
use crate::failure::Failure;

/// How many entries are remembered.
const CAPACITY: usize = 10_000;

/// The history that the arguments ask for. A file that was named must be usable; without the default one the shell works all the same.
pub(super) fn open(args: &SqlArgs) -> Result<Option<Box<dyn History>>, Failure> {
    if args.no_history {
        return Ok(None);
    }
    let default = || default_file(|name| std::env::var_os(name).map(PathBuf::from));
    let Some(path) = args.history.clone().or_else(default) else {
        eprintln!("note: there is no history, since HOME is not set; --history FILE names a file for it");
        return Ok(None);
    };
    match open_file(&path) {
        Ok(history) => Ok(Some(history)),
        Err(why) if args.history.is_some() => Err(Failure::wrong(format!("the history '{}' cannot be used: {why}", path.display()))),
        Err(why) => {
            eprintln!("note: there is no history: '{}' cannot be used: {why}", path.display());
            Ok(None)
        }
    }
}

fn open_file(path: &Path) -> Result<Box<dyn History>, String> {
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| e.to_string())?;
    }
    // What was typed may be secret: nobody else reads it.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|e| e.to_string())?;
    let history = FileBackedHistory::with_file(CAPACITY, path.to_path_buf()).map_err(|e| e.to_string())?;
    Ok(Box::new(history))
}

/// `$XDG_STATE_HOME/rheos/sql_history`, by default in `~/.local/state`.
fn default_file(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // A path that is not absolute does not count, says the standard.
    let state = variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| variable("HOME").filter(|home| home.is_absolute()).map(|home| home.join(".local/state")));
    state.map(|folder| folder.join("rheos/sql_history"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_state_folder_is_that_of_the_standard() {
        let file = |pairs: &[(&str, &str)]| default_file(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v)));
        assert_eq!(file(&[("XDG_STATE_HOME", "/state"), ("HOME", "/home/me")]), Some("/state/rheos/sql_history".into()));
        assert_eq!(file(&[("XDG_STATE_HOME", "state"), ("HOME", "/home/me")]), Some("/home/me/.local/state/rheos/sql_history".into()));
        assert_eq!(file(&[]), None);
    }

    #[test]
    fn only_its_owner_reads_the_history() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/history");
        open_file(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, [0xff, b'\n']).unwrap();
        assert!(open_file(&path).is_err(), "this is no text");
    }
}
