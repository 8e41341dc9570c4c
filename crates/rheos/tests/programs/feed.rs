//! The connector that feeds a program's rows: as many at a time as it is told to.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use rheos::{ChangelogMode, ColumnBatch, Error, Result};
use rheos_core::connector::TableSpec;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use tokio::sync::watch;

use super::program::{MODE, Program, Source};
use super::rows::batch;

/// How many rows of each source may be given: of those up to the savepoint, and of those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bound(pub(crate) usize, pub(crate) usize);

impl Bound {
    /// All rows up to the savepoint, and none after it.
    pub(crate) const BEFORE: Bound = Bound(usize::MAX, 0);
    /// All rows, after which the input ends.
    pub(crate) const ALL: Bound = Bound(usize::MAX, usize::MAX);

    fn of(self, source: &Source) -> usize {
        self.0.min(source.before.len()) + self.1.min(source.after.len())
    }
}

/// The sources of a program in one run.
#[derive(Clone)]
pub(crate) struct Feed {
    sources: Arc<BTreeMap<String, Source>>,
    /// Whether the run goes on from the savepoint.
    is_restored: bool,
    released: Arc<watch::Sender<Bound>>,
    /// How many rows each scan has given, those before the savepoint counted, and how many it was to give.
    given: Arc<Mutex<BTreeMap<String, Bound>>>,
}

impl Feed {
    pub(crate) fn new(program: &Program, is_restored: bool) -> Feed {
        let sources = program.sources.iter().map(|s| (s.name.trim_matches('`').to_string(), s.clone())).collect();
        let released = Arc::new(watch::Sender::new(if is_restored { Bound::BEFORE } else { Bound(0, 0) }));
        Feed { sources: Arc::new(sources), is_restored, released, given: Arc::default() }
    }

    /// Lets the sources give rows up to `bound`; then they wait, or end.
    pub(crate) fn release(&self, bound: Bound) {
        self.released.send_replace(bound);
    }

    /// Whether so many scans have given the rows up to `bound`.
    pub(crate) fn is_given(&self, bound: Bound, scans: usize) -> bool {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.values().filter(|given| **given >= bound).count() >= scans
    }

    fn source(&self, table: &TableSpec) -> Result<&Source> {
        self.sources.get(&table.name).ok_or_else(|| Error::config(format!("the program has no source '{}'", table.name)))
    }
}

impl SourceFactory for Feed {
    fn takes_partitions(&self) -> bool {
        // Where its rows lie is nothing to it.
        true
    }

    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        self.source(table)?;
        let mode = table.option(MODE).unwrap_or("I");
        let has = |kind: &str| mode.split(',').any(|k| k.trim() == kind);
        let changelog = match (has("UA") || has("D"), has("UB") || !has("UA")) {
            (false, _) => ChangelogMode::InsertOnly,
            (true, true) => ChangelogMode::Retract,
            (true, false) => ChangelogMode::Upsert,
        };
        Ok(SourceDescription { changelog, bounded: false, predicates_applied: vec![false; table.predicates.len()] })
    }

    fn splits(&self, _: &TableSpec, _: usize) -> Result<Vec<Split>> {
        Ok(vec![Split { id: "rows".into(), position: 0.into() }])
    }

    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        let source = self.source(table)?;
        let rows = batch(source.before.iter().chain(&source.after), table, &context.metrics)?;
        let start = if self.is_restored { source.before.len() } else { 0 };
        if let Some(split) = splits.first()
            && split.position != start
        {
            return Err(Error::bug(format!("'{}' goes on at row {}, not {start}", table.name, split.position)));
        }
        let (feed, source, scan) = (self.clone(), source.clone(), context.subtask.uid.clone());
        Ok(Box::new(Reader { feed, source, scan, splits, rows, position: start }))
    }
}

struct Reader {
    feed: Feed,
    source: Source,
    /// Its name among all scans.
    scan: String,
    /// The one split, or none: other subtasks have it.
    splits: Vec<Split>,
    rows: Option<ColumnBatch>,
    position: usize,
}

impl Reader {
    async fn read(&mut self) -> Result<SourceEvent> {
        if self.splits.is_empty() {
            return Ok(SourceEvent::End);
        }
        let mut released = self.feed.released.subscribe();
        loop {
            let bound = *released.borrow_and_update();
            let end = bound.of(&self.source);
            if let Some(rows) = self.rows.as_ref().filter(|_| end > self.position) {
                let batch = rows.slice(self.position, end - self.position);
                self.position = end;
                return Ok(SourceEvent::Rows { split: 0, batch: batch.into() });
            }
            if bound == Bound::ALL {
                return Ok(SourceEvent::End);
            }
            // The rows given have gone through the task by the time of this call.
            self.feed.given.lock().unwrap_or_else(PoisonError::into_inner).insert(self.scan.clone(), bound);
            released.changed().await.map_err(|_| Error::bug("the feed is gone"))?;
        }
    }
}

impl SourceReader for Reader {
    fn next(&mut self, _: usize) -> Pin<Box<dyn Future<Output = Result<SourceEvent>> + Send + '_>> {
        Box::pin(self.read())
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(self.splits.iter().map(|s| Split { id: s.id.clone(), position: self.position.into() }).collect())
    }
}
