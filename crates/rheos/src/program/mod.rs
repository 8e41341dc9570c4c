//! Programs: jobs built in Rust, with operators of one's own, run from a command line.
//!
//! ```no_run
//! use rheos::program::{Arguments, Program};
//! use rheos_graph::JobGraph;
//!
//! fn graph(arguments: &Arguments) -> rheos::Result<JobGraph> {
//!     let graph = JobGraph::new("mine");
//!     // ... sources, operators, and a sink that writes to `arguments.output` at `arguments.parallelism`
//!     Ok(graph)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     // ... registry.add_operator("mine", ...)
//!     Program::new(rheos::registry(), graph).main()
//! }
//! ```
//!
//! `mine run --output out --checkpoint-dir snapshots` runs it, and `mine torture --kills 20` kills it ([`crate::torture`]).
//! `crates/rheos/examples/session_counts.rs` is a whole one.

mod arguments;
mod run;
#[cfg(test)]
mod tests;
mod tortured;

use std::process::ExitCode;

use rheos_core::Result;
use rheos_core::registry::Registry;
use rheos_graph::JobGraph;

pub use arguments::Arguments;
pub use tortured::arguments_of;

use crate::torture::Rows;

type MakeGraph = dyn Fn(&Arguments) -> Result<JobGraph>;

/// A job built in Rust.
pub struct Program {
    registry: Registry,
    graph: Box<MakeGraph>,
    rows: Rows,
}

impl Program {
    /// A program whose job is made of what `registry` knows: [`crate::registry`], and one's own. It writes part files of JSON objects
    /// to [`Arguments::output`].
    pub fn new(registry: Registry, graph: impl Fn(&Arguments) -> Result<JobGraph> + 'static) -> Self {
        Program { registry, graph: Box::new(graph), rows: Rows::Added }
    }

    /// The same, if it writes something else than rows that are only added.
    pub fn writing(self, rows: Rows) -> Self {
        Program { rows, ..self }
    }

    /// Does what the command line says. The exit code is that of the command `rheos`: 1 for what is wrong, 2 for a job that failed or,
    /// under torture, broke its promise.
    pub fn main(&self) -> ExitCode {
        let Ok(program) = std::env::current_exe() else {
            eprintln!("error: where this program lies cannot be found");
            return ExitCode::from(1);
        };
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        self.main_with(&arguments, &|life_arguments| {
            let mut command = std::process::Command::new(&program);
            command.args(life_arguments);
            command
        })
    }

    /// The same for these arguments; `command` starts this program with others, for the lives of a tortured job.
    pub fn main_with(&self, arguments: &[String], command: &dyn Fn(&[String]) -> std::process::Command) -> ExitCode {
        let done = match arguments.split_first() {
            Some((verb, rest)) if verb == "run" => Arguments::parse(rest).and_then(|arguments| self.run(&arguments)).map(|()| true),
            Some((verb, rest)) if verb == "torture" => tortured::torture(self, rest, command),
            _ => {
                eprintln!("{}", arguments::USAGE);
                return ExitCode::from(1);
            }
        };
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(2),
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(if error.kind() == crate::ErrorKind::FixConfig { 1 } else { 2 })
            }
        }
    }
}
