//! `rheos sql`: statements carried out as they are typed.
//!
//! 1. [`session`] begins: settings, the scripts of `--init`, the tables of `--catalog` ([`catalog`]).
//! 2. [`interactive`] reads entries on a terminal with [`editor`], and carries each out: a [`command`] of the shell, or statements
//!    ([`statements`]) by the same steps as `rheos run`. [`complete`] and [`highlight`] help to write.
//! 3. [`batch`] carries out what comes from `-e` or a pipe, as `rheos run` would.

mod batch;
mod catalog;
mod command;
mod complete;
mod editor;
mod highlight;
mod history;
mod interactive;
mod session;
mod statements;
mod tokens;

use std::io::{self, IsTerminal};

use crate::args::SqlArgs;
use crate::failure::Failure;

pub(crate) use editor::leave_terminal;

/// Carries the command out.
pub(crate) fn sql(args: &SqlArgs) -> Result<(), Failure> {
    if args.execute.is_empty() && io::stdin().is_terminal() { interactive::interactive(args) } else { batch::batch(args) }
}
