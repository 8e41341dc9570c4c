//! The command `rheos`: arguments and configuration in, rows and their story out.
//!
//! 1. [`args`] says what can be asked for, [`settings`] where settings come from, [`script`] which SQL is meant.
//! 2. [`prepare`] makes every statement into a step before the first job runs, so that a wrong one is told at once.
//! 3. [`run`] carries the steps out: rows go to standard output in one of the forms of [`run::form`], or into the live table
//!    of [`live`]; everything else goes to standard error.
//! 4. [`shell`] does both statement by statement, as they are typed.
//! 5. [`cluster`] has the processes of a cluster, and hands jobs to one.
//! 6. [`failure`] says how a command has ended, in words and as an exit code.
//!
//! It knows nothing of plans, operators or tasks beyond what [`rheos`] tells of them.

mod args;
mod bench;
mod checkpoints;
mod cluster;
mod cluster_torture;
mod explain;
mod failure;
mod figures;
mod help;
mod interrupt;
mod list;
mod live;
mod prepare;
mod progress;
mod run;
mod script;
mod settings;
mod shell;
mod torture;
mod variables;
mod waiting;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{BenchCommand, Cli, Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return failure::report_usage(&usage),
    };
    start_log();
    // Planning walks expressions recursively: a long chain of operators needs more stack than the first thread has. What is
    // not used is not taken from memory.
    let planner = std::thread::Builder::new().name("rheos".into()).stack_size(PLANNER_STACK_BYTES).spawn(move || carry_out(&cli));
    match planner.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(e) => {
            eprintln!("error: no thread can be started: {e}");
            ExitCode::from(2)
        }
    }
}

/// How much stack the thread has that plans and shows.
const PLANNER_STACK_BYTES: usize = 512 << 20;

fn carry_out(cli: &Cli) -> ExitCode {
    let outcome = match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Sql(args) => shell::sql(args),
        Command::Coordinator(args) => cluster::coordinator(args),
        Command::Worker(args) => cluster::worker(args),
        Command::Cluster(args) => cluster::cluster(args),
        Command::Submit(args) => cluster::submit(args),
        Command::Jobs(args) => cluster::jobs(args),
        Command::Job(command) => cluster::job(command),
        Command::Workers(args) => cluster::workers(args),
        Command::Explain(args) => explain::explain(args),
        Command::Torture(args) => torture::torture(args),
        Command::TortureCluster(args) => cluster_torture::torture_cluster(args),
        Command::Checkpoints(command) => checkpoints::checkpoints(command),
        Command::Bench(BenchCommand::Nexmark(args)) => bench::nexmark(args),
        Command::Bench(BenchCommand::Snapshots(args)) => bench::snapshots(args),
        Command::Connectors(args) => list::connectors(args),
        Command::Functions(args) => list::functions(args),
    };
    failure::report(outcome)
}

/// Warnings of the engine go to standard error; `RHEOS_LOG=debug` (or a filter such as `rheos_worker=trace`) shows more.
fn start_log() {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).without_time();
    // Somebody who embeds this command may have set a log up already.
    drop(match std::env::var("RHEOS_LOG") {
        Ok(filter) => log.with_env_filter(filter).try_init(),
        Err(_) => log.with_max_level(tracing_subscriber::filter::LevelFilter::WARN).try_init(),
    });
}
