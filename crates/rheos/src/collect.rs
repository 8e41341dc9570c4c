//! The sink that brings a query's rows to whoever asked.
//!
//! Where the job takes snapshots, rows wait until the one that they belong to is complete (if a restart is to show none twice): they
//! are what the sink prepares and its committer hands out. They wait in the memory of this process, the rows of one interval and those
//! that the reader has not taken; what it had not handed out when it died is lost to a reader that outlives it. A table as sink
//! loses nothing and keeps nothing in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Committer, Sink, SinkDescription, SinkFactory};
use rheos_core::time::TimestampMs;
use rheos_core::{Batch, ColumnBatch, Error, Result};
use rheos_worker::system_env;

/// The connector's name; the dollar sign keeps it out of SQL.
pub(crate) const CONNECTOR: &str = "$collect";

/// How many batches wait for the reader before the job does.
const QUEUED_BATCHES: usize = 16;

/// What comes out of a running query.
#[derive(Debug, Clone)]
pub enum ResultEvent {
    /// Changes of the result, in order.
    Rows(ColumnBatch),
    /// Event time has reached this, in milliseconds; [`i64::MAX`] at the end of the input.
    Watermark(TimestampMs),
}

/// Results that wait for their snapshot, where they are to wait.
#[derive(Clone, Default)]
pub(crate) struct Held(Arc<Waiting>);

#[derive(Default)]
struct Waiting {
    holds: AtomicBool,
    next: AtomicU64,
    prepared: Mutex<BTreeMap<u64, Vec<ResultEvent>>>,
}

impl Held {
    /// Whether results wait from now on: to be said before the job starts.
    pub(crate) fn set(&self, holds: bool) {
        self.0.holds.store(holds, Ordering::Relaxed);
    }
}

/// Where a query's rows come out.
pub(crate) struct Results {
    receiver: Receiver<Option<ResultEvent>>,
    sender: SyncSender<Option<ResultEvent>>,
}

impl Results {
    /// The next event; `Ok(None)` when none has come in that time, or somebody has asked the reader to look at something else.
    pub(crate) fn next_within(&self, limit: Duration) -> std::result::Result<Option<ResultEvent>, RecvTimeoutError> {
        self.receiver.recv_timeout(limit)
    }

    /// Lets a reader that waits look at something else.
    pub(crate) fn waker(&self) -> impl Fn() + Send + 'static {
        let sender = self.sender.clone();
        // Where there is no room the reader has something to take, and does not wait.
        move || drop(sender.try_send(None))
    }
}

/// The connector for one query, where its rows come out, and where they may wait.
pub(crate) fn connector() -> (ConnectorInfo, Results, Held) {
    let (sender, receiver) = sync_channel(QUEUED_BATCHES);
    let results = Results { receiver, sender: sender.clone() };
    // Tokens of another process must not look like ours.
    let held = Held(Arc::new(Waiting { next: AtomicU64::new(system_env().random.next_u64()), ..Waiting::default() }));
    let sink = Some(Arc::new(Collect { sender, held: held.clone() }) as Arc<dyn SinkFactory>);
    let info =
        ConnectorInfo { name: CONNECTOR, doc: "internal: a query's result", options: vec![], takes_format: false, source: None, sink };
    (info, results, held)
}

#[derive(Clone)]
struct Collect {
    sender: SyncSender<Option<ResultEvent>>,
    held: Held,
}

impl Collect {
    fn send(&self, event: ResultEvent) -> Result<()> {
        self.sender.send(Some(event)).map_err(|_| Error::restart("nobody reads the query's result any more"))
    }
}

impl SinkFactory for Collect {
    fn describe(&self, _table: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, _table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>> {
        let holds = self.held.0.holds.load(Ordering::Relaxed);
        Ok(Box::new(CollectWriter { collect: self.clone(), uid: context.subtask.uid.clone(), waiting: holds.then(Vec::new) }))
    }

    fn committer(&self, _table: &TableSpec) -> Result<Option<Box<dyn Committer>>> {
        Ok(Some(Box::new(self.clone())))
    }
}

impl Committer for Collect {
    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()> {
        for token in tokens {
            let number = token.payload.as_u64().ok_or_else(|| Error::corrupt("a token of a query's result without a number"))?;
            let events = self.held.0.prepared.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            // Handed out before, or waiting in a process that is gone.
            events.into_iter().flatten().try_for_each(|event| self.send(event))?;
        }
        Ok(())
    }

    fn abort(&mut self, tokens: &[CommitToken]) -> Result<()> {
        let mut prepared = self.held.0.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.iter().filter_map(|token| token.payload.as_u64()).for_each(|number| drop(prepared.remove(&number)));
        Ok(())
    }
}

struct CollectWriter {
    collect: Collect,
    uid: String,
    /// What waits for the next snapshot; `None` where nothing waits.
    waiting: Option<Vec<ResultEvent>>,
}

impl CollectWriter {
    fn take(&mut self, event: ResultEvent) -> Result<()> {
        match &mut self.waiting {
            Some(waiting) => {
                waiting.push(event);
                Ok(())
            }
            None => self.collect.send(event),
        }
    }
}

impl Sink for CollectWriter {
    fn write(&mut self, batch: Batch) -> Result<()> {
        self.take(ResultEvent::Rows(batch.into_columns()?))
    }

    fn watermark(&mut self, at: TimestampMs) -> Result<()> {
        self.take(ResultEvent::Watermark(at))
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| !waiting.is_empty()) else { return Ok(vec![]) };
        let Waiting { next, prepared, .. } = &*self.collect.held.0;
        let number = next.fetch_add(1, Ordering::Relaxed);
        prepared.lock().unwrap_or_else(PoisonError::into_inner).insert(number, std::mem::take(waiting));
        Ok(vec![CommitToken { sink: self.uid.clone(), epoch, payload: number.into() }])
    }
}
