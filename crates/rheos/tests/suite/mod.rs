//! Scripts run in this process and their final rows compared with recorded ones: what the suites share.

#![allow(dead_code, reason = "each suite is a program of its own and uses its part")]

pub mod compare;
pub mod guard;
pub mod run;

use std::path::PathBuf;

/// A path below the workspace's folder.
pub fn workspace(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The folder of recorded data that does not belong to the project: `RHEOS_SHARED`, or `shared` beside the workspace.
pub fn shared(path: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("RHEOS_SHARED").map_or_else(|| workspace("../shared"), PathBuf::from);
    Some(shared.join(path)).filter(|p| p.exists())
}

/// Whether recorded expectations are to be rewritten.
pub fn is_update() -> bool {
    std::env::var("RHEOS_UPDATE").is_ok_and(|v| v == "1")
}
