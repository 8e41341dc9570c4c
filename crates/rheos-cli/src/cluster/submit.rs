//! `rheos submit`: the jobs of a script handed to a cluster.

use std::path::Path;

use rheos::cluster::Submission;
use rheos::{Parsed, Statement};

use super::client::Blocking;
use super::target::Target;
use crate::args::{OutputKind, SubmitArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::prepare::{self, Display, Step};
use crate::run::write_out;
use crate::script::Script;
use crate::settings::Settings;

/// `rheos submit`
pub(crate) fn submit(args: &SubmitArgs) -> Result<(), Failure> {
    let scripts = Script::read_all(&args.script)?;
    let settings = Settings::collect(&args.script)?;
    // All that is wrong with the script is told before anything is submitted.
    let (mut session, statements) = prepare::begin(&scripts, &settings)?;
    let display = Display { output: OutputKind::Changelog, terminal: false };
    let steps = prepare::steps(&mut session, &statements, &settings, display)?;
    let target = Target::over(Blocking::new(args.target.target.as_deref(), args.target.token_file.as_deref())?);
    let mut jobs = Vec::new();
    for (i, step) in steps {
        match step {
            Step::Text(_) | Step::Table { .. } => eprintln!("note: 'rheos submit' shows nothing of {}", statements[i].1.text.trim()),
            Step::Query { .. } | Step::Insert(_) | Step::Later => {
                let submission = submission(&statements, i, &settings, args.sink_to.as_deref());
                jobs.extend(target.submit(&Submission { restore: args.restore.clone(), ..submission })?);
            }
        }
    }
    if jobs.is_empty() {
        return Err(Failure::wrong("the script has no query and no INSERT, so there is nothing to run"));
    }
    for id in &jobs {
        write_out(&format!("{id}\n"))?;
    }
    if args.wait {
        let interrupt = Interrupt::default();
        jobs.iter().try_for_each(|id| target.wait(id, &interrupt))?;
    }
    Ok(())
}

/// Statement `i` of a script, after those before it that run no job.
pub(crate) fn submission(statements: &[(&Script, Parsed)], i: usize, settings: &Settings, sink_to: Option<&Path>) -> Submission {
    let [weak, strong] = settings.pairs();
    let quoted = |text: &str| text.replace('\'', "''");
    let mut sql: String = weak.iter().map(|(key, value)| format!("SET '{}' = '{}';\n", quoted(key), quoted(value))).collect();
    for (_, parsed) in &statements[..i] {
        let is_job = matches!(parsed.statement, Statement::Query(_) | Statement::Insert(_) | Statement::StatementSet(_));
        let shows = matches!(parsed.statement, Statement::Show(_) | Statement::Describe(_) | Statement::Explain(_));
        if !is_job && !shows {
            sql.push_str(parsed.text.trim());
            sql.push_str(";\n");
        }
    }
    sql.push_str(statements[i].1.text.trim());
    Submission {
        sql,
        settings: strong.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        restore: None,
        sink_to: sink_to.map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf()).display().to_string()),
    }
}
