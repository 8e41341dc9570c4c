//! A folder that is watched: it never ends, and each file that appears in it is read once.
//!
//! The files are divided by the hash of their path among a fixed number of buckets, as rows are among key groups. A bucket is a split: its
//! state is which files have been read and where the one stands that is being read. So every subtask lists the folder by itself and
//! takes the files of its buckets, and a restore at another parallelism gives buckets, not files, to others.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::task::Poll;

use arrow::array::{ArrayRef, StringArray};
use futures_util::future::{BoxFuture, poll_fn};
use rheos_core::connector::TableSpec;
use rheos_core::env::Clock;
use rheos_core::key_group::{hash_columns, key_group};
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceEvent, SourceReader, Split};
use rheos_core::{Batch, Error, Result};
use serde::{Deserialize, Serialize};

use super::glob;
use super::path::local_path;
use super::reading::{Position, Reading, Step};
use super::source::wanted_files;

/// Among so many buckets the files of a folder are divided: no more subtasks can read it. Snapshots depend on it.
const BUCKETS: u32 = 128;

/// What has been read of a bucket. Paths are those below the table's folder.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The files that have been read to their end.
    seen: BTreeSet<String>,
    /// The file that is being read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reading: Option<Started>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Started {
    path: String,
    #[serde(flatten)]
    position: Position,
}

/// How often a table's folder is listed, where it is watched.
pub(super) fn interval_ms(table: &TableSpec) -> Result<Option<u64>> {
    let key = "source.monitor-interval";
    match table.duration_ms(key)? {
        Some(0) => Err(Error::config(format!("option '{key}' of table '{}' must be at least 1 ms", table.name))),
        interval => Ok(interval),
    }
}

/// The buckets of a folder of which nothing has been read, or, `at_end`, all that is there now.
pub(super) fn buckets(table: &TableSpec, at_end: bool) -> Result<Vec<Split>> {
    let mut progress = vec![Progress::default(); BUCKETS as usize];
    if at_end {
        let paths = listed(table)?;
        for (path, bucket) in paths.iter().zip(buckets_of(&paths)?) {
            progress[bucket as usize].seen.insert(path.clone());
        }
    }
    let split = |(i, progress)| Ok(Split { id: id(i as u32), position: serde_json::to_value::<Progress>(progress)? });
    progress.into_iter().enumerate().map(split).collect()
}

fn id(bucket: u32) -> String {
    format!("bucket-{bucket}-of-{BUCKETS}")
}

/// Whether a split is a bucket of a watched folder, not a file.
pub(super) fn is_bucket(id: &str) -> bool {
    (0..BUCKETS).any(|bucket| self::id(bucket) == id)
}

/// The wanted files that are there now, each by its path below the table's folder.
fn listed(table: &TableSpec) -> Result<Vec<String>> {
    let root = root(table)?;
    let below = |file: String| file.strip_prefix(&root).map(str::to_string).unwrap_or(file);
    Ok(wanted_files(table)?.into_iter().map(below).collect())
}

/// What stands before the paths of files: nothing, where the table's path is a pattern. It follows from the path alone, so that it is the
/// same wherever it is asked for.
fn root(table: &TableSpec) -> Result<String> {
    let path = local_path(table)?;
    Ok(if glob::is_pattern(path) { String::new() } else { format!("{}/", path.trim_end_matches('/')) })
}

fn buckets_of(paths: &[String]) -> Result<Vec<u32>> {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(paths));
    let mut hashes = Vec::new();
    hash_columns(&[&column], paths.len(), &mut hashes)?;
    Ok(hashes.into_iter().map(|hash| u32::from(key_group(hash, BUCKETS))).collect())
}

/// Reads the files of some buckets, one after the other.
pub(super) struct FolderReader {
    table: TableSpec,
    root: String,
    interval_ms: u64,
    clock: Arc<dyn Clock>,
    buckets: Vec<Bucket>,
    /// For each number of a bucket its position among these, if it is one of them.
    positions: Vec<Option<usize>>,
    /// For each bucket whether nothing waits to be read in it.
    drained: Vec<bool>,
    /// The files that are to be read, each with its bucket; the first is being read.
    queue: VecDeque<(usize, String)>,
    reading: Reading,
    list_at_ms: i64,
}

/// Why there is nothing to say.
enum Wait {
    /// Much was read that held no row.
    ForOthers,
    /// The folder is to be listed again in so many milliseconds.
    ForFiles(u64),
}

struct Bucket {
    id: String,
    progress: Progress,
    /// How many of its files are in the queue.
    waiting: usize,
}

