//! A program run: up to a savepoint and on from there, or without one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use rheos::{ConnectorInfo, Error, Job, JobEnd, Prepared, Running, Session, SqlError, StartFrom, StartOptions};
use rheos_core::connector::OptionInfo;
use rheos_graph::NodeKind;

use super::feed::{Bound, Feed};
use super::program::{CONNECTOR, MODE, Program, Source};
use super::taken::{Got, Taken};

/// Why there are no results.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Rheos does not have what the program needs.
    Refused(String),
    /// Rheos took it and failed.
    Failed(String),
}

impl From<SqlError> for Stop {
    fn from(e: SqlError) -> Stop {
        Stop::Refused(e.message)
    }
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Failed(e.to_string())
    }
}

/// What the sinks got in each run.
pub(crate) type Results = Vec<BTreeMap<String, Got>>;

/// How long those wait between the runs that join rows of the same five seconds: Flink's savepoints are months old.
const PAUSE: Duration = Duration::from_secs(6);

/// Settings that change how Flink computes, not what; of others Rheos must know.
const NEUTRAL: [&str; 7] = [
    "OptimizerConfigOptions.",
    "StateBackendOptions.",
    "ExecutionConfigOptions.TABLE_EXEC_MINIBATCH_",
    "ExecutionConfigOptions.TABLE_EXEC_ASYNC_",
    "ExecutionConfigOptions.TABLE_EXEC_DELTA_JOIN_CACHE_",
    "ExecutionConfigOptions.TABLE_EXEC_SINK_UPSERT_MATERIALIZE_STRATEGY",
    "TableConfigOptions.LOCAL_TIME_ZONE",
];

/// What of the program's rows a run feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Those up to the savepoint, with which it is stopped.
    Before,
    /// Those after it; then the input ends.
    After,
    /// Both.
    Whole,
}

/// Stops the program with a savepoint once all rows before it have gone in, and goes on from there at another parallelism.
pub(crate) fn restored(program: &Program, parallelisms: [usize; 2]) -> Result<Results, Stop> {
    let folder = tempfile::tempdir().map_err(|e| Stop::Failed(e.to_string()))?;
    let before = run(program, Phase::Before, parallelisms[0], folder.path())?;
    if program.tells_time() {
        std::thread::sleep(PAUSE);
    }
    Ok(vec![before, run(program, Phase::After, parallelisms[1], folder.path())?])
}

/// Runs the program without a restart.
pub(crate) fn straight(program: &Program) -> Result<Results, Stop> {
    let folder = tempfile::tempdir().map_err(|e| Stop::Failed(e.to_string()))?;
    Ok(vec![run(program, Phase::Whole, 1, folder.path())?])
}

fn run(program: &Program, phase: Phase, parallelism: usize, folder: &Path) -> Result<BTreeMap<String, Got>, Stop> {
    let (feed, taken) = (Feed::new(program, phase == Phase::After), Taken::default());
    let mut session = session(program, &feed, &taken, parallelism)?;
    session.set("execution.checkpointing.dir", &folder.display().to_string())?;
    session.set("execution.checkpointing.interval", "1 h")?;
    let job = prepare(&mut session, program)?;
    let scans = scans(&job);
    let from = if phase == Phase::After { StartFrom::Latest } else { StartFrom::New };
    let running = session.start_with(job, StartOptions { from, ..StartOptions::default() })?;
    for bound in bounds(program, phase) {
        feed.release(bound);
        wait_for(&running, || feed.is_given(bound, scans));
        if program.is_raced() {
            let last = running.last_checkpoint().map(|(epoch, _)| epoch);
            running.savepoint();
            wait_for(&running, || running.last_checkpoint().map(|(epoch, _)| epoch) > last);
        }
    }
    if phase == Phase::Before {
        running.stop_with_savepoint()?;
    } else {
        feed.release(Bound::ALL);
    }
    let end = running.wait()?;
    if end == JobEnd::Finished && phase != Phase::Before || matches!(end, JobEnd::Stopped { .. }) && phase == Phase::Before {
        return Ok(taken.so_far());
    }
    Err(Stop::Failed(format!("{phase:?} ended as {end:?}")))
}

/// How far the sources go in one step after the other. Where they are raced, row by row, and a snapshot after each step says that
/// it has gone through the whole job.
fn bounds(program: &Program, phase: Phase) -> Vec<Bound> {
    let longest = |rows: fn(&Source) -> usize| program.sources.iter().map(rows).max().unwrap_or_default();
    let steps = |rows: usize| if program.is_raced() { (1..=rows).collect() } else { vec![usize::MAX] };
    let before = steps(longest(|s| s.before.len())).into_iter().map(|n| Bound(n, 0));
    let after = steps(longest(|s| s.after.len())).into_iter().map(|n| Bound(usize::MAX, n));
    match phase {
        Phase::Before => before.chain([Bound::BEFORE]).collect(),
        Phase::After => after.filter(|bound| *bound != Bound::ALL).collect(),
        Phase::Whole => before.chain([Bound::BEFORE]).chain(after.filter(|bound| *bound != Bound::ALL)).collect(),
    }
}

/// Waits until that holds, or the job has ended.
fn wait_for(running: &Running, holds: impl Fn() -> bool) {
    while !holds() && !running.is_done() {
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn session(program: &Program, feed: &Feed, taken: &Taken, parallelism: usize) -> Result<Session, Stop> {
    let mut session = Session::new();
    session.add_connector(ConnectorInfo {
        name: CONNECTOR,
        doc: "the tables of a program",
        options: vec![OptionInfo::optional(MODE, "I", "the kinds of changes that a source gives")],
        takes_format: false,
        source: Some(std::sync::Arc::new(feed.clone())),
        sink: Some(std::sync::Arc::new(taken.clone())),
    });
    session.set("parallelism.default", &parallelism.to_string())?;
    // Flink lets a watermark follow a row that advances it by more than its interval, as do most of the programs' rows.
    session.set("pipeline.auto-watermark-interval", "0")?;
    for (key, value) in &program.config {
        if key == "TableConfigOptions.LOCAL_TIME_ZONE" {
            session.set("table.local-time-zone", value)?;
        }
        if key == "ExecutionConfigOptions.TABLE_EXEC_SOURCE_CDC_EVENTS_DUPLICATE" {
            session.set("table.exec.source.cdc-events-duplicate", value)?;
            continue;
        }
        if key == "ExecutionConfigOptions.IDLE_STATE_RETENTION" {
            // Nothing here runs for as long as that.
            continue;
        }
        if !NEUTRAL.iter().any(|neutral| key.starts_with(neutral)) {
            return Err(Stop::Refused(format!("the setting {key}")));
        }
    }
    Ok(session)
}

/// The program's job, its tables made.
fn prepare(session: &mut Session, program: &Program) -> Result<Job, Stop> {
    for sql in program.tables().iter().chain(&program.setup_sql) {
        for parsed in session.parse(sql)? {
            session.prepare(&parsed.statement)?;
        }
    }
    for parsed in session.parse(&program.insert())? {
        if let Prepared::Job(job) = session.prepare(&parsed.statement)? {
            return Ok(job);
        }
    }
    Err(Stop::Refused("no INSERT".into()))
}

/// How many of the job's sources read tables of the program.
fn scans(job: &Job) -> usize {
    let is_scan = |kind: &NodeKind| matches!(kind, NodeKind::Source { table, .. } if table.connector == CONNECTOR);
    job.graph.nodes.iter().filter(|node| is_scan(&node.kind)).count()
}
