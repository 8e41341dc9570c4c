//! The cut of a snapshot as subtasks see it, and what snapshots are taken for.

pub use rheos_core::element::{Barrier, CheckpointKind};
