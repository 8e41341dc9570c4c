//! `simulate`: plays schedules and reports the first that breaks a promise.

use anyhow::{Result, bail};
use clap::Parser;
use rheos_sim::{Plan, run};

/// Plays schedules of a simulated cluster.
#[derive(Parser)]
struct Arguments {
    /// How many schedules.
    #[arg(long, default_value_t = 1)]
    schedules: u64,
    /// The seed of the first; each next one is one higher.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write down what happens.
    #[arg(long)]
    verbose: bool,
}

#[allow(clippy::print_stdout)] // a command that prints
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let (mut checkpoints, mut overtaking, mut attempts, mut alone, mut coordinators, mut fenced) = (0, 0, 0, 0, 0, 0);
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.schedules) {
        let mut plan = Plan::new(seed);
        plan.verbose = arguments.verbose;
        let report = run(&plan);
        if arguments.verbose {
            report.trace.iter().for_each(|line| println!("{line}"));
        }
        if let Some(violation) = report.violation {
            bail!("seed {seed}: {violation}\nsimulate --seed {seed} --verbose shows how");
        }
        checkpoints += report.checkpoints;
        overtaking += report.overtaking;
        attempts += report.attempts;
        alone += report.alone;
        coordinators += report.coordinators;
        fenced += report.fenced;
    }
    let (schedules, seed) = (arguments.schedules, arguments.seed);
    println!("{schedules} schedules from seed {seed}: no promise broken");
    println!(
        "{checkpoints} snapshots ({overtaking} with rows overtaken), {attempts} attempts, {alone} regions restarted alone, {coordinators} coordinators, {fenced} fenced"
    );
    Ok(())
}
