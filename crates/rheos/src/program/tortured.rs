//! A program under torture: its lives are itself.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rheos_core::env::{system_monotonic_ns, system_now_ms};
use rheos_core::{Error, Result};

use super::arguments::{Line, unknown};
use super::{Arguments, Program};
use crate::Recovery;
use crate::checkpointing::{INTERVAL, RECOVERY};
use crate::torture::{Life, Options, RESTARTS, torture as torture_job};

/// The arguments behind the program's name with which a life of the job is run.
pub fn arguments_of(life: &Life<'_>, arguments: &Arguments) -> Vec<String> {
    let mut line: Vec<String> = ["run", "--tortured", "--output"].map(String::from).to_vec();
    line.push(life.output.display().to_string());
    let mut add = |flag: &str, value: String| line.extend([flag.to_string(), value]);
    add("-p", arguments.parallelism.to_string());
    arguments.variables.iter().for_each(|(name, value)| add("--var", format!("{name}={value}")));
    if let Some(snapshots) = life.snapshots {
        add("--checkpoint-dir", snapshots.display().to_string());
        RESTARTS.iter().for_each(|(key, value)| add("--set", format!("{key}={value}")));
    }
    arguments.settings.iter().for_each(|(key, value)| add("--set", format!("{key}={value}")));
    if let Some(faults) = life.faults {
        add("--storage-faults", faults.into());
    }
    if life.restore {
        add("--restore", "latest".into());
    }
    line
}

/// Carries `torture` out; whether the job has kept its promise.
pub(super) fn torture(program: &Program, line: &[String], command: &dyn Fn(&[String]) -> Command) -> Result<bool> {
    let random = system_now_ms().unsigned_abs() ^ system_monotonic_ns() ^ u64::from(std::process::id());
    let (mut options, interval, kept, mut arguments) = parse(program, line, random % 1_000_000)?;
    let recovery = match options.recovery {
        Recovery::Precise => "precise",
        Recovery::Rollback => "rollback",
        Recovery::Gap => "gap",
    };
    // Weaker than what was given.
    arguments.settings.splice(..0, [(INTERVAL.to_string(), interval), (RECOVERY.to_string(), recovery.to_string())]);
    let is_kept = kept.is_some();
    options.dir = kept.unwrap_or_else(|| std::env::temp_dir().join(format!("rheos-torture-{}-{random:x}", std::process::id())));
    if !program.job(&Arguments { output: options.dir.clone(), ..arguments.clone() })?.bounded {
        return Err(Error::config("the job never ends, so that its output cannot be compared: limit its sources"));
    }
    let told = torture_job(&options, &|life| command(&arguments_of(life, &arguments)), &mut |text| eprintln!("{text}"));
    // What holds proof stays.
    if is_kept || !matches!(&told, Ok(report) if report.held()) {
        eprintln!("outputs, snapshots and what each life said are in '{}'", options.dir.display());
    } else {
        drop(std::fs::remove_dir_all(&options.dir));
    }
    let report = told?;
    std::io::stdout().write_all(report.to_string().as_bytes())?;
    Ok(report.held())
}

fn parse(program: &Program, line: &[String], seed: u64) -> Result<(Options, String, Option<PathBuf>, Arguments)> {
    let (recovery, rows, dir) = (Recovery::Precise, program.rows.clone(), PathBuf::new());
    let mut options = Options { kills: 20, seed, recovery, faults: true, rows, dir };
    let mut arguments = Arguments { parallelism: 1, ..Arguments::default() };
    let (mut interval, mut kept) = ("200ms".to_string(), None);
    let mut line = Line::new(line);
    let number =
        |flag: &str, text: String| text.parse().map_err(|_| Error::config(format!("{flag} is '{text}', which is no whole number")));
    while let Some(flag) = line.next() {
        match flag {
            "--kills" => options.kills = number(flag, line.value(flag)?)?,
            "--seed" => options.seed = number(flag, line.value(flag)?)?,
            "--interval" => interval = line.value(flag)?,
            "--no-faults" => options.faults = false,
            "--keep" => kept = Some(line.value(flag)?.into()),
            "--recovery" => {
                options.recovery = match line.value(flag)?.as_str() {
                    "precise" => Recovery::Precise,
                    "rollback" => Recovery::Rollback,
                    "gap" => Recovery::Gap,
                    other => return Err(Error::config(format!("{flag} is '{other}'; it can be precise, rollback or gap"))),
                };
            }
            _ if arguments.takes_common(flag, &mut line)? => {}
            _ => return Err(unknown(flag)),
        }
    }
    Ok((options, interval, kept, arguments))
}
