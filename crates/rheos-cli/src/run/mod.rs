//! `rheos run`: steps carried out in order.

pub(crate) mod form;
mod insert;
pub(crate) mod jobs;
pub(crate) mod query;

use std::io::{self, Write};
use std::path::Path;

use rheos::{Parsed, Session};

use self::form::Form;
use self::jobs::Jobs;
use crate::args::{OutputKind, RunArgs};
use crate::cluster::{Target, submission};
use crate::failure::Failure;
use crate::figures::table;
use crate::interrupt::Interrupt;
use crate::live;
use crate::prepare::{self, Display, Step};
use crate::script::Script;
use crate::settings::Settings;

/// Carries the command out.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let scripts = Script::read_all(&args.script)?;
    let settings = Settings::collect(&args.script)?.with_snapshots(&args.snapshots);
    let display = Display::of(args.output);
    let (mut session, statements) = prepare::begin(&scripts, &settings)?;
    if let Some(folder) = &args.sink_to {
        session.redirect_sinks(folder);
    }
    let steps = prepare::steps(&mut session, &statements, &settings, display)?;
    let jobs = Jobs { args: &args.snapshots, is_tortured: args.sink_to.is_some(), started: 0 };
    Run {
        settings: &settings,
        display,
        jobs,
        interrupt: Interrupt::default(),
        target: args.target.as_ref().map(|target| Target::new(Some(target), args.token_file.as_deref())).transpose()?,
        sink_to: args.sink_to.as_deref(),
    }
    .carry_out_all(&mut session, &statements, steps)
}

/// A script that is carried out.
pub(crate) struct Run<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) display: Display,
    pub(crate) jobs: Jobs<'a>,
    pub(crate) interrupt: Interrupt,
    /// The cluster that runs the jobs; `None` is this process.
    pub(crate) target: Option<Target>,
    /// Where all rows go, whatever the SQL says.
    pub(crate) sink_to: Option<&'a Path>,
}

impl Run<'_> {
    /// Carries out what is left to do of the statements.
    pub(crate) fn carry_out_all(
        &mut self,
        session: &mut Session,
        statements: &[(&Script, Parsed)],
        steps: Vec<(usize, Step)>,
    ) -> Result<(), Failure> {
        let mut shown = 0;
        for (i, step) in steps {
            let step = match step {
                Step::Later => {
                    let (script, parsed) = &statements[i];
                    let wrong = |e| script.wrong(&prepare::at_statement(e, parsed));
                    let Some(step) = prepare::step(session, parsed, self.settings, self.display, &wrong)? else { continue };
                    step
                }
                step => step,
            };
            if !matches!(step, Step::Insert(_)) {
                if shown > 0 && self.display.output != OutputKind::Changelog && self.display.output != OutputKind::Json {
                    write_out("\n")?;
                }
                shown += 1;
            }
            match (&self.target, step) {
                (Some(target), Step::Insert(_)) => {
                    self.interrupt.listen();
                    target.insert(&submission(statements, i, self.settings, self.sink_to), &self.interrupt)?;
                }
                (Some(target), Step::Query { info, form, .. }) => {
                    self.interrupt.listen();
                    // There is no live table of a job that runs elsewhere.
                    let form = form.map_or_else(|| Form::new(OutputKind::Changelog, &info).map_err(Failure::Job), Ok)?;
                    target.query(&submission(statements, i, self.settings, None), form, &self.interrupt)?;
                }
                (_, step) => carry_out(session, step, self.display, &mut self.jobs, &self.interrupt)?,
            }
        }
        Ok(())
    }
}

/// Carries one step out in this process.
pub(crate) fn carry_out(session: &Session, step: Step, display: Display, jobs: &mut Jobs, interrupt: &Interrupt) -> Result<(), Failure> {
    match step {
        Step::Text(text) => write_out(&format!("{}\n", text.trim_end())),
        Step::Table { header, rows } if display.output == OutputKind::Table => write_out(&format!("{}\n", table(&header, &rows))),
        Step::Table { header, rows } if display.output == OutputKind::Json => {
            let line = |row: &Vec<String>| {
                let members = header.iter().cloned().zip(row.iter().map(|cell| cell.clone().into()));
                serde_json::Value::Object(members.collect()).to_string() + "\n"
            };
            write_out(&rows.iter().map(line).collect::<String>())
        }
        Step::Table { header, rows } => {
            let line = |cells: &[String]| cells.join("\t") + "\n";
            write_out(&std::iter::once(&header).chain(&rows).map(|cells| line(cells)).collect::<String>())
        }
        Step::Later => Ok(()),
        Step::Insert(job) => {
            interrupt.listen();
            let running = session.start_with(job, jobs.next_options(false)).map_err(Failure::of_start)?;
            insert::watch(&running, &jobs.stop(interrupt))
        }
        Step::Query { job, info, form } => {
            interrupt.listen();
            let mut running = session.start_with(job, jobs.next_options(form.is_none())).map_err(Failure::of_start)?;
            match form {
                Some(form) => query::stream(&mut running, form, &jobs.stop(interrupt)),
                None => live::show(&mut running, &info, &jobs.stop(interrupt)),
            }
        }
    }
}

/// Writes to standard output, at once.
pub(crate) fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_output)
}
