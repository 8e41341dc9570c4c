//! The jobs of a script, one after the other: each with its folder of snapshots, and told how it goes.

use std::io::{self, Write};
use std::sync::Arc;

use rheos::torture::Witness;
use rheos::{Note, Observer, Running, StartFrom, StartOptions};

use crate::args::SnapshotArgs;
use crate::interrupt::Interrupt;

/// What jobs have in common, and how many there were.
pub(crate) struct Jobs<'a> {
    pub(crate) args: &'a SnapshotArgs,
    /// Whether a torture has started this process and wants to be told how it goes.
    pub(crate) is_tortured: bool,
    pub(crate) started: usize,
}

impl Jobs<'_> {
    /// How the next job is started.
    pub(super) fn next_options(&mut self, is_live: bool) -> StartOptions {
        self.started += 1;
        let from = match self.args.restore.as_deref() {
            _ if self.args.fresh => StartFrom::Fresh,
            None => StartFrom::New,
            Some("latest") => StartFrom::Latest,
            Some(place) => StartFrom::Snapshot(place.to_string()),
        };
        let observer: Arc<dyn Observer> = if self.is_tortured { Arc::new(Witness) } else { Arc::new(Aloud) };
        StartOptions {
            folder: format!("job-{}", self.started),
            from,
            faults: self.args.storage_faults.clone(),
            // Nothing may come between the pictures of a live table.
            observer: (!is_live).then_some(observer),
        }
    }

    /// How a job is ended when somebody interrupts it.
    pub(super) fn stop<'a>(&self, interrupt: &'a Interrupt) -> Stop<'a> {
        Stop { interrupt, with_savepoint: self.args.savepoint_on_stop }
    }
}

/// Ends a job when somebody wants that.
pub(crate) struct Stop<'a> {
    interrupt: &'a Interrupt,
    with_savepoint: bool,
}

impl Stop<'_> {
    /// Sees to it that the job ends when that is asked for; whether it gives nothing more from now on. With a savepoint it still gives
    /// what belongs to that.
    pub(crate) fn ends(&self, running: &Running) -> bool {
        self.carry_out(running, |text| eprintln!("interrupted: {text}"))
    }

    /// The same where nothing may be written meanwhile.
    pub(crate) fn ends_silently(&self, running: &Running) -> bool {
        self.carry_out(running, |_| {})
    }

    fn carry_out(&self, running: &Running, tell: impl Fn(&str)) -> bool {
        if !self.interrupt.is_requested() {
            return false;
        }
        if self.interrupt.is_first_look() {
            let again = if self.interrupt.is_of_shell() { "" } else { " (once more to abort)" };
            match self.with_savepoint.then(|| running.stop_with_savepoint()) {
                None => {
                    tell(&format!("the job is ended{again}"));
                    running.cancel();
                }
                Some(Ok(())) => tell(&format!("a savepoint is taken{again}")),
                Some(Err(error)) => {
                    tell(&format!("no savepoint can be taken: {error}"));
                    running.cancel();
                }
            }
        }
        !self.with_savepoint
    }

    /// Who interrupts.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        self.interrupt
    }
}

/// Says on standard error what a user wants to know at once. Snapshots that go well are not told.
struct Aloud;

impl Observer for Aloud {
    fn note(&self, note: Note) {
        let text = match note {
            Note::Running { from: Some(epoch) } => format!("restored from the snapshot of epoch {epoch}"),
            Note::Running { from: None } | Note::CheckpointDone { .. } => return,
            Note::Restarting { reason, delay_ms, .. } => format!("restarting in {:.1} s: {reason}", delay_ms as f64 / 1000.0),
            Note::CheckpointFailed { epoch: 0, reason } => format!("warning: a snapshot failed: {reason}"),
            Note::CheckpointFailed { epoch, reason } => format!("warning: the snapshot of epoch {epoch} failed: {reason}"),
        };
        // Standard error that cannot be written is no reason to fail.
        drop(writeln!(io::stderr(), "{text}"));
    }
}
