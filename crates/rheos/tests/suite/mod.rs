//! Scripts run in this process and their final rows compared with recorded ones: what the suites share.

#![allow(dead_code, reason = "each suite is a program of its own and uses its part")]

pub(crate) mod compare;
pub(crate) mod guard;
pub(crate) mod list;
pub(crate) mod run;

use std::path::PathBuf;

/// A path below the workspace's folder.
pub(crate) fn workspace(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The folder of recorded data that does not belong to the project: `RHEOS_SHARED`, or `shared` beside the workspace.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("RHEOS_SHARED").map_or_else(|| workspace("../shared"), PathBuf::from);
    Some(shared.join(path)).filter(|p| p.exists())
}

/// Whether recorded expectations are to be rewritten.
pub(crate) fn is_update() -> bool {
    std::env::var("RHEOS_UPDATE").is_ok_and(|v| v == "1")
}
