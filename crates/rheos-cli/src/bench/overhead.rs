//! What snapshots cost: queries run in turn without and with them.

use std::sync::{Arc, Mutex, PoisonError};

use rheos::{Note, Observer, StartFrom, StartOptions};

use super::measure::{Measured, measure as run};
use super::queries::Query;
use crate::args::NexmarkArgs;
use crate::failure::Failure;
use crate::figures::{count, table};
use crate::interrupt::Interrupt;
use crate::run::write_out;
use crate::settings::Settings;

/// How often each is measured; the median counts.
const ROUNDS: usize = 3;

/// The snapshots of a run.
#[derive(Default)]
struct Seen(Mutex<Vec<rheos::CheckpointStats>>);

impl Observer for Seen {
    fn note(&self, note: Note) {
        if let Note::CheckpointDone { stats, .. } = note {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(stats);
        }
    }
}

/// Measures, and shows the ratios.
pub(crate) fn measure(queries: &[Query], args: &NexmarkArgs, dir: &str, settings: &Settings, interrupt: &Interrupt) -> Result<(), Failure> {
    let with_snapshots = settings.clone().with("execution.checkpointing.dir", dir, "--checkpoint-dir").with(
        "execution.checkpointing.interval",
        &args.checkpoint_interval,
        "--checkpoint-interval",
    );
    let mut rows = Vec::new();
    for query in queries {
        let (mut without, mut with, mut snapshots) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let refused = |e: rheos::SqlError| Failure::wrong(format!("{}: {e}", query.name));
            without.push(run(*query, args.events, settings, StartOptions::default(), interrupt)?.map_err(refused)?);
            let seen = Arc::<Seen>::default();
            let options = StartOptions {
                folder: query.name.to_string(),
                from: StartFrom::Fresh,
                observer: Some(Arc::clone(&seen) as Arc<dyn Observer>),
                ..StartOptions::default()
            };
            with.push(run(*query, args.events, &with_snapshots, options, interrupt)?.map_err(refused)?);
            snapshots.append(&mut seen.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let seconds = |runs: &[Measured]| median(runs.iter().map(|m| m.wall_ns as f64 / 1e9).collect());
        let processor = |runs: &[Measured]| median(runs.iter().map(|m| m.cpu_ns.unwrap_or(0) as f64 / 1e9).collect());
        let largest = snapshots.iter().map(|s| s.bytes).max().unwrap_or(0);
        let written = snapshots.iter().map(|s| s.new_bytes).sum::<u64>() / ROUNDS as u64;
        rows.push(vec![
            query.name.to_string(),
            count(args.events, ""),
            format!("{:.2}", seconds(&without)),
            format!("{:.2}", seconds(&with)),
            format!("{:.3}", seconds(&with) / seconds(&without)),
            format!("{:.3}", processor(&with) / processor(&without)),
            format!("{:.1}", snapshots.len() as f64 / ROUNDS as f64),
            format!("{:.1}", largest as f64 / 1e6),
            format!("{:.1}", written as f64 / 1e6),
        ]);
    }
    let header = ["query", "events", "s without", "s with", "time ratio", "cpu ratio", "snapshots", "state MB", "written MB"];
    write_out(&format!("{}\n", table(&header.map(String::from), &rows)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
