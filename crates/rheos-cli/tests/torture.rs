//! The command `torture`, as users run it: jobs of some seconds, killed over and over.

use std::process::{Command, Output};

const EVENTS: &str = "CREATE TABLE events (event_type INT, bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3)>, \
    at AS bid.`dateTime`, WATERMARK FOR at AS at - INTERVAL '1' SECOND) \
    WITH ('connector' = 'nexmark', 'rate.limited' = 'true', 'base-time' = '2020-01-01 00:00:00', 'events.num' = '6000', \
    'first-event.rate' = '1500');";
const WINDOWS: &str = "SELECT window_start, bid.auction, COUNT(*) AS bids, MAX(bid.price) AS highest \
    FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '1' SECOND)) WHERE event_type = 2 \
    GROUP BY window_start, window_end, bid.auction";
const GROUPS: &str = "SELECT bid.bidder, COUNT(*) AS bids, SUM(bid.price) AS total FROM events WHERE event_type = 2 GROUP BY bid.bidder";

fn torture(sql: &[&str], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    command.arg("torture").args(sql.iter().flat_map(|sql| ["-e", sql])).args(args);
    command.output().expect("rheos runs")
}

/// Eight kills, and the report.
fn survives(query: &str, parallelism: &str) {
    let told = torture(&[EVENTS, query], &["--kills", "8", "--seed", "5", "-p", parallelism]);
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert_eq!(told.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("0 lost, 0 duplicated, 0 changed, 0 added\nheld "), "{out}");
    assert!(out.starts_with("without failure") && err.contains("kill 3 of 8"), "{out}{err}");
}

#[test]
fn windows_survive_kills() {
    survives(WINDOWS, "1");
}

#[test]
fn windows_of_two_subtasks_survive_kills() {
    survives(WINDOWS, "2");
}

#[test]
fn updated_groups_survive_kills() {
    survives(GROUPS, "1");
}

#[test]
fn updated_groups_of_two_subtasks_survive_kills() {
    survives(GROUPS, "2");
}

#[test]
fn what_cannot_be_tortured_is_refused() {
    let refused = |sql: &[&str]| {
        let told = torture(sql, &[]);
        assert_eq!((told.status.code(), told.stdout.len()), (Some(1), 0), "{sql:?}");
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    assert!(refused(&["SELECT 1", "SELECT 2"]).contains("exactly one INSERT or query; here are 2"));
    assert!(refused(&[EVENTS]).contains("exactly one INSERT or query; here are 0"));
    assert!(refused(&["CREATE TABLE t (n INT) WITH ('connector' = 'datagen')", "SELECT n FROM t"]).contains("the job never ends"));
}

#[test]
fn a_promise_that_is_broken_is_told_with_exit_code_2() {
    // Nothing is the same twice here.
    let clock = "CREATE TABLE t (n BIGINT, at TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '100')";
    let dir = tempfile::tempdir().expect("a folder");
    let keep = dir.path().join("kept");
    let told = torture(&[clock, "SELECT n, at FROM t"], &["--kills", "0", "--keep", keep.to_str().expect("UTF-8")]);
    let out = String::from_utf8_lossy(&told.stdout);
    assert_eq!(told.status.code(), Some(2), "{out}");
    assert!(out.contains("0 lost, 0 duplicated, 100 changed, 0 added") && out.contains("hint"), "{out}");
    assert!(out.contains("BROKEN") && keep.join("lives/0001.log").exists(), "{out}");
}
