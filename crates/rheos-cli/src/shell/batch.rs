//! Statements from `-e` or from standard input that is no terminal: carried out as `rheos run` does, all prepared before the first
//! job runs. Commands of the shell are not known here.

use std::path::Path;

use super::catalog::Change;
use super::session;
use crate::args::SqlArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::prepare::{self, Step};
use crate::script::Script;

/// Carries the command out.
pub(super) fn batch(args: &SqlArgs) -> Result<(), Failure> {
    let settings = session::settings(args)?;
    let mut run = session::run(args, &settings, Interrupt::default());
    let (mut session, catalog) = session::begin(args, &mut run)?;
    let scripts = if args.execute.is_empty() {
        vec![Script::read(Path::new("-"), &args.variables)?]
    } else {
        args.execute.iter().map(|sql| Script::given("-e", sql.clone(), &args.variables)).collect::<Result<_, _>>()?
    };
    let statements = prepare::parse(&session, &scripts)?;
    let before = session.clone();
    let steps = prepare::steps(&mut session, &statements, &settings, run.display)?;
    // A statement that waits for a job has not succeeded yet.
    let waits = |i: usize| steps.iter().any(|(of, step)| *of == i && matches!(step, Step::Later));
    let (waiting, done): (Vec<_>, Vec<_>) = statements.iter().map(|(_, parsed)| parsed).enumerate().partition(|(i, _)| waits(*i));
    if let Some(catalog) = &catalog {
        session::keep(catalog, &Change::of_all(done.into_iter().map(|(_, p)| p), &before, &settings), &settings)?;
    }
    let before = session.clone();
    run.carry_out_all(&mut session, &statements, steps)?;
    if let Some(catalog) = &catalog {
        session::keep(catalog, &Change::of_all(waiting.into_iter().map(|(_, p)| p), &before, &settings), &settings)?;
    }
    Ok(())
}
