//! Manifests for tests.

use serde_json::Value;

use crate::barrier::CheckpointKind;
use crate::data::{DataHandle, SegmentHandle, SegmentKind};
use crate::manifest::{FORMAT, JobInfo, Manifest, OperatorState, SubtaskState};

/// A manifest without state.
pub(crate) fn manifest(generation: u64, epoch: u64) -> Manifest {
    Manifest {
        format: FORMAT,
        rheos: "test".into(),
        job: JobInfo::default(),
        generation,
        epoch,
        kind: CheckpointKind::Checkpoint,
        started_ms: 0,
        completed_ms: 0,
        borrowed: false,
        files_in: None,
        plan: Value::Null,
        operators: Default::default(),
        tokens: Vec::new(),
    }
}

/// The same with state in these files.
pub(crate) fn with_files(mut manifest: Manifest, files: &[&str]) -> Manifest {
    let segment = |name: &&str| SegmentHandle {
        kind: SegmentKind::Base,
        rows: 0,
        removed: 0,
        key_groups: Vec::new(),
        data: DataHandle::file(*name, name.as_bytes()),
    };
    let keyed = [("state".to_string(), files.iter().map(segment).collect())].into();
    let state = SubtaskState { keyed, ..Default::default() };
    manifest.operators = [("op".to_string(), OperatorState { name: "Op".into(), parallelism: 1, subtasks: [(0, state)].into() })].into();
    manifest
}
