//! What a subtask is told from outside while it runs, beside its input.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use rheos_core::element::{Barrier, Epoch};
use tokio::sync::mpsc;

/// How many commands wait at most. A subtask that is so far behind misses further ones: a snapshot of which it did not hear
/// times out, and what it prepared it offers again.
const WAITING_COMMANDS: usize = 64;

/// Something to be done between two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// To a source: puts a barrier in; gives no rows after it where `stop` says so.
    Trigger { barrier: Barrier, stop: bool },
    /// A snapshot is complete: what was prepared up to it need not be offered again.
    Completed(Epoch),
    /// A snapshot is given up.
    Aborted(Epoch),
}

/// Where the commands for one subtask are put.
#[derive(Debug, Clone)]
pub(crate) struct Controls(mpsc::Sender<Command>);

/// Where it finds them.
#[derive(Debug)]
pub(crate) struct Mailbox {
    commands: mpsc::Receiver<Command>,
    /// Those that were seen and not taken out.
    seen: VecDeque<Command>,
}

/// Both ends.
pub(crate) fn mailbox() -> (Controls, Mailbox) {
    let (sender, commands) = mpsc::channel(WAITING_COMMANDS);
    (Controls(sender), Mailbox { commands, seen: VecDeque::new() })
}

impl Controls {
    /// Gives a command to the subtask, if it still runs and is not far behind.
    pub(crate) fn tell(&self, command: Command) {
        if let Err(refused) = self.0.try_send(command) {
            tracing::debug!(?command, %refused, "a subtask missed a command");
        }
    }
}

impl Mailbox {
    /// Takes out the next command, if there is one now.
    pub(crate) fn take(&mut self) -> Option<Command> {
        self.seen.pop_front().or_else(|| self.commands.try_recv().ok())
    }

    /// Waits until there is a command, which stays; for ever where none comes.
    pub(crate) fn poll_any(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.seen.is_empty() || self.poll_new(context).is_ready() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Waits for a command that has not been seen; it stays.
    pub(crate) fn poll_new(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.commands.poll_recv(context) {
            Poll::Ready(Some(command)) => {
                self.seen.push_back(command);
                Poll::Ready(())
            }
            // Nobody can tell anything any more: there is nothing to wait for.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// The barrier that is to be put in, among what was seen.
    pub(crate) fn triggered(&self) -> Option<Barrier> {
        self.seen.iter().find_map(|command| match command {
            Command::Trigger { barrier, .. } => Some(*barrier),
            _ => None,
        })
    }
}
