//! `rheos torture-cluster`: a cluster of processes, on hosts of their own, that are killed, stopped and cut apart while a job runs; then
//! its output is compared with that of a run in one process without faults.
//!
//! 1. [`fault`] and [`mod@schedule`] say what befalls the cluster when: from a seed, and nothing else.
//! 2. [`machine`] finds out what can be done here; [`network`] makes hosts and cuts links, [`process`] kills and stops.
//! 3. [`cluster`] is a coordinator and its workers; [`rest`] and [`watch`] see how the job is, [`moment`] what is on storage.
//! 4. [`torment`] carries the schedule out, each fault as a [`strike`]; [`recovery`] takes the times.
//! 5. [`trial`] does all of this for one script; [`report`] tells what came of it.

mod cluster;
mod fault;
mod host;
mod machine;
mod moment;
mod network;
mod nexmark;
mod outcome;
mod process;
mod recovery;
mod report;
mod rest;
mod schedule;
mod scripts;
mod story;
mod strike;
mod torment;
mod trial;
mod watch;

use std::path::Path;

use rheos_core::connector::parse_duration_ms;
use rheos_core::env::{system_monotonic_ns, system_now_ms};

use self::schedule::{Plan, length_ms, schedule};
use self::trial::{Setup, torture};
use crate::args::ClusterTortureArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::write_out;

/// How many subtasks an operator runs as, if the command line does not say.
const PARALLELISM: usize = 3;
/// How much longer than the schedule the input lasts.
const MARGIN_MS: u64 = 5_000;

/// Carries the command out.
pub(crate) fn torture_cluster(args: &ClusterTortureArgs) -> Result<(), Failure> {
    let random = system_now_ms().unsigned_abs() ^ system_monotonic_ns() ^ u64::from(std::process::id());
    let seed = args.seed.unwrap_or(random % 1_000_000);
    let temporary = std::env::temp_dir().join(format!("rheos-torture-cluster-{}-{random:x}", std::process::id()));
    let dir = std::path::absolute(args.keep.as_ref().unwrap_or(&temporary)).map_err(|e| Failure::wrong(format!("--keep: {e}")))?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::wrong(format!("'{}' is not empty: torture needs a folder of its own", dir.display())));
    }
    cluster::make_folder(&dir)?;
    let interrupt = Interrupt::default();
    interrupt.listen();
    let told = all(args, seed, &dir, &interrupt);
    // What failed before anything ran has left nothing to see; a folder with something in it stays.
    let is_empty = std::fs::remove_dir(&dir).is_ok();
    if args.keep.is_none() && matches!(told, Ok(true) | Err(Failure::Interrupted)) {
        drop(std::fs::remove_dir_all(&dir));
    } else if !is_empty {
        eprintln!("outputs, snapshots and the logs of all processes are in '{}'", dir.display());
    }
    if told? { Ok(()) } else { Err(Failure::Told) }
}

/// One script after the other, each on a cluster of its own. Whether all held.
fn all(args: &ClusterTortureArgs, seed: u64, dir: &Path, interrupt: &Interrupt) -> Result<bool, Failure> {
    let duration = |flag: &str, text: &str| match parse_duration_ms(text) {
        Ok(ms) if ms > 0 => Ok(ms),
        Ok(_) => Err(Failure::wrong(format!("{flag} is 0"))),
        Err(e) => Err(Failure::wrong(format!("{flag}: {e}"))),
    };
    let timeout_ms = duration("--heartbeat-timeout", &args.heartbeat_timeout)?;
    let interval_ms = duration("--interval", &args.interval)?;
    let limit_ms = duration("--time-limit", &args.time_limit)?;
    let Some(workers) = (1..=200).find(|workers| *workers == args.workers) else {
        return Err(Failure::wrong(format!("--workers is {}; there can be 1 to 200", args.workers)));
    };
    // What can be done is known only with a network; it is laid out anew for each script.
    let machine = machine::prepare(args.namespaces, workers)?;
    machine.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let faults = schedule(&Plan { seed, faults: args.faults, workers, timeout_ms, kinds: machine.kinds });
    drop(machine.network);
    let trials = scripts::trials(args, dir, length_ms(&faults) + MARGIN_MS)?;
    let (mut held, count) = (true, trials.len());
    for (number, trial) in trials.into_iter().enumerate() {
        let dir = if count == 1 { dir.to_path_buf() } else { dir.join((number + 1).to_string()) };
        let network = machine::prepare(args.namespaces, workers)?.network;
        let setup = Setup { args, seed, dir: &dir, interval_ms, limit_ms, timeout_ms, interrupt };
        let report = torture(&setup, trial, network, faults.clone())?;
        held &= report.held();
        write_out(&format!("{}{report}", if number > 0 { "\n" } else { "" }))?;
    }
    Ok(held)
}
