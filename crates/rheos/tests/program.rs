//! A program of Rust types under torture. Its lives are this test's own process, begun anew.

use std::process::{Command, ExitCode};

#[path = "../examples/session_counts.rs"]
mod session_counts;

/// Holds the arguments of a life, one on each line.
const LIFE: &str = "RHEOS_TEST_LIFE";

/// Not a test but what a life does: without arguments it does nothing.
#[test]
fn a_life() {
    let Ok(line) = std::env::var(LIFE) else { return };
    let arguments: Vec<String> = line.lines().map(String::from).collect();
    let code = session_counts::program().main_with(&arguments, &|_| unreachable!("a life starts no other"));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
}

fn survives(parallelism: &str, recovery: &str) {
    let this = std::env::current_exe().expect("the test's program");
    let command = |arguments: &[String]| {
        let mut command = Command::new(&this);
        command.args(["--exact", "a_life", "--nocapture"]).env(LIFE, arguments.join("\n"));
        command
    };
    let arguments = ["torture", "--kills", "6", "--seed", "3", "-p", parallelism, "--recovery", recovery, "--var", "events=20000"];
    let code = session_counts::program().main_with(&arguments.map(String::from), &command);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
}

#[test]
fn typed_state_and_timers_survive_kills() {
    survives("1", "precise");
}

#[test]
fn typed_state_and_timers_of_two_subtasks_survive_kills() {
    survives("2", "precise");
}

#[test]
fn rows_may_come_again_but_none_is_lost() {
    survives("2", "rollback");
}
