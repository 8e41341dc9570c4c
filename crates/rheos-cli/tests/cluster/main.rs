//! Clusters of several real processes on this machine: jobs submitted, followed, ended, and what survives the death of whom.

mod harness;

use std::collections::BTreeMap;

use harness::{Cluster, eventually};
use serde_json::Value;

/// Each number once, without an exchange: as many regions as instances.
const NUMBERS: &str = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '5000',
      'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '20000');
    CREATE TABLE doubled (n BIGINT, m BIGINT) WITH ('connector' = 'filesystem', 'path' = '${OUT}', 'format' = 'csv');
    INSERT INTO doubled SELECT n, n * 2 FROM numbers";

/// Snapshots often, and restarts at once.
const RESTLESS: [&str; 8] = [
    "--set",
    "execution.checkpointing.interval=100 ms",
    "--set",
    "restart-strategy.type=fixed-delay",
    "--set",
    "restart-strategy.fixed-delay.attempts=1000",
    "--set",
    "restart-strategy.fixed-delay.delay=50 ms",
];

/// The sums of a query that exchanges rows by key.
const SUMS: &str = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '${RATE}',
      'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '${ROWS}');
    CREATE TABLE sums (k BIGINT, many BIGINT, total BIGINT) WITH ('connector' = 'filesystem', 'path' = '${OUT}', 'format' = 'debezium-json');
    INSERT INTO sums SELECT MOD(n, 10) AS k, COUNT(*), SUM(n) FROM numbers GROUP BY MOD(n, 10)";

/// The final rows that the changes in the visible part files of a folder lead to, whatever the order of the files.
fn final_rows(folder: &std::path::Path) -> Vec<String> {
    let mut rows: BTreeMap<String, i64> = BTreeMap::new();
    for line in visible_lines(folder) {
        let change: Value = serde_json::from_str(&line).expect("JSON");
        for (side, count) in [("before", -1), ("after", 1)] {
            if !change[side].is_null() {
                let cells = ["k", "many", "total"].map(|column| change[side][column].to_string());
                *rows.entry(cells.join("\t")).or_default() += count;
            }
        }
    }
    rows.retain(|_, count| *count != 0);
    assert!(rows.values().all(|count| *count == 1), "each row is there once: {rows:?}");
    rows.into_keys().collect()
}

fn visible_lines(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let visible = files.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let texts = visible.map(|entry| std::fs::read_to_string(entry.path()).expect("a text"));
    texts.flat_map(|text| text.lines().map(str::to_string).collect::<Vec<_>>()).collect()
}

fn expected(rows: u64) -> Vec<String> {
    let sum = |k: u64| (1..=rows).filter(|n| n % 10 == k).sum::<u64>();
    let many = |k: u64| (1..=rows).filter(|n| n % 10 == k).count();
    (0..10).map(|k| format!("{k}\t{}\t{}", many(k), sum(k))).collect()
}

fn submit_sums(cluster: &Cluster, rows: u64, rate: u64, more: &[&str]) -> (String, std::path::PathBuf) {
    submit_sums_at("2", cluster, rows, rate, more)
}

fn submit_sums_at(parallelism: &str, cluster: &Cluster, rows: u64, rate: u64, more: &[&str]) -> (String, std::path::PathBuf) {
    let out = cluster.folder().join("sums");
    let variables = [format!("RATE={rate}"), format!("ROWS={rows}"), format!("OUT={}", out.display())];
    let mut args = vec!["submit", "-e", SUMS, "-p", parallelism];
    variables.iter().for_each(|variable| args.extend(["--var", variable.as_str()]));
    args.extend(RESTLESS);
    args.extend(more);
    (cluster.rheos(&args).trim().to_string(), out)
}

fn state(cluster: &Cluster, job: &str) -> String {
    cluster.get(&format!("/api/v1/jobs/{job}"))["state"].as_str().unwrap_or("").to_string()
}

#[test]
fn a_job_runs_on_two_workers_and_is_followed_to_its_end() {
    let mut cluster = Cluster::start();
    cluster.add_worker(1);
    cluster.add_worker(1);
    let (job, out) = submit_sums(&cluster, 1000, 100_000, &["--wait"]);
    assert_eq!(final_rows(&out), expected(1000));
    let shown = cluster.rheos(&["job", "show", &job[..6]]);
    assert!(shown.starts_with(&format!("{job}  FINISHED  insert into sums")), "{shown}");
    let told = cluster.rheos(&["job", "logs", &job]);
    assert!(told.contains("submitted") && told.contains("finished: all input was read"), "{told}");
    assert!(cluster.rheos(&["jobs"]).contains(&job));
    let hidden = std::fs::read_dir(&out).unwrap().flatten().filter(|e| e.file_name().to_string_lossy().starts_with('.')).count();
    assert_eq!(hidden, 0);
}

