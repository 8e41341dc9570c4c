//! One script under torture: the run without faults, the cluster, the submitted job, and both outputs compared.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rheos::Recovery;
use rheos::torture::{Output, compare};
use rheos_core::env::system_monotonic_ns;

use super::cluster::{Cluster, ClusterOptions, make_folder};
use super::fault::Fault;
use super::moment::count;
use super::network::Network;
use super::process::Process;
use super::report::Report;
use super::scripts::{Trial, arguments};
use super::story::Story;
use super::torment::{Torment, TormentOptions};
use super::watch::Watch;
use crate::args::ClusterTortureArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::torture::rows_of;

/// Settings of the tortured job: it starts again soon, as often as it must, and a snapshot that gets nowhere is given up.
const SETTINGS: [(&str, &str); 5] = [
    ("restart-strategy.type", "fixed-delay"),
    ("restart-strategy.fixed-delay.attempts", "1000000"),
    ("restart-strategy.fixed-delay.delay", "100 ms"),
    ("execution.checkpointing.tolerable-failed-checkpoints", "1000000"),
    ("execution.checkpointing.timeout", "20 s"),
];

/// How scripts are tortured.
pub(super) struct Setup<'a> {
    /// The command line.
    pub(super) args: &'a ClusterTortureArgs,
    /// From which the faults follow.
    pub(super) seed: u64,
    /// The folder of this script.
    pub(super) dir: &'a Path,
    /// From one snapshot to the next.
    pub(super) interval_ms: u64,
    /// How long the job may take to finish after the last fault.
    pub(super) limit_ms: u64,
    /// After which silence a worker counts as dead.
    pub(super) timeout_ms: u64,
    /// Ends all when somebody asks.
    pub(super) interrupt: &'a Interrupt,
}

/// Tortures one script.
pub(super) fn torture(setup: &Setup<'_>, trial: Trial, network: Option<Network>, faults: Vec<Fault>) -> Result<Report, Failure> {
    let [reference, output, jobs, logs] = ["reference", "output", "coordinator", "logs"].map(|name| setup.dir.join(name));
    let mut script = trial.script.clone();
    script.variables.insert(0, ("PACED".into(), "true".into()));
    let rows = rows_of(&script)?;
    [&reference, &output, &jobs, &logs].into_iter().try_for_each(|folder| make_folder(folder))?;
    let program = match &setup.args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(|e| Failure::wrong(format!("where this program lies cannot be found: {e}")))?,
    };
    let mut story = Story::new(&logs.join("torture.log"))?;
    story.tell(&format!("{}: running in one process, without faults", trial.name));
    let run = Reference { program: &program, output: &reference, log: logs.join("reference.log") };
    let reference_ms = run.run(&trial, setup.interrupt)?;
    let expected = Output::read(&reference, &rows).map_err(Failure::of_start)?;
    story.tell(&format!("{} rows; starting a coordinator and {} workers", expected.changes.len(), setup.args.workers));

    let options = ClusterOptions {
        program: program.clone(),
        workers: setup.args.workers,
        slots: setup.args.slots.unwrap_or_else(|| slots(&trial, setup.args.workers)),
        heartbeat_timeout: setup.args.heartbeat_timeout.clone(),
        dir: jobs.clone(),
        logs,
    };
    let mut cluster = Cluster::new(options, network)?;
    cluster.start(setup.interrupt)?;
    let coordinator = cluster.coordinator_address()?;
    let id = submit(&program, &coordinator.to_string(), &output, setup, &trial)
        .map_err(|why| Failure::wrong(format!("the job cannot be submitted: {why}\n{}", cluster.last_words())))?;
    story.tell(&format!("the job {id} is submitted"));
    let watch = Watch::begin(coordinator, id, output.clone());
    let watch = watch.map_err(|e| Failure::wrong(format!("no thread can be started: {e}")))?;
    let Setup { interval_ms, timeout_ms, limit_ms, interrupt, .. } = *setup;
    let options = TormentOptions { dir: &jobs, interval_ms, timeout_ms, limit_ms, interrupt };
    let outcome = Torment::new(options, &mut cluster, &mut story, faults).run(&watch)?;
    drop(watch);
    // A worker that was cut off may only now learn that its work is not wanted any more.
    let patience_ns = (setup.timeout_ms + 5_000) * 1_000_000;
    let ended_ns = system_monotonic_ns();
    while count(&output).1 > 0 && outcome.failure.is_none() && system_monotonic_ns() - ended_ns < patience_ns {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(cluster);
    let found = Output::read(&output, &rows).map_err(Failure::of_start)?;
    Ok(Report {
        name: trial.name,
        seed: setup.seed,
        comparison: compare(&expected, &found, &rows, Recovery::Precise),
        rows,
        reference_rows: expected.changes.len() as u64,
        reference_ms,
        cluster_rows: found.changes.len() as u64,
        hidden: found.hidden,
        outcome,
    })
}

/// As many for each worker that the job fits where one of them is missing.
fn slots(trial: &Trial, workers: usize) -> usize {
    let parallelism = trial.script.parallelism.as_ref().and_then(|text| text.parse().ok()).unwrap_or(super::PARALLELISM);
    parallelism.div_ceil(workers.saturating_sub(1).max(1))
}

/// The run without faults.
struct Reference<'a> {
    program: &'a Path,
    output: &'a Path,
    log: PathBuf,
}

impl Reference<'_> {
    /// Runs it to its end, and says how long it took.
    fn run(self, trial: &Trial, interrupt: &Interrupt) -> Result<u64, Failure> {
        let mut command = Command::new(self.program);
        command.arg("run").args(arguments(&trial.script, false)).arg("--sink-to").arg(self.output);
        // Whatever rheos.toml or the environment say.
        command.args(["--set", "execution.checkpointing.dir="]);
        let mut process = Process::new("reference".into(), self.log).with_environment();
        let began_ns = system_monotonic_ns();
        process.start(command)?;
        loop {
            match process.ended() {
                Some(status) if status.success() => return Ok((system_monotonic_ns() - began_ns) / 1_000_000),
                Some(_) => return Err(Failure::wrong(format!("the job fails without torture:\n{}", process.last_words(5)))),
                None if interrupt.is_requested() => return Err(Failure::Interrupted),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

/// Submits the job, and gives its id.
fn submit(program: &Path, target: &str, output: &Path, setup: &Setup<'_>, trial: &Trial) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("submit").args(["--target", target]).arg("--sink-to").arg(output);
    let interval = ("execution.checkpointing.interval", setup.args.interval.as_str());
    for (key, value) in SETTINGS.into_iter().chain([interval]) {
        command.arg("--set").arg(format!("{key}={value}"));
    }
    // What the command line sets comes later, and is stronger.
    command.args(arguments(&trial.script, true));
    let told = command.output().map_err(|e| e.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    match out.lines().last().map(str::trim) {
        Some(id) if told.status.success() && !id.is_empty() => Ok(id.to_string()),
        _ => Err(format!("{}: {}{}", told.status, out, err.trim())),
    }
}
