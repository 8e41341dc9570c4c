//! What happens when, told on standard error and kept in a file.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rheos_core::env::system_monotonic_ns;

use crate::failure::Failure;

/// The clock of a torture, and its log.
pub(super) struct Story {
    log: File,
    began_ns: u64,
}

impl Story {
    /// A story that is kept in this file.
    pub(super) fn new(log: &Path) -> Result<Story, Failure> {
        let log = File::create(log).map_err(|e| Failure::wrong(format!("'{}' cannot be written: {e}", log.display())))?;
        Ok(Story { log, began_ns: system_monotonic_ns() })
    }

    /// From now on time counts from now.
    pub(super) fn begin(&mut self) {
        self.began_ns = system_monotonic_ns();
    }

    /// The time since.
    pub(super) fn now_ms(&self) -> u64 {
        self.ms_of(system_monotonic_ns())
    }

    /// A time of the monotonic clock, as time since.
    pub(super) fn ms_of(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.began_ns) / 1_000_000
    }

    /// Tells something.
    pub(super) fn tell(&mut self, text: &str) {
        let line = format!("{:8.2} s  {text}\n", self.now_ms() as f64 / 1000.0);
        eprint!("{line}");
        // What happens matters more than that it can be written down.
        drop(self.log.write_all(line.as_bytes()));
    }
}
