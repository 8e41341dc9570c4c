//! How a query without end is ended: by Ctrl-C, or by a reader that has gone.

use std::io::{BufRead, BufReader, Read};
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
