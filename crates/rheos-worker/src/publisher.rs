//! Makes prepared output visible or throws it away, one request after the other, in the order in which they came.

use std::sync::{Arc, Mutex};

use rheos_checkpoint::coordinator::{CommitError, CommitId, Event};
use rheos_core::env::{Random, SplitMix64};
use rheos_core::sink::CommitToken;
use rheos_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::commit::Committers;
use crate::runner::{EventSender, is_restartable, lock, tell};

/// Why an attempt of a job failed, for whoever asks.
pub(crate) type Failure = Arc<Mutex<Option<Error>>>;

/// What is to be done with prepared output.
pub(crate) enum Publish {
    /// Commit it and say how that went.
    Commit(CommitId, Vec<CommitToken>, EventSender),
    /// Throw it away.
    Abort(Vec<CommitToken>),
    /// Say that all before it is done.
    Settled(oneshot::Sender<()>),
}

/// Where requests are put.
pub(crate) struct Publisher(mpsc::UnboundedSender<Publish>);

/// Who carries them out, on threads that may wait.
struct Work {
    committers: Committers,
    failure: Failure,
    /// Commits whose reply is lost, on purpose.
    lost_replies: Option<(f64, SplitMix64)>,
}

impl Publisher {
    /// Starts; it ends when the publisher is dropped and all is done.
    pub(crate) fn start(runtime: &Handle, committers: Committers, failure: Failure, lost_replies: Option<(f64, SplitMix64)>) -> Publisher {
        let work = Arc::new(Mutex::new(Work { committers, failure, lost_replies }));
        let (sender, mut requests) = mpsc::unbounded_channel();
        runtime.spawn(async move {
            while let Some(request) = requests.recv().await {
                let work = Arc::clone(&work);
                // A committer that panics is caught where it is called.
                drop(tokio::task::spawn_blocking(move || lock(&work).carry_out(request)).await);
            }
        });
        Publisher(sender)
    }

    /// Adds a request.
    pub(crate) fn put(&self, request: Publish) {
        // It ends after us.
        drop(self.0.send(request));
    }

    /// Waits until all requests so far are done.
    pub(crate) async fn settled(&self) {
        let (done, is_done) = oneshot::channel();
        self.put(Publish::Settled(done));
        drop(is_done.await);
    }
}

impl Work {
    fn carry_out(&mut self, request: Publish) {
        match request {
            Publish::Commit(commit, tokens, events) => {
                let outcome = self.commit(&tokens).map_err(|error| {
                    let failed = CommitError { message: error.to_string(), restartable: is_restartable(&error) };
                    *lock(&self.failure) = Some(error);
                    failed
                });
                tell(&events, Event::CommitDone { commit, outcome });
            }
            Publish::Abort(tokens) => self.committers.abort(&tokens),
            // Whoever asked may have gone.
            Publish::Settled(done) => drop(done.send(())),
        }
    }

    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        self.committers.commit(tokens)?;
        match &self.lost_replies {
            Some((rate, random)) if random.next_unit() < *rate => Err(Error::retry("a fault on purpose: the reply of a commit was lost")),
            _ => Ok(()),
        }
    }
}