#[test]
fn a_query_shows_its_rows_where_it_was_asked() {
    let mut cluster = Cluster::start();
    cluster.add_worker(2);
    let query = "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1',
        'fields.n.end' = '1000'); SELECT MOD(n, 3) AS k, COUNT(*) AS many FROM numbers GROUP BY MOD(n, 3)";
    let shown = cluster.rheos(&["run", "-e", query, "-p", "2", "-o", "final-tsv"]);
    assert_eq!(shown, "k\tmany\n0\t333\n1\t334\n2\t333\n");
}

#[test]
fn a_job_waits_for_slots_and_says_for_how_many() {
    let mut cluster = Cluster::start();
    let (job, out) = submit_sums(&cluster, 100, 100_000, &[]);
    eventually("it waits", || state(&cluster, &job) == "WAITING");
    let jobs = cluster.rheos(&["jobs"]);
    assert!(jobs.contains("it needs 2 slots, and 0 are free"), "{jobs}");
    cluster.add_worker(1);
    cluster.add_worker(1);
    eventually("it has finished", || state(&cluster, &job) == "FINISHED");
    assert_eq!(final_rows(&out), expected(100));
}

#[test]
fn the_death_of_a_worker_is_made_good_on_the_others() {
    let mut cluster = Cluster::start();
    (0..3).for_each(|_| cluster.add_worker(1));
    let (job, out) = submit_sums(&cluster, 40_000, 10_000, &[]);
    eventually("a snapshot is complete", || cluster.get(&format!("/api/v1/jobs/{job}"))["checkpoints"]["completed"].as_u64() > Some(1));
    let busy = cluster.get("/api/v1/workers")["workers"].as_array().unwrap().iter().position(|w| w["free"] == 0).unwrap();
    cluster.kill_worker(busy);
    eventually("it runs again", || {
        let job = cluster.get(&format!("/api/v1/jobs/{job}"));
        job["restarts"].as_u64() >= Some(1) && job["state"] == "RUNNING"
    });
    eventually("it has finished", || state(&cluster, &job) == "FINISHED");
    assert_eq!(final_rows(&out), expected(40_000));
}

#[test]
fn the_death_of_the_coordinator_is_made_good_when_it_is_started_again() {
    let mut cluster = Cluster::start();
    (0..2).for_each(|_| cluster.add_worker(1));
    let (job, out) = submit_sums(&cluster, 40_000, 10_000, &[]);
    eventually("a snapshot is complete", || cluster.get(&format!("/api/v1/jobs/{job}"))["checkpoints"]["completed"].as_u64() > Some(1));
    cluster.restart_coordinator();
    eventually("it runs again", || state(&cluster, &job) == "RUNNING");
    let told = cluster.rheos(&["job", "logs", &job]);
    assert!(told.contains("goes on with the job") && told.contains("starts from the snapshot of epoch"), "{told}");
    eventually("it has finished", || state(&cluster, &job) == "FINISHED");
    assert_eq!(final_rows(&out), expected(40_000));
    cluster.restart_coordinator();
    assert_eq!(state(&cluster, &job), "FINISHED", "what has ended is known, and does not run again");
}

#[test]
fn a_savepoint_ends_a_job_and_begins_another_at_another_parallelism() {
    let mut cluster = Cluster::start();
    (0..3).for_each(|_| cluster.add_worker(1));
    let (job, out) = submit_sums(&cluster, 20_000, 10_000, &[]);
    eventually("a snapshot is complete", || cluster.get(&format!("/api/v1/jobs/{job}"))["checkpoints"]["completed"].as_u64() > Some(1));
    cluster.rheos(&["job", "stop", "--savepoint", &job]);
    assert_eq!(state(&cluster, &job), "STOPPED");
    let folder = cluster.get(&format!("/api/v1/jobs/{job}"))["snapshots"].as_str().unwrap().to_string();
    let (again, _) = submit_sums_at("3", &cluster, 20_000, 10_000, &["--restore", &folder, "--wait"]);
    assert_ne!(again, job);
    assert_eq!(final_rows(&out), expected(20_000));
}

