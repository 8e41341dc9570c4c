//! An INSERT: watched until it ends, and summed up.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use rheos::Running;
use rheos_core::env::system_monotonic_ns;

use super::jobs::Stop;
use super::query::finished;
use crate::failure::Failure;
use crate::figures::{count, seconds};
use crate::live::FRAME;
use crate::progress::{Progress, Rates};

/// The longest time between two looks at the job.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Waits for the end of the job, with a status line on a terminal, and tells what was read and written.
pub(crate) fn watch(running: &Running, stop: &Stop<'_>) -> Result<(), Failure> {
    let started_ns = system_monotonic_ns();
    let mut status = io::stderr().is_terminal().then(StatusLine::default);
    let mut pause = Duration::from_millis(1);
    while !running.is_done() {
        if stop.ends(running) {
            break;
        }
        if let Some(status) = &mut status {
            status.refresh(running, started_ns);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    let end = running.wait();
    if let Some(status) = status {
        status.clear();
    }
    finished(end.map_err(Failure::Job)?)?;
    let elapsed_ns = system_monotonic_ns() - started_ns;
    eprintln!("{}", summary(&Progress::of(&running.metrics()), elapsed_ns));
    Ok(())
}

/// `1,000 rows read, 20 written in 0.31 s; 3 late rows dropped`.
fn summary(progress: &Progress, elapsed_ns: u64) -> String {
    let mut text = format!("{} read, {} written in {}", count(progress.rows_in, "row"), count(progress.rows_out, ""), seconds(elapsed_ns));
    if progress.late_rows > 0 {
        text.push_str(&format!("; {} dropped", count(progress.late_rows, "late row")));
    }
    if progress.bad_records > 0 {
        text.push_str(&format!("; {} skipped", count(progress.bad_records, "bad record")));
    }
    text
}

/// A line on standard error that is written over.
#[derive(Default)]
struct StatusLine {
    rates: Rates,
    next_ns: u64,
    width: usize,
}

impl StatusLine {
    fn refresh(&mut self, running: &Running, started_ns: u64) {
        let now = system_monotonic_ns();
        // Nothing is shown of a job that is done before it could be read.
        let first = self.next_ns.max(started_ns + 2 * FRAME.as_nanos() as u64);
        if now < first {
            return;
        }
        self.next_ns = now + FRAME.as_nanos() as u64;
        let progress = Progress::of(&running.metrics());
        let rates = self.rates.update(&progress, now);
        let line = progress.status(rates, now - started_ns);
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        let line: String = line.chars().take(columns.saturating_sub(1)).collect();
        self.width = line.chars().count();
        // A status line that cannot be written is not missed.
        drop(write!(io::stderr(), "\r{line}\x1b[K"));
    }

    fn clear(self) {
        if self.width > 0 {
            drop(write!(io::stderr(), "\r\x1b[K"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_or_skipped_is_told_only_where_it_happened() {
        let mut progress = Progress { rows_in: 1234, rows_out: 1, ..Progress::default() };
        assert_eq!(summary(&progress, 310_000_000), "1,234 rows read, 1 written in 0.31 s");
        progress.late_rows = 1;
        progress.bad_records = 2;
        assert_eq!(summary(&progress, 310_000_000), "1,234 rows read, 1 written in 0.31 s; 1 late row dropped; 2 bad records skipped");
    }
}
