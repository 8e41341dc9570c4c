//! How a job is ended before its time: by Ctrl-C, by a reader that has gone, by kill -9; and how it goes on after that.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ENDLESS: &str = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', \
    'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000000000');";

fn start(query: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    command.args(["run", "-e", ENDLESS, "-e", query]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("rheos starts")
}

/// Reads the first line, so that the job runs, and gives the reader back.
fn first_line(child: &mut Child) -> (String, impl Read + use<>) {
    let mut out = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    (line, out)
}

fn stderr(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("standard error is a pipe").read_to_string(&mut text).expect("a text");
    text
}

#[test]
fn ctrl_c_ends_a_query_cleanly() {
    let mut child = start("SELECT n FROM numbers");
    let (line, mut rest) = first_line(&mut child);
    assert_eq!(line, "+I\t1\n");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let mut lines = String::new();
    rest.read_to_string(&mut lines).expect("the rest");
    assert!(lines.is_empty() || lines.ends_with('\n'), "no line is cut");
    let status = child.wait().expect("it ends");
    let told = stderr(&mut child);
    assert_eq!(status.code(), Some(3), "{told}");
    assert!(told.starts_with("interrupted"), "{told}");
}

/// As `timeout` of the GNU coreutils does.
#[test]
fn two_signals_at_once_are_one_interruption() {
    let mut child = start("SELECT n FROM numbers");
    let (_, mut rest) = first_line(&mut child);
    let both = format!("kill -TERM {0}; kill -TERM {0}", child.id());
    assert!(Command::new("sh").args(["-c", &both]).status().expect("a shell runs").success());
    rest.read_to_string(&mut String::new()).expect("the rest");
    let status = child.wait().expect("it ends");
    let told = stderr(&mut child);
    assert_eq!(status.code(), Some(3), "{told}");
    assert!(told.starts_with("interrupted") && !told.contains("aborted"), "{told}");
}

#[test]
fn a_reader_that_has_gone_ends_a_query_quietly() {
    for query in ["SELECT n FROM numbers", "CREATE TABLE p (n BIGINT) WITH ('connector' = 'print'); INSERT INTO p SELECT n FROM numbers"] {
        let mut child = start(query);
        let (line, rest) = first_line(&mut child);
        assert!(line.starts_with("+I"), "{line}");
        drop(rest);
        let status = child.wait().expect("it ends");
        assert_eq!((status.code(), stderr(&mut child)), (Some(0), String::new()), "{query}");
    }
}

/// Of each number that the visible part files hold: how often.
fn numbers_in(folder: &Path) -> BTreeMap<u32, usize> {
    let mut numbers = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        for line in fs::read_to_string(entry.path()).expect("a part file").lines() {
            *numbers.entry(line.parse().expect("a number")).or_default() += 1;
        }
    }
    numbers
}

/// Killed once, stopped with a savepoint once, then run to its end: as the fourth example of `rheos run --help` has it.
#[test]
fn a_job_that_is_killed_and_stopped_gives_each_row_once() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let out = folder.path().join("even");
    let start = |more: &[&str]| {
        let sql = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '2000', \
            'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '4000'); \
            CREATE TABLE even (n INT) WITH ('connector' = 'filesystem', 'path' = 'even', 'format' = 'csv'); \
            INSERT INTO even SELECT n FROM numbers WHERE MOD(n, 2) = 0";
        let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
        command.args(["run", "-e", sql, "--checkpoint-dir", "snapshots", "--checkpoint-interval", "100 ms"]).args(more);
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("rheos starts")
    };
    let wait_for_more_than = |rows: usize, child: &mut Child| {
        while numbers_in(&out).len() <= rows && child.try_wait().expect("a status").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };

    let mut child = start(&[]);
    wait_for_more_than(0, &mut child);
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    let before = numbers_in(&out).len();

    let mut child = start(&["--restore", "--savepoint-on-stop"]);
    wait_for_more_than(before, &mut child);
    let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    let status = child.wait().expect("it ends");
    if told.success() && status.code() != Some(0) {
        let text = stderr(&mut child);
        assert!(status.code() == Some(3) && text.contains("stopped with the savepoint"), "{status} {text}");
    }

    let mut child = start(&["--restore", "--parallelism", "2"]);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", stderr(&mut child));
    let expected: BTreeMap<u32, usize> = (1..=2000).map(|n| (2 * n, 1)).collect();
    assert_eq!(numbers_in(&out), expected);
}
