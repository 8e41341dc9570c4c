//! One subtask from its start to its end, whichever way it ends.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use rheos_core::Error;
use tokio::sync::watch;

use crate::inbox_task::InboxTask;
use crate::output::Stop;
use crate::part::TakenPart;
use crate::source_task::SourceTask;

/// A subtask that is ready to run.
pub(crate) enum Subtask {
    Source(Box<SourceTask>),
    Inbox(Box<InboxTask>),
}

/// How a subtask ended. All that it had is closed by then.
#[derive(Debug)]
pub(crate) enum SubtaskEnd {
    /// All its input was taken in; this is its last part.
    Finished(Box<TakenPart>),
    /// It was told to stop.
    Cancelled,
    /// It could not go on since another subtask is gone.
    PeerGone,
    /// It failed by itself.
    Failed(Error),
}

impl Subtask {
    /// Runs until the end of the input, a failure, a panic, or until `cancel` says true.
    pub(crate) async fn run(mut self, mut cancel: watch::Receiver<bool>) -> SubtaskEnd {
        let cancelled = std::pin::pin!(cancel.wait_for(|cancelled| *cancelled));
        let end = {
            let run = std::pin::pin!(AssertUnwindSafe(self.run_to_end()).catch_unwind());
            match select(cancelled, run).await {
                Either::Left(_) => Ok(Err(None)),
                Either::Right((end, _)) => end.map(|end| end.map_err(Some)),
            }
        };
        let end = match end {
            Ok(Ok(part)) => SubtaskEnd::Finished(Box::new(part)),
            Ok(Err(None)) => SubtaskEnd::Cancelled,
            Ok(Err(Some(Stop::PeerGone))) => SubtaskEnd::PeerGone,
            Ok(Err(Some(Stop::Failed(error)))) => SubtaskEnd::Failed(error),
            Err(panic) => {
                let error = Error::bug(format!("panicked: {}", panic_text(panic.as_ref())));
                SubtaskEnd::Failed(match self.called() {
                    Some(who) => error.context(who),
                    None => error,
                })
            }
        };
        self.close();
        end
    }

    async fn run_to_end(&mut self) -> Result<TakenPart, Stop> {
        match self {
            Subtask::Source(task) => task.run().await,
            Subtask::Inbox(task) => task.run().await,
        }
    }

    fn called(&self) -> Option<String> {
        match self {
            Subtask::Source(task) => task.called(),
            Subtask::Inbox(task) => task.chain.called(),
        }
    }

    fn close(&mut self) {
        match self {
            Subtask::Source(task) => task.rest.chain.close(),
            Subtask::Inbox(task) => task.chain.close(),
        }
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
