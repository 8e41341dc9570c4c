//! `rheos torture`: the lives of the job are `rheos run`, in folders of the torture's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use rheos::torture::{Life, Options, RESTARTS, Rows};
use rheos::{Job, Recovery, Session};
use rheos_core::env::{system_monotonic_ns, system_now_ms};

use crate::args::{OutputKind, RecoveryKind, ScriptArgs, TortureArgs};
use crate::failure::Failure;
use crate::prepare::{self, Display, Step};
use crate::run::write_out;
use crate::script::Script;
use crate::settings::Settings;

/// Carries the command out.
pub(crate) fn torture(args: &TortureArgs) -> Result<(), Failure> {
    let random = system_now_ms().unsigned_abs() ^ system_monotonic_ns() ^ u64::from(std::process::id());
    let options = Options {
        kills: args.kills,
        seed: args.seed.unwrap_or(random % 1_000_000),
        recovery: match args.recovery {
            RecoveryKind::Precise => Recovery::Precise,
            RecoveryKind::Rollback => Recovery::Rollback,
            RecoveryKind::Gap => Recovery::Gap,
        },
        faults: !args.no_faults,
        rows: rows_of(&args.script)?,
        dir: args.keep.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("rheos-torture-{}-{random:x}", std::process::id()))),
    };
    let program = std::env::current_exe().map_err(|e| Failure::wrong(format!("where this program lies cannot be found: {e}")))?;
    let told = rheos::torture::torture(&options, &|life| command(args, &program, life), &mut |text| eprintln!("{text}"));
    // What holds proof stays.
    let is_kept = args.keep.is_some() || !matches!(&told, Ok(report) if report.held());
    if is_kept {
        eprintln!("outputs, snapshots and what each life said are in '{}'", options.dir.display());
    } else {
        drop(std::fs::remove_dir_all(&options.dir));
    }
    let report = told.map_err(Failure::of_start)?;
    write_out(&report.to_string())?;
    if report.held() { Ok(()) } else { Err(Failure::Told) }
}

/// What the script's one job writes.
pub(crate) fn rows_of(args: &ScriptArgs) -> Result<Rows, Failure> {
    if args.files.iter().any(|file| file == Path::new("-")) {
        return Err(Failure::wrong("torture runs the script more than once: it cannot come from standard input"));
    }
    let scripts = Script::read_all(args)?;
    let settings = Settings::collect(args)?;
    let (mut session, statements) = prepare::begin(&scripts, &settings)?;
    session.redirect_sinks(PathBuf::from("torture"));
    let job = only_job(&mut session, &statements, &settings)?;
    if !job.bounded {
        return Err(Failure::wrong(
            "the job never ends, so that its output cannot be compared: limit its sources ('events.num', 'number-of-rows')",
        ));
    }
    Ok(match job.redirected {
        Some(info) if !info.changelog.is_insert_only() => Rows::Changes { key: info.upsert_key },
        _ => Rows::Added,
    })
}

fn only_job(session: &mut Session, statements: &[(&Script, rheos::Parsed)], settings: &Settings) -> Result<Job, Failure> {
    let display = Display { output: OutputKind::Changelog, terminal: false };
    let steps = prepare::steps(session, statements, settings, display)?;
    let mut jobs: Vec<Job> = Vec::new();
    for (_, step) in steps {
        match step {
            Step::Insert(job) => jobs.push(job),
            Step::Later => {
                return Err(Failure::wrong("torture takes a script with exactly one INSERT or query; one here reads what another writes"));
            }
            Step::Query { .. } | Step::Text(_) | Step::Table { .. } => {}
        }
    }
    let count = jobs.len();
    match jobs.pop() {
        Some(job) if count == 1 => Ok(job),
        _ => Err(Failure::wrong(format!("torture takes a script with exactly one INSERT or query; here are {count}"))),
    }
}

/// The process of a life.
fn command(args: &TortureArgs, program: &Path, life: &Life<'_>) -> Command {
    let mut command = Command::new(program);
    command.arg("run").args(&args.script.files).arg("--sink-to").arg(life.output);
    command.args(args.script.execute.iter().flat_map(|sql| ["-e", sql]));
    command.args(args.script.variables.iter().flat_map(|(name, value)| ["--var".into(), format!("{name}={value}")]));
    if let Some(parallelism) = &args.script.parallelism {
        command.arg("--parallelism").arg(parallelism);
    }
    let recovery = match args.recovery {
        RecoveryKind::Precise => "precise",
        RecoveryKind::Rollback => "rollback",
        RecoveryKind::Gap => "gap",
    };
    if let Some(snapshots) = life.snapshots {
        command.arg("--checkpoint-dir").arg(snapshots).arg("--checkpoint-interval").arg(&args.interval);
        for (key, value) in RESTARTS.into_iter().chain([("rheos.recovery", recovery)]) {
            command.arg("--set").arg(format!("{key}={value}"));
        }
    }
    if life.snapshots.is_none() {
        // Whatever rheos.toml or the environment say.
        command.args(["--set", "execution.checkpointing.dir="]);
    }
    if life.restore {
        command.arg("--restore");
    }
    if let Some(faults) = life.faults {
        command.arg("--storage-faults").arg(faults);
    }
    command.args(args.script.set.iter().flat_map(|(key, value)| ["--set".into(), format!("{key}={value}")]));
    command
}
