//! Scripts made into steps: everything that can be wrong with a statement is found before the first job runs.

use std::io::{self, IsTerminal};

use rheos::{Job, Parsed, Prepared, ResultInfo, Session, SqlError, Statement};

use crate::args::OutputKind;
use crate::failure::Failure;
use crate::run::form::Form;
use crate::script::Script;
use crate::settings::Settings;

/// What is left to do of a statement.
pub(crate) enum Step {
    /// Show a text.
    Text(String),
    /// Show a small table.
    Table {
        /// The names of the columns.
        header: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
    },
    /// Run a query and show its rows.
    Query {
        /// The query.
        job: Job,
        /// What its rows are.
        info: ResultInfo,
        /// How they are shown; `None` in the live table.
        form: Option<Form>,
    },
    /// Run an INSERT.
    Insert(Job),
    /// Prepare a statement when its turn comes: it reads what an earlier INSERT of the script writes, and that is not there yet.
    Later,
}

/// How results will be shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Display {
    /// The form that was asked for, or the default.
    pub(crate) output: OutputKind,
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
}

impl Display {
    /// The form that was asked for, or else the table on a terminal and changes elsewhere.
    pub(crate) fn of(asked: Option<OutputKind>) -> Display {
        let terminal = io::stdout().is_terminal();
        let default = if terminal { OutputKind::Table } else { OutputKind::Changelog };
        Display { output: asked.unwrap_or(default), terminal }
    }
}

/// A session with the settings of the command, and its scripts parsed: all of them, before any statement is looked at.
#[allow(clippy::type_complexity)] // a session and what it is to do
pub(crate) fn begin<'a>(scripts: &'a [Script], settings: &Settings) -> Result<(Session, Vec<(&'a Script, Parsed)>), Failure> {
    let mut session = Session::new();
    settings.apply(&mut session, None)?;
    let statements = parse(&session, scripts)?;
    Ok((session, statements))
}

/// The statements of all scripts, each with the script that it is of.
pub(crate) fn parse<'a>(session: &Session, scripts: &'a [Script]) -> Result<Vec<(&'a Script, Parsed)>, Failure> {
    let mut statements = Vec::new();
    for script in scripts {
        let parsed = session.parse(script.text()).map_err(|e| script.wrong(&e))?;
        statements.extend(parsed.into_iter().map(|p| (script, p)));
    }
    Ok(statements)
}

/// Prepares all statements, in order: what is left to do, each with the number of its statement. Notes go to standard error.
pub(crate) fn steps(
    session: &mut Session,
    statements: &[(&Script, Parsed)],
    settings: &Settings,
    display: Display,
) -> Result<Vec<(usize, Step)>, Failure> {
    let mut steps = Vec::new();
    let mut written: Vec<String> = Vec::new();
    for (i, (script, parsed)) in statements.iter().enumerate() {
        if let Statement::Insert(insert) = &parsed.statement {
            written.push(insert.table.to_string());
        }
        let missing = std::cell::Cell::new(false);
        let wrong = |e: SqlError| {
            missing.set(e.message.contains("does not exist") && written.iter().any(|table| parsed.text.contains(table)));
            script.wrong(&at_statement(e, parsed))
        };
        match step(session, parsed, settings, display, &wrong) {
            Err(_) if missing.get() => steps.push((i, Step::Later)),
            step => steps.extend(step?.map(|step| (i, step))),
        }
    }
    Ok(steps)
}

/// Prepares one statement; `None` where nothing is left to do.
pub(crate) fn step(
    session: &mut Session,
    parsed: &Parsed,
    settings: &Settings,
    display: Display,
    wrong: &dyn Fn(SqlError) -> Failure,
) -> Result<Option<Step>, Failure> {
    Ok(match prepare(session, parsed, settings, wrong)? {
        Prepared::Done(notes) => {
            notes.iter().for_each(|note| eprintln!("note: {note}"));
            None
        }
        Prepared::Text(text) => Some(Step::Text(text)),
        Prepared::Table { header, rows } => Some(Step::Table { header, rows }),
        Prepared::Job(mut job) => match job.result.take() {
            None => Some(Step::Insert(job)),
            Some(info) => {
                let form = form(display, &info, job.bounded).map_err(wrong)?;
                Some(Step::Query { job, info, form })
            }
        },
    })
}

/// Prepares one statement, with the settings around the script in their place.
pub(crate) fn prepare(
    session: &mut Session,
    parsed: &Parsed,
    settings: &Settings,
    wrong: &dyn Fn(SqlError) -> Failure,
) -> Result<Prepared, Failure> {
    match &parsed.statement {
        Statement::Set(Some((key, ..))) if settings.is_fixed(key) => {
            Ok(Prepared::Done(vec![format!("SET '{key}' does nothing here: the command line sets it")]))
        }
        Statement::Reset(key) => {
            let done = session.prepare(&parsed.statement).map_err(wrong)?;
            settings.apply(session, key.as_deref())?;
            Ok(done)
        }
        statement => session.prepare(statement).map_err(wrong),
    }
}

/// The form of a query's rows, refused where it can never be shown.
fn form(display: Display, info: &ResultInfo, bounded: bool) -> Result<Option<Form>, SqlError> {
    let needs_end = match display.output {
        OutputKind::Table if display.terminal => return Ok(None),
        OutputKind::Table => "a table that is not on a terminal",
        OutputKind::FinalTsv => "'final-tsv'",
        _ => "",
    };
    if !bounded && !needs_end.is_empty() {
        let message = format!("{needs_end} shows the final rows of a query that ends, but this one reads an unbounded table");
        return Err(SqlError::new(message).hint(Some("'--output changelog', 'json' and 'csv' show rows as they come".into())));
    }
    Ok(Some(Form::new(display.output, info)?))
}

/// An error without a place is one of the whole statement.
pub(crate) fn at_statement(mut error: SqlError, parsed: &Parsed) -> SqlError {
    if error.place.line == 0 {
        error.place = parsed.place;
    }
    error
}
