//! A folder of snapshots read, and damage found.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::ErrorKind;

/// A copy of the snapshots of the first version of the format: two checkpoints, at 3 and 4, and a savepoint at 5.
fn copied() -> (tempfile::TempDir, PathBuf) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/checkpoint-v1/job-1");
    let to = tempfile::tempdir().unwrap();
    let job = to.path().join("job-1");
    for folder in ["log", "files"] {
        fs::create_dir_all(job.join(folder)).unwrap();
        for entry in fs::read_dir(from.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), job.join(folder).join(entry.file_name())).unwrap();
        }
    }
    (to, job)
}

fn verified(place: &Path) -> Verification {
    let mut all = verify(place.to_str().unwrap(), &StorageOptions::new()).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Of each problem the file's name, the beginning of what is wrong, and what needs it.
fn told(verification: &Verification) -> Vec<(&str, &str, Vec<&str>)> {
    verification.problems.iter().map(|p| (file_name(&p.path), p.what.as_str(), p.needed_by.iter().map(String::as_str).collect())).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[test]
fn a_place_is_a_folder_of_jobs_a_job_or_a_record() {
    let (root, job) = copied();
    let list = |place: &Path| list(place.to_str().unwrap(), &StorageOptions::new()).unwrap();
    for place in [root.path(), &job, &job.join("log/00000000000000000004.json")] {
        let folders = list(place);
        assert_eq!((folders.len(), folders[0].name.as_str()), (1, "query"));
        let kinds: Vec<(u64, CheckpointKind)> = folders[0].snapshots.iter().map(|s| (s.epoch, s.kind)).collect();
        assert_eq!(kinds, [(2, CheckpointKind::Checkpoint), (3, CheckpointKind::Checkpoint), (4, CheckpointKind::Savepoint)]);
        assert_eq!(folders[0].claims.len(), 1);
        assert_eq!(folders[0].snapshots[1].path, format!("{}/log/00000000000000000004.json", job.display()));
    }
    let nowhere = root.path().join("nowhere");
    let error = super::list(nowhere.to_str().unwrap(), &StorageOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FixConfig);
}

#[test]
fn details_tell_bases_from_deltas() {
    let (_root, job) = copied();
    let details = show(job.join("log/00000000000000000004.json").to_str().unwrap(), &StorageOptions::new()).unwrap();
    let groups = details.states.iter().find(|s| s.state.as_deref() == Some("groups")).unwrap();
    assert_eq!((groups.kind, groups.base_rows, groups.delta_rows, groups.removed, groups.segments), (Some("keyed"), 267, 524, 0, 3));
    assert_eq!((details.snapshot.epoch, details.files, details.splits.len(), details.tokens.len()), (3, 3, 1, 1));
    assert_eq!(details.splits[0].split.position["next"], 791);
    let latest = show(job.to_str().unwrap(), &StorageOptions::new()).unwrap();
    assert_eq!(latest.snapshot.kind, CheckpointKind::Savepoint);
}

#[test]
fn what_is_whole_is_well() {
    let (root, _) = copied();
    let v = verified(root.path());
    assert_eq!((told(&v), v.snapshots, v.records, v.files, v.orphans.as_deref()), (vec![], 3, 4, 4, Some([].as_slice())));
}

#[test]
fn a_changed_file_is_named_with_all_that_need_it() {
    let (root, job) = copied();
    let file = job.join("files/1-1-1-0-1-0");
    let mut bytes = fs::read(&file).unwrap();
    bytes[5000] ^= 1;
    fs::write(&file, bytes).unwrap();
    let v = verified(root.path());
    let [(name, what, needed_by)] = &told(&v)[..] else { panic!("{:?}", v.problems) };
    assert_eq!(*name, "1-1-1-0-1-0");
    assert!(what.contains("has the hash"), "{what}");
    assert_eq!(*needed_by, ["epoch 2: state 'groups' of GroupAggregate", "epoch 3: state 'groups' of GroupAggregate"]);
}

#[test]
fn a_missing_file_is_named_and_a_file_too_many_is_no_problem() {
    let (root, job) = copied();
    fs::rename(job.join("files/1-1-1-0-4-3"), job.join("files/1-9-9-9-9-9")).unwrap();
    let v = verified(root.path());
    assert_eq!(told(&v), [("1-1-1-0-4-3", "it is missing", vec!["the savepoint of epoch 4: state 'groups' of GroupAggregate"])]);
    let orphans: Vec<&str> = v.orphans.iter().flatten().map(|o| o.path.as_str()).collect();
    assert_eq!(orphans, [format!("{}/files/1-9-9-9-9-9", job.display())]);
    // Another snapshot is none the worse for it.
    assert_eq!(told(&verified(&job.join("log/00000000000000000004.json"))), []);
}

#[test]
fn a_truncated_manifest_is_a_problem_and_leaves_open_what_is_left_over() {
    let (root, job) = copied();
    let record = job.join("log/00000000000000000005.json");
    let bytes = fs::read(&record).unwrap();
    fs::write(&record, &bytes[..bytes.len() / 2]).unwrap();
    let v = verified(root.path());
    let [(name, what, _)] = &told(&v)[..] else { panic!("{:?}", v.problems) };
    assert_eq!(*name, "00000000000000000005.json");
    assert!(what.contains("is not JSON"), "{what}");
    assert_eq!((v.snapshots, v.orphans), (2, None));
    let error = show(job.to_str().unwrap(), &StorageOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn a_manifest_that_tells_something_else_than_its_files_is_found() {
    let (root, job) = copied();
    let record = job.join("log/00000000000000000005.json");
    let text = fs::read_to_string(&record).unwrap();
    let changed = text.replacen("\"rows\":400", "\"rows\":401", 1);
    assert_ne!(changed, text);
    fs::write(&record, changed).unwrap();
    let v = verified(root.path());
    assert!(told(&v)[0].1.contains("another segment than the manifest says"), "{:?}", v.problems);
}
