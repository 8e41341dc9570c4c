//! A script run through a session of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rheos::{Error, ErrorKind, FoldedTable, JobEnd, Prepared, ResultEvent, Running, Session, SqlError, StartFrom, StartOptions};

/// What came of a script.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The final rows of its last query.
    Rows {
        /// Header and sorted lines, each with its line end.
        text: String,
        /// Whether the plan says that rows may be taken back.
        updating: bool,
    },
    /// A statement was refused, or the job failed on its input.
    Rejected(String),
    /// Rheos is at fault.
    InternalError(String),
}

impl From<SqlError> for Outcome {
    fn from(e: SqlError) -> Outcome {
        Outcome::Rejected(e.to_string())
    }
}

impl From<Error> for Outcome {
    fn from(e: Error) -> Outcome {
        match e.kind() {
            ErrorKind::Bug | ErrorKind::Corrupt => Outcome::InternalError(e.to_string()),
            _ => Outcome::Rejected(e.to_string()),
        }
    }
}

/// Runs all statements of a script, in order.
pub(crate) fn run(sql: &str, settings: &[(&str, &str)]) -> Outcome {
    rows_of(sql, settings).unwrap_or_else(|outcome| outcome)
}

/// How many jobs were stopped with a savepoint, before their end.
pub(crate) static STOPPED: AtomicUsize = AtomicUsize::new(0);

/// Runs a script of one query: stops it with a savepoint after about `stop_after` rows were read, and goes on from there at another
/// parallelism.
pub(crate) fn run_restored(sql: &str, settings: &[(&str, &str)], parallelisms: [&str; 2], stop_after: u64) -> Outcome {
    rows_restored(sql, settings, parallelisms, stop_after).unwrap_or_else(|outcome| outcome)
}

fn rows_restored(sql: &str, settings: &[(&str, &str)], parallelisms: [&str; 2], stop_after: u64) -> Result<Outcome, Outcome> {
    let folder = tempfile::tempdir().map_err(|e| Outcome::InternalError(e.to_string()))?;
    let mut folded: Option<FoldedTable> = None;
    for (parallelism, from) in parallelisms.into_iter().zip([StartFrom::New, StartFrom::Latest]) {
        let mut session = session_with(settings)?;
        session.set("parallelism.default", parallelism)?;
        session.set("execution.checkpointing.dir", &folder.path().display().to_string())?;
        session.set("execution.checkpointing.interval", "1 h")?;
        let stops = from == StartFrom::New;
        for parsed in session.parse(sql)? {
            let Prepared::Job(job) = session.prepare(&parsed.statement)? else { continue };
            let Some(info) = job.result.clone() else { continue };
            let folded = folded.get_or_insert_with(|| FoldedTable::new(info.schema));
            let mut running = session.start_with(job, StartOptions { from: from.clone(), ..StartOptions::default() })?;
            while stops && !running.is_done() && rows_read(&running) < stop_after {
                std::thread::sleep(Duration::from_micros(200));
            }
            if stops {
                running.stop_with_savepoint()?;
            }
            while let Some(event) = running.next_result() {
                if let ResultEvent::Rows(batch) = event {
                    folded.apply(&batch)?;
                }
            }
            if matches!(running.wait()?, JobEnd::Stopped { .. }) {
                STOPPED.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    match folded {
        Some(folded) => Ok(Outcome::Rows { text: folded.lines()?.join("\n") + "\n", updating: true }),
        None => Ok(Outcome::Rejected("the script has no query".into())),
    }
}

fn rows_read(running: &Running) -> u64 {
    running.metrics().tasks.iter().filter(|t| t.name.starts_with("Source")).map(|t| t.rows_in).sum()
}

fn session_with(settings: &[(&str, &str)]) -> Result<Session, Outcome> {
    let mut session = Session::new();
    for (key, value) in settings {
        session.set(key, value)?;
    }
    Ok(session)
}

fn rows_of(sql: &str, settings: &[(&str, &str)]) -> Result<Outcome, Outcome> {
    let mut session = session_with(settings)?;
    let mut last = Outcome::Rejected("the script has no query".into());
    for parsed in session.parse(sql)? {
        let Prepared::Job(job) = session.prepare(&parsed.statement)? else { continue };
        let mut folded = job.result.as_ref().map(|r| FoldedTable::new(r.schema.clone()));
        let updating = job.result.as_ref().is_some_and(|r| !r.changelog.is_insert_only());
        let mut running = session.start(job)?;
        while let Some(event) = running.next_result() {
            if let (ResultEvent::Rows(batch), Some(folded)) = (event, &mut folded) {
                if !updating && batch.kinds().is_some() {
                    return Err(Outcome::InternalError("a plan that only inserts took a row back".into()));
                }
                folded.apply(&batch)?;
            }
        }
        running.wait()?;
        if let Some(folded) = folded {
            last = Outcome::Rows { text: folded.lines()?.join("\n") + "\n", updating };
        }
    }
    Ok(last)
}
