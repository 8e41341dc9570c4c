//! How a session of the shell begins, and what of it is kept.

use rheos::Session;

use super::catalog::{CatalogFile, Change, Kept};
use crate::args::SqlArgs;
use crate::failure::{self, Failure};
use crate::interrupt::Interrupt;
use crate::prepare::{self, Display};
use crate::run::Run;
use crate::run::jobs::Jobs;
use crate::script::Script;
use crate::settings::Settings;

/// The settings around a session.
pub(super) fn settings(args: &SqlArgs) -> Result<Settings, Failure> {
    Ok(Settings::around(&args.set, args.parallelism.as_deref())?.with_snapshots(&args.snapshots))
}

/// How statements are carried out.
pub(super) fn run<'a>(args: &'a SqlArgs, settings: &'a Settings, interrupt: Interrupt) -> Run<'a> {
    Run {
        settings,
        display: Display::of(args.output),
        jobs: Jobs { args: &args.snapshots, is_tortured: false, started: 0 },
        interrupt,
        target: None,
        sink_to: None,
    }
}

/// A session after the scripts of `--init`, with the tables of `--catalog`.
pub(super) fn begin(args: &SqlArgs, run: &mut Run<'_>) -> Result<(Session, Option<CatalogFile>), Failure> {
    let mut session = Session::new();
    run.settings.apply(&mut session, None)?;
    let scripts = args.init.iter().map(|path| Script::read(path, &args.variables)).collect::<Result<Vec<_>, _>>()?;
    let statements = prepare::parse(&session, &scripts)?;
    let steps = prepare::steps(&mut session, &statements, run.settings, run.display)?;
    run.carry_out_all(&mut session, &statements, steps)?;
    let catalog = args.catalog.as_ref().map(|path| CatalogFile::open(path, &mut session, run.settings)).transpose()?;
    Ok((session, catalog))
}

/// Keeps what statements have changed; whether all of it. Warns where the next session would not find it right.
pub(super) fn keep(catalog: &CatalogFile, changes: &[Change], settings: &Settings) -> Result<bool, Failure> {
    let mut is_whole = true;
    let mut gap = None;
    for change in changes {
        match (catalog.keep(change, settings)?, change) {
            (Kept::Whole, _) => gap = None,
            // A later change may close it.
            (Kept::WithGap(failure), _) => gap = Some(failure),
            (Kept::Not(failure), Change::Create { name, .. }) => {
                is_whole = false;
                let told = format!("note: '{}' does not keep '{name}', since it would not load from there", catalog.label());
                tell(&told, failure);
            }
            (Kept::Not(_), _) => {}
        }
    }
    if let Some(failure) = gap {
        tell(&format!("note: as '{}' is now, the next session cannot load it", catalog.label()), failure);
    }
    Ok(is_whole)
}

fn tell(note: &str, failure: Failure) {
    eprintln!("{note}:");
    let _ = failure::report(Err(failure));
}
