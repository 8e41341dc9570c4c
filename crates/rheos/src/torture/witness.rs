//! What a life says on standard error, for whoever has started it.

use std::io::{self, Write};

use rheos_coordinator::{Note, Observer};

/// Says a line for each thing that happens to a job.
pub struct Witness;

impl Observer for Witness {
    fn note(&self, note: Note) {
        let text = match note {
            Note::Running { from: Some(epoch) } => format!("{RUNNING} from epoch {epoch}"),
            Note::Running { from: None } => format!("{RUNNING} from the beginning"),
            Note::CheckpointDone { epoch, .. } => format!("{SNAPSHOT} {epoch}"),
            Note::CheckpointFailed { epoch, reason } => format!("{FAILED_SNAPSHOT} {epoch}: {reason}"),
            Note::Restarting { reason, .. } => format!("{RESTARTING}: {reason}"),
        };
        // One write: a line that is cut short counts for nothing.
        drop(io::stderr().write_all(format!("{text}\n").as_bytes()));
    }
}

const RUNNING: &str = "torture: running";
const SNAPSHOT: &str = "torture: snapshot";
const FAILED_SNAPSHOT: &str = "torture: failed snapshot";
const RESTARTING: &str = "torture: restarting";

/// What witnesses have said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Witnessed {
    pub(super) snapshots: u64,
    pub(super) failed_snapshots: u64,
    pub(super) restarts: u64,
}

impl Witnessed {
    /// Counts the whole lines.
    pub(super) fn of(log: &str) -> Self {
        let mut witnessed = Witnessed::default();
        for line in log.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            if line.starts_with(SNAPSHOT) {
                witnessed.snapshots += 1;
            } else if line.starts_with(FAILED_SNAPSHOT) {
                witnessed.failed_snapshots += 1;
            } else if line.starts_with(RESTARTING) {
                witnessed.restarts += 1;
            }
        }
        witnessed
    }

    pub(super) fn add(&mut self, other: Witnessed) {
        self.snapshots += other.snapshots;
        self.failed_snapshots += other.failed_snapshots;
        self.restarts += other.restarts;
    }
}
