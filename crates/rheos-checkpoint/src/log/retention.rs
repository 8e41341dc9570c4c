//! Retention: which manifests are kept, and which files may be deleted when one is gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::barrier::CheckpointKind;
use crate::log::record::file_generation;
use crate::manifest::Manifest;

/// What retention has to know of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedManifest {
    /// Its generation.
    pub generation: u64,
    /// Its epoch.
    pub epoch: u64,
    /// What it was taken for.
    pub kind: CheckpointKind,
    /// The files that it names.
    pub files: BTreeSet<String>,
    /// Whether the files belong to another snapshot.
    pub borrowed: bool,
    /// Whether its place in the log must stay occupied: a claim stands right behind it, or an earlier write to it may still come.
    pub keep_place: bool,
}

/// The manifests that exist, by position. Those that drop out stay in it until they are known to be deleted, so that no file
/// goes before the last manifest that names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    manifests: BTreeMap<u64, RetainedManifest>,
}

impl Retained {
    /// Adds the manifest at a position.
    pub fn insert(&mut self, position: u64, manifest: &Manifest, keep_place: bool) {
        let files = manifest.files().into_iter().map(str::to_string).collect();
        let Manifest { generation, epoch, kind, borrowed, .. } = *manifest;
        self.manifests.insert(position, RetainedManifest { generation, epoch, kind, files, borrowed, keep_place });
    }

    /// The manifest at a position.
    pub fn get(&self, position: u64) -> Option<&RetainedManifest> {
        self.manifests.get(&position)
    }

    /// The files that manifests name.
    pub fn files(&self) -> BTreeSet<String> {
        self.manifests.values().flat_map(|m| m.files.iter().cloned()).collect()
    }

    /// The positions of the manifests.
    pub fn positions(&self) -> impl Iterator<Item = u64> {
        self.manifests.keys().copied()
    }

    /// The positions of the manifests to delete, oldest first: all but the last `keep` (at least one) that are not savepoints.
    pub fn excess(&self, keep: usize) -> Vec<u64> {
        let mut droppable: Vec<u64> =
            self.manifests.iter().filter(|(_, m)| m.kind != CheckpointKind::Savepoint).map(|(position, _)| *position).collect();
        droppable.truncate(droppable.len().saturating_sub(keep.max(1)));
        droppable
    }

    /// The manifest at `position` is deleted: the files to delete now, which no other manifest names. Only files of the job's
    /// own folder are among them: a start from somebody else's savepoint names others.
    pub fn deleted(&mut self, position: u64) -> Vec<String> {
        let Some(gone) = self.manifests.remove(&position) else { return Vec::new() };
        if gone.borrowed {
            return Vec::new();
        }
        let named = |file: &String| self.manifests.values().any(|m| m.files.contains(file));
        gone.files.into_iter().filter(|f| file_generation(f).is_some() && !named(f)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{manifest, with_files};

    use CheckpointKind::{Checkpoint, Savepoint};

    fn retained(manifests: &[(u64, CheckpointKind, &[&str])]) -> Retained {
        let mut retained = Retained::default();
        for (position, kind, files) in manifests {
            let mut m = with_files(manifest(1, *position), files);
            m.kind = *kind;
            retained.insert(*position, &m, false);
        }
        retained
    }

    #[test]
    fn the_last_checkpoints_and_all_savepoints_stay() {
        let r = retained(&[(2, Checkpoint, &[]), (3, Savepoint, &[]), (4, Checkpoint, &[]), (5, Checkpoint, &[])]);
        assert_eq!(r.excess(3), Vec::<u64>::new());
        assert_eq!(r.excess(2), [2]);
        assert_eq!(r.excess(0), [2, 4], "one stays in any case");
    }

    #[test]
    fn a_file_goes_with_the_last_manifest_that_names_it() {
        let mut r = retained(&[
            (2, Checkpoint, &["files/1-a", "files/1-base"]),
            (3, Savepoint, &["files/1-s"]),
            (4, Checkpoint, &["files/1-b", "files/1-base"]),
            (5, Checkpoint, &[]),
        ]);
        assert_eq!(r.deleted(2), ["files/1-a"]);
        assert_eq!(r.deleted(2), Vec::<String>::new(), "twice");
        assert_eq!(r.deleted(4), ["files/1-b", "files/1-base"]);
    }

    #[test]
    fn borrowed_files_stay() {
        let mut r = Retained::default();
        r.insert(2, &Manifest { borrowed: true, ..with_files(manifest(1, 1), &["files/1-a"]) }, false);
        assert_eq!(r.deleted(2), Vec::<String>::new());
    }

    #[test]
    fn files_of_others_are_never_deleted() {
        let mut r = retained(&[(2, Checkpoint, &["/elsewhere/files/1-a", "../other/files/1-b"]), (3, Checkpoint, &[])]);
        assert_eq!(r.deleted(2), Vec::<String>::new());
    }
}
