//! A job that watches a folder: killed, and restored at another parallelism, it reads each file once.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Puts a whole file into a folder, as programs should that write into one that is watched.
fn put(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).expect("a folder");
    let hidden = folder.join(format!(".{name}"));
    fs::write(&hidden, text).expect("a file");
    fs::rename(hidden, folder.join(name)).expect("it appears");
}

fn numbers(from: i32, to: i32) -> String {
    (from..to).map(|n| format!("{n}\n")).collect()
}

/// Of each number that the visible part files hold: how often.
fn numbers_in(folder: &Path) -> BTreeMap<i32, usize> {
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

/// Waits until so many numbers are there, as long as the job runs.
fn wait_for(count: usize, out: &Path, child: &mut Child) {
    while numbers_in(out).len() < count {
        if let Some(status) = child.try_wait().expect("a status") {
            panic!("the job has ended: {status}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_file_is_read_once_over_restarts_at_other_parallelisms() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    let start = |parallelism: &str, more: &[&str]| {
        let sql = "CREATE TABLE numbers (n INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv', \
            'source.monitor-interval' = '20 ms'); \
            CREATE TABLE out (n INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv'); \
            INSERT INTO out SELECT n FROM numbers";
        let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
        command.args(["run", "-e", sql, "-p", parallelism, "--checkpoint-dir", "snapshots", "--checkpoint-interval", "50 ms"]).args(more);
        command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("rheos starts")
    };
    let mut total = 0;
    let mut add = |files: usize| {
        for _ in 0..files {
            put(&input, &format!("{total:04}.csv"), &numbers(total, total + 10));
            total += 10;
        }
        total as usize
    };
    let count = add(5);
    let mut child = start("3", &[]);
    wait_for(count, &out, &mut child);
    let count = add(20);
    wait_for(count - 150, &out, &mut child);
    // In the midst of what it was given, perhaps.
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    let mut count = add(3);
    for parallelism in ["2", "4"] {
        let mut child = start(parallelism, &["--restore"]);
        wait_for(count, &out, &mut child);
        count = add(2);
        wait_for(count, &out, &mut child);
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
    }
    assert_eq!(numbers_in(&out), (0..count as i32).map(|n| (n, 1)).collect());
}

#[test]
fn windows_close_as_files_come_whatever_their_names() {
    let folder = tempfile::tempdir().expect("an empty folder");
    let day = |day: i32| (0..3).map(|hour| format!("{day},2024-01-{day:02} {hour:02}:00:00\n")).collect::<String>();
    put(&folder.path().join("in"), "first.csv", &day(1));
    let sql = "CREATE TABLE visits (day_number INT, at TIMESTAMP(3), WATERMARK FOR at AS at) \
        WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '20 ms'); \
        SELECT CAST(window_start AS STRING), COUNT(*) FROM TABLE(TUMBLE(TABLE visits, DESCRIPTOR(at), INTERVAL '1' DAY)) \
        GROUP BY window_start, window_end";
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    command.args(["run", "-e", sql, "-p", "1"]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("rheos starts");
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is a pipe")).lines();
    for next in 2..5 {
        put(&folder.path().join("in"), &format!("{}.csv", ["c", "b", "a"][next as usize - 2]), &day(next));
        let line = lines.next().expect("a line").expect("a text");
        assert_eq!(line, format!("+I\t2024-01-{:02} 00:00:00.000\t3", next - 1));
    }
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
}
