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

/// A copy of a folder of snapshots, which a restore writes to.
fn copied(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a folder");
    for folder in ["job-1/log", "job-1/files"] {
        fs::create_dir_all(to.path().join(folder)).expect("a folder");
        // What is small is in the manifest: then there are no files.
        for entry in fs::read_dir(from.join(folder)).into_iter().flatten() {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), to.path().join(folder).join(entry.file_name())).expect("a copy");
        }
    }
    to
}

/// Runs a job of the fixture on from a snapshot and gives its final rows.
fn run_on(job: &str, dir: &Path, parallelism: &str, from: StartFrom) -> Vec<String> {
    let mut session = Session::new();
    session.set("execution.checkpointing.dir", dir.to_str().expect("a path")).expect("a setting");
    session.set("parallelism.default", parallelism).expect("a setting");
    let sql = fs::read_to_string(fixture().join(job)).expect("the job");
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

fn expected(name: &str) -> Vec<String> {
    fs::read_to_string(fixture().join(name)).expect("rows").lines().map(str::to_string).collect()
}

#[test]
fn what_is_stored_is_read_as_it_was_written() {
    let found = |folder: &Path| {
        let verified = snapshots::verify(folder.to_str().expect("a path"), &StorageOptions::new()).expect("it is verified");
        let [job] = &verified[..] else { panic!("one job") };
        assert!(job.problems.is_empty(), "{:?}", job.problems);
        (job.snapshots, job.files)
    };
    assert_eq!(found(&fixture().join("job-1")), (3, 4));
    assert_eq!(found(&fixture().join("overtaken")), (1, 0));
}

#[test]
fn the_latest_snapshot_is_restored() {
    for parallelism in ["1", "2"] {
        let dir = copied(&fixture());
        let rows = run_on("job.sql", dir.path(), parallelism, StartFrom::Latest);
        assert_eq!(rows, expected("expected.tsv"), "at parallelism {parallelism}");
    }
}

/// Its state is a base and two deltas.
#[test]
fn a_base_and_its_deltas_are_restored() {
    for parallelism in ["1", "2"] {
        let (dir, new) = (copied(&fixture()), tempfile::tempdir().expect("a folder"));
        let record = dir.path().join("job-1/log/00000000000000000004.json").display().to_string();
        let rows = run_on("job.sql", new.path(), parallelism, StartFrom::Snapshot(record));
        assert_eq!(rows, expected("expected.tsv"), "at parallelism {parallelism}");
    }
}

/// It was taken at two subtasks, and its barrier overtook rows on their way between them.
#[test]
fn rows_in_flight_are_restored() {
    let from = fixture().join("overtaken");
    let details = snapshots::show(from.to_str().expect("a path"), &StorageOptions::new()).expect("details");
    assert!(details.in_flight.iter().map(|rows| rows.rows).sum::<u64>() > 0);
    for parallelism in ["1", "2", "3"] {
        let dir = copied(&from);
        let rows = run_on("overtaken.sql", dir.path(), parallelism, StartFrom::Latest);
        assert_eq!(rows, expected("overtaken.tsv"), "at parallelism {parallelism}");
    }
}