impl FolderReader {
    pub(super) fn new(table: &TableSpec, interval_ms: u64, splits: Vec<Split>, context: &OperatorContext) -> Result<Self> {
        let bucket = |split: Split| {
            let progress = serde_json::from_value(split.position).map_err(|e| {
                let message = format!("table '{}' goes on from a snapshot in which its folder was not watched", table.name);
                Error::config(format!("{message}: leave out 'source.monitor-interval' ('{}': {e})", split.id)).caused_by(e)
            })?;
            Ok(Bucket { id: split.id, progress, waiting: 0 })
        };
        let buckets = splits.into_iter().map(bucket).collect::<Result<Vec<_>>>()?;
        let positions = (0..BUCKETS).map(id).map(|id| buckets.iter().position(|bucket| bucket.id == id)).collect();
        let mut reader = FolderReader {
            table: table.clone(),
            root: root(table)?,
            interval_ms,
            clock: Arc::clone(&context.env.clock),
            drained: vec![true; buckets.len()],
            buckets,
            positions,
            queue: VecDeque::new(),
            reading: Reading::new(table, context.metrics.clone())?,
            list_at_ms: i64::MIN,
        };
        // What was being read goes on first; after a restore at a smaller parallelism that may be several.
        for i in 0..reader.buckets.len() {
            if let Some(started) = &reader.buckets[i].progress.reading {
                let path = started.path.clone();
                reader.enqueue(i, path);
            }
        }
        Ok(reader)
    }

    fn enqueue(&mut self, bucket: usize, path: String) {
        self.buckets[bucket].waiting += 1;
        self.drained[bucket] = false;
        self.queue.push_back((bucket, path));
    }

    /// Finds the files of these buckets that have not been seen. Called only when nothing waits, so none is found twice.
    fn list(&mut self) -> Result<()> {
        let paths = listed(&self.table)?;
        for (path, number) in paths.iter().zip(buckets_of(&paths)?) {
            let bucket = self.positions[number as usize];
            if let Some(bucket) = bucket.filter(|bucket| !self.buckets[*bucket].progress.seen.contains(path)) {
                self.enqueue(bucket, path.clone());
            }
        }
        Ok(())
    }

    /// What comes next, or what to wait for.
    fn read(&mut self, max_rows: usize) -> Result<Result<SourceEvent, Wait>> {
        if self.buckets.is_empty() {
            return Ok(Ok(SourceEvent::End));
        }
        loop {
            let Some((split, path)) = self.queue.front().cloned() else {
                let now_ms = self.clock.now_ms();
                if now_ms < self.list_at_ms {
                    return Ok(Err(Wait::ForFiles(self.list_at_ms.abs_diff(now_ms))));
                }
                self.list()?;
                self.list_at_ms = now_ms.saturating_add_unsigned(self.interval_ms);
                continue;
            };
            let bucket = &mut self.buckets[split];
            let started = bucket.progress.reading.get_or_insert_with(|| Started { path: path.clone(), position: Position::default() });
            match self.reading.read(&format!("{}{path}", self.root), &mut started.position, max_rows)? {
                Step::Rows(batch) => return Ok(Ok(SourceEvent::Rows { split, batch: Batch::Columns(batch) })),
                Step::Again => return Ok(Err(Wait::ForOthers)),
                Step::End => {
                    bucket.progress.reading = None;
                    bucket.progress.seen.insert(path);
                    bucket.waiting -= 1;
                    self.drained[split] = bucket.waiting == 0;
                    self.queue.pop_front();
                    if self.queue.is_empty() {
                        return Ok(Ok(SourceEvent::Drained));
                    }
                }
            }
        }
    }
}

impl SourceReader for FolderReader {
    fn next(&mut self, max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        Box::pin(async move {
            loop {
                match self.read(max_rows)? {
                    Ok(event) => return Ok(event),
                    Err(Wait::ForOthers) => let_others_run().await,
                    Err(Wait::ForFiles(ms)) => self.clock.sleep_ms(ms).await,
                }
            }
        })
    }

    fn positions(&self) -> Result<Vec<Split>> {
        self.buckets.iter().map(|b| Ok(Split { id: b.id.clone(), position: serde_json::to_value(&b.progress)? })).collect()
    }

    fn is_polled(&self, split: usize) -> bool {
        self.drained[split] || self.queue.front().is_some_and(|(first, _)| *first == split)
    }

    fn drained(&self) -> Option<&[bool]> {
        Some(&self.drained)
    }
}

/// Waits until the task has been asked once more.
async fn let_others_run() {
    let mut has_waited = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
