//! Retention: which manifests are kept, and what may be deleted when one drops out.

use std::collections::{BTreeMap, BTreeSet};

use crate::barrier::CheckpointKind;
use crate::log::record::{FILES, file_generation};
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
    /// Whether a claim stands right behind it, so that its place in the log must stay occupied.
    pub before_claim: bool,
}

/// A manifest that is no longer retained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retirement {
    /// Its position.
    pub position: u64,
    /// What it was.
    pub manifest: RetainedManifest,
    /// The files to delete once it is gone: those that no retained manifest names.
    pub files: Vec<String>,
}

/// The manifests that are kept, by position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retained {
    manifests: BTreeMap<u64, RetainedManifest>,
}

impl Retained {
    /// Adds the manifest at a position.
    pub fn insert(&mut self, position: u64, manifest: &Manifest, before_claim: bool) {
        let files = manifest.files().into_iter().map(str::to_string).collect();
        let Manifest { generation, epoch, kind, .. } = *manifest;
        self.manifests.insert(position, RetainedManifest { generation, epoch, kind, files, before_claim });
    }

    /// The files that retained manifests name.
    pub fn files(&self) -> BTreeSet<String> {
        self.manifests.values().flat_map(|m| m.files.iter().cloned()).collect()
    }

    /// The positions of the retained manifests.
    pub fn positions(&self) -> impl Iterator<Item = u64> {
        self.manifests.keys().copied()
    }

    /// Drops all but the last `keep` checkpoints (at least one) and all savepoints. Each must be deleted before its files.
    pub fn retire(&mut self, keep: usize) -> Vec<Retirement> {
        let droppable: Vec<u64> =
            self.manifests.iter().filter(|(_, m)| m.kind != CheckpointKind::Savepoint).map(|(position, _)| *position).collect();
        let count = droppable.len().saturating_sub(keep.max(1));
        let dropped: Vec<_> = droppable[..count].iter().filter_map(|p| self.manifests.remove(p).map(|m| (*p, m))).collect();
        let mut kept = self.files();
        let mut retired = Vec::new();
        for (position, manifest) in dropped {
            // Each file once, and only what lies in the job's own folder.
            let files = manifest.files.iter().filter(|f| is_own_file(f) && kept.insert((*f).clone())).cloned().collect();
            retired.push(Retirement { position, manifest, files });
        }
        // A file that several of them name goes with the last of them.
        move_to_last(&mut retired);
        retired
    }
}

fn is_own_file(name: &str) -> bool {
    name.starts_with(FILES) && file_generation(name).is_some()
}

fn move_to_last(retired: &mut [Retirement]) {
    for i in 0..retired.len() {
        let (head, tail) = retired.split_at_mut(i + 1);
        head[i].files.retain(|file| match tail.iter_mut().rev().find(|later| later.manifest.files.contains(file)) {
            Some(later) => {
                later.files.push(file.clone());
                false
            }
            None => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{manifest, with_files};

    fn retained(manifests: &[(u64, CheckpointKind, &[&str])]) -> Retained {
        let mut retained = Retained::default();
        for (position, kind, files) in manifests {
            let mut m = with_files(manifest(1, *position), files);
            m.kind = *kind;
            retained.insert(*position, &m, false);
        }
        retained
    }

    use CheckpointKind::{Checkpoint, Savepoint};

    #[test]
    fn the_last_checkpoints_and_all_savepoints_stay() {
        let mut r = retained(&[(2, Checkpoint, &[]), (3, Savepoint, &[]), (4, Checkpoint, &[]), (5, Checkpoint, &[])]);
        assert_eq!(r.retire(2).iter().map(|x| x.position).collect::<Vec<_>>(), [2]);
        assert_eq!(r.retire(0).iter().map(|x| x.position).collect::<Vec<_>>(), [4], "one stays in any case");
        assert_eq!(r.positions().collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn files_that_a_retained_manifest_names_stay() {
        let mut r = retained(&[
            (2, Checkpoint, &["files/1-base", "files/1-x", "/elsewhere/files/1-y"]),
            (3, Savepoint, &["files/1-x"]),
            (4, Checkpoint, &["files/1-base", "files/1-delta"]),
        ]);
        assert_eq!(r.retire(1)[0].files, Vec::<String>::new());
        r.insert(5, &manifest(1, 5), false);
        assert_eq!(r.retire(1)[0].files, ["files/1-base", "files/1-delta"]);
    }

    #[test]
    fn a_file_that_several_dropped_manifests_name_goes_with_the_last_of_them() {
        let mut r = retained(&[(2, Checkpoint, &["files/1-a", "files/1-b"]), (3, Checkpoint, &["files/1-a"]), (4, Checkpoint, &[])]);
        let retired = r.retire(1);
        assert_eq!(retired.iter().map(|x| x.files.clone()).collect::<Vec<_>>(), [vec!["files/1-b"], vec!["files/1-a"]]);
    }
}
