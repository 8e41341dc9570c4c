//! Snapshots that Rheos 0.1.0 stored can be verified and restored, at the same and at another parallelism.
//!
//! Where this fails, the format has changed so that the snapshots of users are lost: read on "Versions" in
//! `docs/checkpoint-format.md`. The files under `tests/fixtures/checkpoint-v1` never change.

use std::fs;
use std::path::{Path, PathBuf};

use rheos::snapshots::{self, StorageOptions};
use rheos::{FoldedTable, JobEnd, Prepared, ResultEvent, Session, StartFrom, StartOptions};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/checkpoint-v1")
}

/// A copy of the folder of snapshots, which a restore writes to.
fn copied() -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a folder");
    for folder in ["log", "files"] {
        let folder = Path::new("job-1").join(folder);
        fs::create_dir_all(to.path().join(&folder)).expect("a folder");
        for entry in fs::read_dir(fixture().join(&folder)).expect("the fixture") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), to.path().join(&folder).join(entry.file_name())).expect("a copy");
        }
    }
    to
}

/// Runs the job of the fixture on from a snapshot and gives its final rows.
fn run_on(dir: &Path, parallelism: &str, from: StartFrom) -> Vec<String> {
    let mut session = Session::new();
    session.set("execution.checkpointing.dir", dir.to_str().expect("a path")).expect("a setting");
    session.set("parallelism.default", parallelism).expect("a setting");
    let sql = fs::read_to_string(fixture().join("job.sql")).expect("the job");
    let mut lines = None;
    for parsed in session.parse(&sql).expect("SQL") {
        let Prepared::Job(job) = session.prepare(&parsed.statement).expect("a statement") else { continue };
        let options = StartOptions { folder: "job-1".into(), from: from.clone(), ..StartOptions::default() };
        let mut running = session.start_with(job, options).expect("the job starts");
        let mut table = FoldedTable::new(running.result_info().expect("a query").schema.clone());
        while let Some(event) = running.next_result() {
            if let ResultEvent::Rows(batch) = event {
                table.apply(&batch).expect("changes");
            }
        }
        assert_eq!(running.wait().expect("it ends well"), JobEnd::Finished);
        lines = Some(table.lines().expect("rows"));
    }
    lines.expect("a query")
}

fn expected() -> Vec<String> {
    fs::read_to_string(fixture().join("expected.tsv")).expect("rows").lines().map(str::to_string).collect()
}

#[test]
fn what_is_stored_is_read_as_it_was_written() {
    let place = fixture();
    let verified = snapshots::verify(place.to_str().expect("a path"), &StorageOptions::new()).expect("it is verified");
    let [job] = &verified[..] else { panic!("one job") };
    assert!(job.problems.is_empty(), "{:?}", job.problems);
    assert_eq!((job.snapshots, job.files), (3, 4));
}

#[test]
fn the_latest_snapshot_is_restored() {
    for parallelism in ["1", "2"] {
        let dir = copied();
        assert_eq!(run_on(dir.path(), parallelism, StartFrom::Latest), expected(), "at parallelism {parallelism}");
    }
}

/// Its state is a base and two deltas.
#[test]
fn a_base_and_its_deltas_are_restored() {
    for parallelism in ["1", "2"] {
        let (dir, new) = (copied(), tempfile::tempdir().expect("a folder"));
        let record = dir.path().join("job-1/log/00000000000000000004.json").display().to_string();
        assert_eq!(run_on(new.path(), parallelism, StartFrom::Snapshot(record)), expected(), "at parallelism {parallelism}");
    }
}
