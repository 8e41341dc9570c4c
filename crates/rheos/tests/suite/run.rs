//! A script run through a session of its own.

use rheos::{Error, ErrorKind, FoldedTable, Prepared, ResultEvent, Session, SqlError};

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

fn rows_of(sql: &str, settings: &[(&str, &str)]) -> Result<Outcome, Outcome> {
    let mut session = Session::new();
    for (key, value) in settings {
        session.set(key, value)?;
    }
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
