//! `rheos bench`: measurements that anybody can repeat.

mod measure;
mod overhead;
mod process_time;
pub(crate) mod queries;
mod report;
mod snapshots;

use std::io::{self, IsTerminal, Write};

use rheos::StartOptions;

use crate::args::NexmarkArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::write_out;
use crate::settings::Settings;
pub(crate) use snapshots::snapshots;

/// Carries `rheos bench nexmark` out.
pub(crate) fn nexmark(args: &NexmarkArgs) -> Result<(), Failure> {
    let chosen = queries::choose(&args.queries)?;
    if args.events == 0 {
        return Err(Failure::wrong("--events is 0, so that there is nothing to measure"));
    }
    if cfg!(debug_assertions) {
        eprintln!("note: this is a debug build; its figures say little (cargo build --release)");
    }
    let settings = Settings::of_flags(&args.set, Some(&args.parallelism));
    let mut file = match &args.output {
        None => None,
        Some(path) => {
            let created =
                std::fs::File::create(path).map_err(|e| Failure::wrong(format!("'{}' cannot be written: {e}", path.display())))?;
            Some((path, created))
        }
    };
    let interrupt = Interrupt::default();
    interrupt.listen();
    if let Some(dir) = &args.checkpoint_dir {
        return overhead::measure(&chosen, args, dir, &settings, &interrupt);
    }
    let mut rows = Vec::new();
    let mut details = String::new();
    for query in chosen {
        if io::stderr().is_terminal() {
            eprint!("\r{} ...\x1b[K", query.name);
        }
        let outcome = measure::measure(query, args.events, &settings, StartOptions::default(), &interrupt)?;
        rows.push(report::row(query.name, &outcome));
        if let (true, Ok(measured)) = (args.operators, &outcome) {
            details.push_str(&format!("\n{}\n{}\n", measured.query, report::operators(&measured.metrics)));
        }
        if let Some((path, file)) = &mut file {
            let line = report::json_line(query.name, &outcome);
            file.write_all(line.as_bytes()).map_err(|e| Failure::wrong(format!("'{}' cannot be written: {e}", path.display())))?;
        }
    }
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    write_out(&format!("{}\n{details}", report::queries(&rows)))
}
