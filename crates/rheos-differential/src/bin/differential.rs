//! Runs random queries: `differential --seed 1 --queries 20000 --cases crates/rheos-differential/cases`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

/// Random queries, answered by Rheos over changes and by DataFusion over what they leave.
#[derive(Parser)]
struct Args {
    /// The seed of the first query; the others follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many queries.
    #[arg(long, default_value_t = 1_000)]
    queries: u64,
    /// Shows the case of the seed, and runs nothing.
    #[arg(long)]
    show: bool,
    /// The folder that gets a file for each query whose answers differ.
    #[arg(long)]
    cases: Option<PathBuf>,
}

#[allow(clippy::print_stdout)] // what the command is for
fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if args.show {
        let (case, _) = rheos_differential::case::Case::random(args.seed);
        println!("{}", rheos_differential::file::write(&case, "", "")?);
        return Ok(ExitCode::SUCCESS);
    }
    let summary = rheos_differential::run::run(args.seed..args.seed.saturating_add(args.queries), |sql| sql)?;
    println!("{summary}");
    for (seed, text) in &summary.differ {
        if let Some(folder) = &args.cases {
            let path = folder.join(format!("{seed}.case"));
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
    }
    Ok(if summary.differ.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
