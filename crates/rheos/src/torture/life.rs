//! One life of a tortured job: a process that ends by itself or is killed.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rheos_core::env::system_monotonic_ns;
use rheos_core::{Error, Result};

/// How often a process is looked at.
const PAUSE: Duration = Duration::from_millis(2);

/// What the process of one life is to do.
#[derive(Debug, Clone, Copy)]
pub struct Life<'a> {
    /// The folder that its rows go to.
    pub output: &'a Path,
    /// The folder of snapshots; `None` for the run without failure, which takes none.
    pub snapshots: Option<&'a Path>,
    /// Whether it goes on from the latest snapshot, or from the beginning where there is none.
    pub restore: bool,
    /// The faults of its storage and of its commits, as [`crate::StartOptions::faults`] has them.
    pub faults: Option<&'a str>,
}

/// How a life has ended.
pub(super) struct Ended {
    /// `None` if it was killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) ms: u64,
}

/// Runs a process until it ends, or for at most so long. What it says on standard error goes to `log`.
pub(super) fn live(mut command: Command, log: &Path, at_most_ms: u64) -> Result<Ended> {
    let failed = |what: &str, e: std::io::Error| Error::restart(format!("{what}: {e}")).caused_by(e);
    let said = File::create(log).map_err(|e| failed(&format!("cannot write '{}'", log.display()), e))?;
    let started_ns = system_monotonic_ns();
    let elapsed_ms = || (system_monotonic_ns() - started_ns) / 1_000_000;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .map_err(|e| failed(&format!("cannot start '{}'", command.get_program().display()), e))?;
    loop {
        if let Some(status) = child.try_wait().map_err(|e| failed("cannot wait for a process", e))? {
            return Ok(Ended { status: Some(status), ms: elapsed_ms() });
        }
        if elapsed_ms() >= at_most_ms {
            // Ended by itself this very moment: then that counts.
            child.kill().map_err(|e| failed("cannot kill a process", e))?;
            let status = child.wait().map_err(|e| failed("cannot wait for a process", e))?;
            return Ok(Ended { status: status.code().map(|_| status), ms: elapsed_ms() });
        }
        std::thread::sleep(PAUSE);
    }
}
