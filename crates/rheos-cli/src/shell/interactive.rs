//! The loop of the shell: an entry is read, carried out, and whatever comes of it, the next one is read.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rheos::Session;

use super::catalog::{CatalogFile, Change};
use super::command::{self, Command};
use super::complete::Names;
use super::editor::{Editor, Entry};
use super::session;
use super::statements::{alone, pieces};
use crate::args::SqlArgs;
use crate::failure::{self, Failure};
use crate::help;
use crate::interrupt::Interrupt;
use crate::prepare;
use crate::run::{self, Run, write_out};
use crate::script::Script;

/// How deep scripts may SOURCE one another.
const MAX_SOURCE_DEPTH: usize = 16;
/// What errors call the text that was typed.
const LABEL: &str = "statement";

/// Carries the command out.
pub(super) fn interactive(args: &SqlArgs) -> Result<(), Failure> {
    let settings = session::settings(args)?;
    let interrupt = Interrupt::of_shell();
    let mut run = session::run(args, &settings, interrupt.clone());
    interrupt.listen();
    interrupt.begin_statement();
    let (session, catalog) = session::begin(args, &mut run)?;
    interrupt.end_statement();
    let names = Arc::new(Mutex::new(Names::of(&session)));
    let mut editor = Editor::new(args, Arc::clone(&names))?;
    let mut shell = Shell { args, run, session, catalog };
    eprintln!("rheos {}: 'help' lists commands, ';' ends a statement, Ctrl-D leaves", env!("CARGO_PKG_VERSION"));
    loop {
        let entry = match editor.read()? {
            Entry::Text(text) => text,
            Entry::Cleared => continue,
            Entry::End => return Ok(()),
        };
        interrupt.begin_statement();
        let carried_out = shell.entry(&entry);
        interrupt.end_statement();
        if interrupt.is_terminated() {
            return Err(Failure::Interrupted);
        }
        match carried_out {
            Ok(Next::Read) => {}
            Ok(Next::Leave) | Err(Failure::ReaderGone) => return Ok(()),
            // The job was ended, as somebody wanted it.
            Err(Failure::Interrupted) => {}
            // Why is told, and the shell goes on.
            Err(failure) => drop(failure::report(Err(failure))),
        }
        // A panic of the completer does not make names worse.
        names.lock().unwrap_or_else(PoisonError::into_inner).refresh(&shell.session);
    }
}

/// What comes after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Leave,
}

struct Shell<'a> {
    args: &'a SqlArgs,
    run: Run<'a>,
    session: Session,
    catalog: Option<CatalogFile>,
}

impl Shell<'_> {
    /// Carries out what was entered.
    fn entry(&mut self, text: &str) -> Result<Next, Failure> {
        match command::parse(text) {
            Some(command) => self.command(command, 0),
            None => self.statements(&Script::given(LABEL, text.to_string(), &self.args.variables)?, 0),
        }
    }

    /// Carries out the statements of a text, one after the other, up to the first that fails.
    fn statements(&mut self, script: &Script, depth: usize) -> Result<Next, Failure> {
        for piece in pieces(script.text()) {
            let next = match command::parse(&script.text()[piece.range.clone()]) {
                Some(command) => self.command(command, depth)?,
                None => self.statement(script, &piece.range).map(|()| Next::Read)?,
            };
            if next == Next::Leave {
                return Ok(Next::Leave);
            }
        }
        Ok(Next::Read)
    }

    fn command(&mut self, command: Result<Command, String>, depth: usize) -> Result<Next, Failure> {
        match command.map_err(Failure::wrong)? {
            Command::Quit => return Ok(Next::Leave),
            Command::Help => write_out(help::SHELL)?,
            Command::Clear => clear()?,
            Command::Source(path) => return self.source(&path, depth),
            Command::Tables => self.sql("SHOW TABLES")?,
            Command::Describe(name) => self.sql(&format!("DESCRIBE {name}"))?,
        }
        Ok(Next::Read)
    }

    fn source(&mut self, path: &Path, depth: usize) -> Result<Next, Failure> {
        if depth >= MAX_SOURCE_DEPTH {
            return Err(Failure::wrong(format!("'{}': scripts SOURCE one another more than {MAX_SOURCE_DEPTH} deep", path.display())));
        }
        if path == Path::new("-") {
            return Err(Failure::wrong("SOURCE reads a file, and standard input is the terminal"));
        }
        self.statements(&Script::read(path, &self.args.variables)?, depth + 1)
    }

    fn sql(&mut self, sql: &str) -> Result<(), Failure> {
        self.statement(&Script::plain(LABEL.into(), sql.into()), &(0..sql.len()))
    }

    fn statement(&mut self, script: &Script, range: &Range<usize>) -> Result<(), Failure> {
        for parsed in self.session.parse(&alone(script.text(), range)).map_err(|e| script.wrong(&e))? {
            let change = Change::of(&parsed, |name| self.session.has_relation(name), self.run.settings);
            let wrong = |e| script.wrong(&prepare::at_statement(e, &parsed));
            match prepare::step(&mut self.session, &parsed, self.run.settings, self.run.display, &wrong)? {
                Some(step) => run::carry_out(&self.session, step, self.run.display, &mut self.run.jobs, &self.run.interrupt)?,
                None => self.done(change)?,
            }
        }
        Ok(())
    }

    /// A statement that leaves nothing to show is done.
    fn done(&self, change: Option<Change>) -> Result<(), Failure> {
        match (&self.catalog, change) {
            (Some(catalog), Some(change)) if session::keep(catalog, std::slice::from_ref(&change), self.run.settings)? => {
                eprintln!("ok, kept in '{}'", catalog.label());
            }
            _ => eprintln!("ok"),
        }
        Ok(())
    }
}

fn clear() -> Result<(), Failure> {
    use crossterm::cursor::MoveTo;
    use crossterm::terminal::{Clear, ClearType};
    let mut out = io::stderr().lock();
    crossterm::queue!(out, Clear(ClearType::All), MoveTo(0, 0)).and_then(|()| out.flush()).map_err(Failure::of_output)
}
