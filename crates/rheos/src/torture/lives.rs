//! The run without failure, and the lives of the tortured job.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rheos_core::env::{Random, SplitMix64};
use rheos_core::{Error, Result};

use super::compare::compare;
use super::life::{Life, live};
use super::output::{Output, Rows};
use super::report::Report;
use super::witness::Witnessed;
use crate::Recovery;

/// The shortest time after which a life that does not end counts as hanging.
const HANGING_MS: u64 = 120_000;
/// How much longer the next lives get after one that made no snapshot.
const STRETCH: f64 = 1.3;

/// How a job is tortured.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often its process is killed, if it lives long enough.
    pub kills: u64,
    /// From which moments of death and faults follow, as far as the machine lets them.
    pub seed: u64,
    /// What the job promises.
    pub recovery: Recovery,
    /// Whether storage and commits fail too.
    pub faults: bool,
    /// What the job writes.
    pub rows: Rows,
    /// An empty folder, or one to be made: outputs, snapshots, and what each life said.
    pub dir: PathBuf,
}

/// Runs a job once without failure and then under torture, until it has finished, and compares. `command` makes the process of a life:
/// a job with a [`super::Witness`] that restarts after failures of storage. `tell` is told how it goes.
pub fn torture(options: &Options, command: &dyn Fn(&Life<'_>) -> Command, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    let dir = std::path::absolute(&options.dir)?;
    if dir.exists() && fs::read_dir(&dir)?.next().is_some() {
        return Err(Error::config(format!("'{}' is not empty: torture needs a folder of its own", dir.display())));
    }
    let [reference, output, snapshots, logs] = ["reference", "output", "snapshots", "lives"].map(|name| dir.join(name));
    for folder in [&reference, &output, &logs] {
        fs::create_dir_all(folder)?;
    }
    tell("running without failure");
    let log = logs.join("reference.log");
    let undisturbed = Life { output: &reference, snapshots: None, restore: false, faults: None };
    let ended = live(command(&undisturbed), &log, u64::MAX)?;
    if !ended.status.is_some_and(|status| status.success()) {
        return Err(Error::config(format!("the job fails without torture: {}", last_words(&log))));
    }
    let reference = Output::read(&reference, &options.rows)?;
    tell(&format!("{} rows in {}", reference.changes.len(), seconds(ended.ms)));

    let mut lives = Lives::new(options, ended.ms);
    let failure = lives.all(&Folders { output: &output, snapshots: &snapshots, logs: &logs }, command, tell)?;
    let tortured = Output::read(&output, &options.rows)?;
    Ok(Report {
        options: options.clone(),
        comparison: compare(&reference, &tortured, &options.rows, options.recovery),
        reference_rows: reference.changes.len() as u64,
        rows: tortured.changes.len() as u64,
        reference_ms: ended.ms,
        ms: lives.ms,
        kills: lives.kills,
        restarts: lives.witnessed.restarts,
        snapshots: lives.witnessed.snapshots,
        failed_snapshots: lives.witnessed.failed_snapshots,
        hidden: tortured.hidden,
        failure,
    })
}

struct Folders<'a> {
    output: &'a Path,
    snapshots: &'a Path,
    logs: &'a Path,
}

struct Lives<'a> {
    options: &'a Options,
    random: SplitMix64,
    /// The run without failure took so long.
    reference_ms: u64,
    /// How much longer than their share lives are.
    stretch: f64,
    kills: u64,
    ms: u64,
    witnessed: Witnessed,
}

impl Lives<'_> {
    fn new(options: &Options, reference_ms: u64) -> Lives<'_> {
        let random = SplitMix64::new(options.seed);
        Lives { options, random, reference_ms, stretch: 1.0, kills: 0, ms: 0, witnessed: Witnessed::default() }
    }

    /// One life after the other until the job has finished. The text says why it has not.
    fn all(&mut self, folders: &Folders<'_>, command: &dyn Fn(&Life<'_>) -> Command, tell: &mut dyn FnMut(&str)) -> Result<Option<String>> {
        for number in 1.. {
            let faults = self.options.faults.then(|| self.faults());
            let life = Life { output: folders.output, snapshots: Some(folders.snapshots), restore: number > 1, faults: faults.as_deref() };
            let log = folders.logs.join(format!("{number:04}.log"));
            let killed_after_ms = (self.kills < self.options.kills).then(|| self.next_life_ms());
            let limit_ms = killed_after_ms.unwrap_or_else(|| HANGING_MS.max(self.reference_ms.saturating_mul(5)));
            let ended = live(command(&life), &log, limit_ms)?;
            let witnessed = Witnessed::of(&String::from_utf8_lossy(&fs::read(&log)?));
            self.ms += ended.ms;
            self.witnessed.add(witnessed);
            match ended.status {
                Some(status) if status.success() => return Ok(None),
                Some(status) => return Ok(Some(format!("life {number} ended by itself, {status}: {}", last_words(&log)))),
                None if killed_after_ms.is_none() => {
                    return Ok(Some(format!("life {number} did not end within {}: {}", seconds(limit_ms), last_words(&log))));
                }
                None => {}
            }
            self.kills += 1;
            // A life without a snapshot brings the job no further: it would never end.
            self.stretch = if witnessed.snapshots == 0 { self.stretch * STRETCH } else { 1.0 };
            let (kills, wanted, snapshots) = (self.kills, self.options.kills, witnessed.snapshots);
            tell(&format!("kill {kills} of {wanted} after {}, {snapshots} snapshots", seconds(ended.ms)));
        }
        Ok(None)
    }

    /// How long the next life is: at random, about its share of the time that the job would need without failure. One that reads in
    /// real time needs no more with failures; one that does not has less behind it than that time says.
    fn next_life_ms(&self) -> u64 {
        let left = (self.options.kills - self.kills + 1) as f64;
        let least = self.reference_ms as f64 / (self.options.kills + 1) as f64 / 3.0;
        let share = (self.reference_ms.saturating_sub(self.ms) as f64 / left).max(least);
        (2.0 * share * self.stretch * self.random.next_unit()).max(1.0) as u64
    }

    fn faults(&self) -> String {
        format!("seed={},fail=0.03,lost=0.03,slow=0.1:100ms", self.random.next_u64())
    }
}

/// The end of what a life said.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("torture:")).collect();
    match &lines[lines.len().saturating_sub(3)..] {
        [] => "it said nothing".into(),
        last => last.join("; "),
    }
}

pub(super) fn seconds(ms: u64) -> String {
    format!("{:.2} s", ms as f64 / 1000.0)
}
