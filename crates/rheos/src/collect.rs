//! The sink that brings a query's rows to whoever asked.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::time::TimestampMs;
use rheos_core::{Batch, ColumnBatch, Error, Result};

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

/// The connector for one query, and where its rows come out.
pub(crate) fn connector() -> (ConnectorInfo, Receiver<ResultEvent>) {
    let (sender, receiver) = sync_channel(QUEUED_BATCHES);
    let sink = Some(Arc::new(Collect { sender }) as Arc<dyn SinkFactory>);
    (
        ConnectorInfo { name: CONNECTOR, doc: "internal: a query's result", options: vec![], takes_format: false, source: None, sink },
        receiver,
    )
}

struct Collect {
    sender: SyncSender<ResultEvent>,
}

impl SinkFactory for Collect {
    fn describe(&self, _table: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, _table: &TableSpec, _context: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(CollectWriter { sender: self.sender.clone() }))
    }
}

struct CollectWriter {
    sender: SyncSender<ResultEvent>,
}

impl CollectWriter {
    fn send(&self, event: ResultEvent) -> Result<()> {
        self.sender.send(event).map_err(|_| Error::restart("nobody reads the query's result any more"))
    }
}

impl Sink for CollectWriter {
    fn write(&mut self, batch: Batch) -> Result<()> {
        self.send(ResultEvent::Rows(batch.into_columns()?))
    }

    fn watermark(&mut self, at: TimestampMs) -> Result<()> {
        self.send(ResultEvent::Watermark(at))
    }

    fn prepare(&mut self, _epoch: Epoch) -> Result<Vec<CommitToken>> {
        Ok(vec![])
    }
}