#[test]
fn a_canceled_job_publishes_nothing_more_and_cannot_be_told_anything() {
    let mut cluster = Cluster::start();
    cluster.add_worker(2);
    let (job, _) = submit_sums(&cluster, 1_000_000, 1_000, &[]);
    eventually("it runs", || state(&cluster, &job) == "RUNNING");
    cluster.rheos(&["job", "cancel", &job]);
    eventually("it is canceled", || state(&cluster, &job) == "CANCELED");
    let refused = cluster.fails(&["job", "cancel", &job]);
    assert_eq!(refused, (1, format!("error: job '{job}' has ended: it is CANCELED\n")));
    eventually("its slots are free", || cluster.get("/api/v1/workers")["workers"][0]["free"] == 2);
}

#[test]
fn who_does_not_know_the_token_is_refused() {
    let mut cluster = Cluster::start_with_token("a secret");
    cluster.add_worker(2);
    let refused = cluster.fails_without_token(&["jobs"]);
    assert_eq!(refused.0, 1);
    assert!(refused.1.contains("wants a token"), "{}", refused.1);
    let worker = cluster.fails_without_token(&["worker", "--coordinator", &cluster.address]);
    assert_eq!(worker.0, 1);
    assert!(worker.1.contains("wants a token"), "{}", worker.1);
    let (_, out) = submit_sums(&cluster, 100, 100_000, &["--wait"]);
    assert_eq!(final_rows(&out), expected(100));
}

#[test]
fn what_is_wrong_with_a_script_is_told_before_anything_runs() {
    let cluster = Cluster::start();
    let (code, told) = cluster.fails(&["submit", "-e", "SELECT nothing FROM nowhere"]);
    assert_eq!(code, 1);
    assert!(told.contains("nowhere"), "{told}");
    assert_eq!(cluster.fails(&["job", "show", "zzz"]), (1, "error: there is no job 'zzz'; 'rheos jobs' lists those there are\n".into()));
    let answer = cluster.post("/api/v1/jobs", r#"{"sql": "SELECT 1;\nSELECT nothing"}"#);
    assert_eq!((answer["plan"]["line"].as_u64(), answer["plan"]["column"].as_u64()), (Some(2), Some(8)), "{answer}");
}

#[test]
fn regions_that_are_not_connected_restart_alone() {
    let mut cluster = Cluster::start();
    (0..2).for_each(|_| cluster.add_worker(1));
    let out = cluster.folder().join("numbered");
    let variable = format!("OUT={}", out.display());
    let mut args = vec!["submit", "-p", "2", "-e", NUMBERS, "--var", &variable];
    args.extend(RESTLESS);
    let job = cluster.rheos(&args).trim().to_string();
    eventually("a snapshot is complete", || cluster.get(&format!("/api/v1/jobs/{job}"))["checkpoints"]["completed"].as_u64() > Some(1));
    cluster.kill_worker(0);
    cluster.add_worker(1);
    eventually("it has finished", || state(&cluster, &job) == "FINISHED");
    let told = cluster.rheos(&["job", "logs", &job]);
    assert_eq!(told.matches("region ").count(), 1, "one of the two regions restarts, and no more: {told}");
    let lines = visible_lines(&out);
    let mut numbers: Vec<u64> = lines.iter().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20_000).collect::<Vec<_>>());
}

#[test]
fn rest_describes_itself_and_metrics_can_be_scraped() {
    let mut cluster = Cluster::start();
    cluster.add_worker(2);
    let document = cluster.get("/api/v1/openapi.json");
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert!(paths.contains(&&"/api/v1/jobs/{id}/stop".to_string()), "{paths:?}");
    submit_sums(&cluster, 100, 100_000, &["--wait"]);
    let metrics = cluster.text(&cluster.address, "/metrics");
    assert!(metrics.contains("rheos_slots_free 2\n") && metrics.contains("rheos_job_checkpoints_total{"), "{metrics}");
    let worker: Value = cluster.get("/api/v1/workers")["workers"][0].clone();
    let metrics = cluster.text(worker["metrics_address"].as_str().unwrap(), "/metrics");
    assert!(metrics.contains("# TYPE rheos_task_rows_in_total counter"), "{metrics}");
}
