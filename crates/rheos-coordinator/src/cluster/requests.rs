//! Questions to some worker of a job, with an answer: what the coordinator cannot know or do, since it has no connectors.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rheos_checkpoint::coordinator::Restore;
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use rheos_protocol::codec::restore_to;
use rheos_protocol::v1;
use rheos_protocol::v1::to_worker::Message;
use tokio::sync::oneshot;

use super::sessions::{SessionId, Sessions};

type Answer = oneshot::Sender<Result<Vec<u8>>>;

/// The questions of one job that wait for an answer.
pub(crate) struct Requests {
    open: v1::OpenJob,
    sessions: Arc<Sessions>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: BTreeMap<u64, (SessionId, Answer)>,
}

impl Requests {
    pub(crate) fn new(open: v1::OpenJob, sessions: Arc<Sessions>) -> Self {
        Requests { open, sessions, waiting: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some worker, as soon as there is one.
    pub(crate) async fn some_worker(&self) -> SessionId {
        let mut changes = self.sessions.watch();
        loop {
            changes.mark_unchanged();
            if let Some(session) = self.sessions.any(&self.open.job) {
                return session;
            }
            // The sessions live as long as we do.
            drop(changes.changed().await);
        }
    }

    /// Finds the splits of the sources that `restore` holds nothing of, as JSON.
    pub(crate) async fn find_splits(&self, restore: Restore) -> Result<Vec<u8>> {
        let restore = restore_to(&restore)?;
        self.ask(|job, request| Message::FindSplits(v1::FindSplits { job, request, restore: Some(restore.clone()) })).await
    }

    /// Has the sinks throw away what was prepared and not committed.
    pub(crate) async fn clean_up(&self, until_ms: TimestampMs) -> Result<()> {
        self.ask(|job, request| Message::CleanUp(v1::CleanUp { job, request, until_ms })).await.map(drop)
    }

    async fn ask(&self, message: impl Fn(String, u64) -> Message) -> Result<Vec<u8>> {
        let session = self.some_worker().await;
        let (answer, answered) = oneshot::channel();
        let request = {
            let mut waiting = self.lock();
            waiting.last += 1;
            let request = waiting.last;
            waiting.answers.insert(request, (session, answer));
            request
        };
        self.sessions.tell_of(session, &self.open, message(self.open.job.clone(), request));
        if self.sessions.host(session).is_none() {
            self.lost(session, "asked");
        }
        answered.await.unwrap_or_else(|_| Err(Error::restart("a question to a worker was forgotten")))
    }

    /// An answer has come.
    pub(crate) fn answered(&self, request: u64, outcome: Result<Vec<u8>>) {
        if let Some((_, answer)) = self.lock().answers.remove(&request) {
            // Whoever asked may have gone.
            drop(answer.send(outcome));
        }
    }

    /// A worker is lost, and with it the answers that it owes.
    pub(crate) fn lost(&self, session: SessionId, name: &str) {
        let mut waiting = self.lock();
        let owed: Vec<u64> = waiting.answers.iter().filter(|(_, (of, _))| *of == session).map(|(request, _)| *request).collect();
        for request in owed {
            if let Some((_, answer)) = waiting.answers.remove(&request) {
                drop(answer.send(Err(Error::restart(format!("worker {name} was lost before it answered")))));
            }
        }
    }
}
