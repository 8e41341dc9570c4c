//! The command `torture-cluster`, in short: some faults, little input. Where no network namespaces can be made (they need root),
//! processes are only killed and stopped, and the command says so.

use std::process::{Command, Output};

fn rheos(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rheos")).args(words).output().expect("rheos runs")
}

/// Six faults, and the report.
fn survives(query: &str, seed: &str) {
    if !rheos(&["coordinator", "--help"]).status.success() {
        return eprintln!("skipped: this rheos has no clusters yet");
    }
    let short = ["--faults", "6", "--heartbeat-timeout", "1 s", "--interval", "200ms", "--var", "RATE=1000", "-p", "2"];
    let told = rheos(&[&["torture-cluster", query, "--seed", seed], &short[..]].concat());
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    eprint!("{err}");
    assert_eq!(told.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("6 of 6 while the job ran"), "{out}");
    assert!(out.contains("0 lost, 0 duplicated, 0 changed, 0 added\nheld "), "{out}");
}

#[test]
fn windows_survive_a_bad_day_of_the_cluster() {
    survives("nexmark:q5", "1");
}

#[test]
fn updated_groups_survive_a_bad_day_of_the_cluster() {
    survives("nexmark:q17", "2");
}

#[test]
fn what_cannot_be_tortured_is_refused() {
    let refused = |words: &[&str]| {
        let told = rheos(&[&["torture-cluster"], words].concat());
        assert_eq!((told.status.code(), told.stdout.len()), (Some(1), 0), "{words:?}");
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    assert!(refused(&["-e", "SELECT 1", "-e", "SELECT 2"]).contains("exactly one INSERT or query"));
    assert!(refused(&["nexmark:q6"]).contains("no query 'q6'"));
    assert!(refused(&["-e", "SELECT 1", "--workers", "0"]).contains("--workers is 0"));
    assert!(refused(&["-e", "SELECT 1", "--interval", "soon"]).contains("--interval: 'soon' is no duration"));
}
