//! The contract of a source: splits, the readers that read them, and the watermarks that follow from their rows.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::changelog::ChangelogMode;
use crate::connector::{MetadataInfo, TableSpec};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::lookup::LookupFactory;
use crate::operator::OperatorContext;
use crate::time::TimestampMs;

/// A part of the input that one reader reads in order: a file, a partition, a range of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Its stable name, unique within the source.
    pub id: String,
    /// Where to go on, in the source's own terms: after the last row that was emitted.
    pub position: serde_json::Value,
}

/// What a reader has to say.
#[derive(Debug)]
pub enum SourceEvent {
    /// Rows of the assigned split number `split`; never empty.
    Rows {
        /// The index of the split among those assigned to this reader.
        split: usize,
        /// Its next rows.
        batch: Batch,
    },
    /// That split has no more rows, ever.
    SplitEnd {
        /// The index of the split among those assigned to this reader.
        split: usize,
    },
    /// Nothing waits to be read any more: [`SourceReader::drained`] says so of all splits.
    Drained,
    /// All splits have ended.
    End,
}

/// Reads the splits of one source subtask.
pub trait SourceReader: Send {
    /// Waits for rows and returns what is there, at most about `max_rows`; a busy source fills the batch, an idle one
    /// hands over at once what it has.
    ///
    /// The future may be dropped before it is ready, and then nothing may be lost: what was read but not returned is
    /// returned by the next call.
    fn next(&mut self, max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>>;

    /// The splits with their positions after the last rows returned by [`SourceReader::next`].
    fn positions(&self) -> Result<Vec<Split>>;

    /// Whether the reader now asks that split for rows. One that waits for its turn behind others is not idle, however long it
    /// gives no rows.
    fn is_polled(&self, split: usize) -> bool {
        let _ = split;
        true
    }

    /// For a reader whose splits gain rows from time to time: for each of them whether nothing waits to be read in it. Such a split
    /// holds no watermark of its reader back while another has something; of a reader in which nothing waits at all the split that is
    /// furthest leads, until it is idle. What is said holds until the next call of [`SourceReader::next`] has returned.
    fn drained(&self) -> Option<&[bool]> {
        None
    }
}

/// What the planner must know of a source table.
#[derive(Debug, Clone)]
pub struct SourceDescription {
    /// The kinds of changes that it gives.
    pub changelog: ChangelogMode,
    /// Whether the input ends.
    pub bounded: bool,
    /// For each predicate offered in the [`TableSpec`]: whether every row that it rejects is kept away.
    pub predicates_applied: Vec<bool>,
}

/// Makes the readers of a kind of source.
pub trait SourceFactory: Send + Sync {
    /// Checks the table's options and says what kind of stream it is. Reads nothing.
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription>;

    /// Whether tables may be PARTITIONED BY columns ([`TableSpec::partition_keys`]).
    fn takes_partitions(&self) -> bool {
        false
    }

    /// What can be read of a table's records beside its columns.
    fn metadata(&self, table: &TableSpec) -> Vec<MetadataInfo> {
        let _ = table;
        Vec::new()
    }

    /// How tables are asked for single rows, if they can be.
    fn lookup(&self) -> Option<&dyn LookupFactory> {
        None
    }

    /// The splits of the input as it is now. Called once when the job starts.
    fn splits(&self, table: &TableSpec, parallelism: usize) -> Result<Vec<Split>>;

    /// The splits of the input as [`SourceFactory::splits`] gives them, each at the end of what is there by now: for a job that
    /// is to go on without what it missed.
    fn end_splits(&self, table: &TableSpec, parallelism: usize, env: &Env) -> Result<Vec<Split>> {
        let _ = (parallelism, env);
        let message =
            format!("table '{}' cannot be read from its end on: the connector '{}' does not support it", table.name, table.connector);
        Err(Error::config(message))
    }

    /// A reader of `splits`, which may be none. Its batches have the columns of [`TableSpec::output_schema`].
    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>>;
}

/// Finds the watermark that follows from rows: `max(expression over the rows)`.
pub trait WatermarkGenerator: Send {
    /// For each row of the batch the watermark that it alone would give, in milliseconds; `None` where it gives none.
    fn watermarks(&mut self, batch: &Batch) -> Result<Vec<Option<TimestampMs>>>;

    /// The greatest of those.
    fn watermark(&mut self, batch: &Batch) -> Result<Option<TimestampMs>> {
        Ok(self.watermarks(batch)?.into_iter().flatten().max())
    }
}

/// Assigns splits to subtasks in turn: subtask `i` gets every split whose number is `i` modulo the parallelism.
pub fn assign_splits(splits: Vec<Split>, parallelism: usize) -> Vec<Vec<Split>> {
    let mut assigned = vec![Vec::new(); parallelism];
    let by_id: BTreeMap<String, Split> = splits.into_iter().map(|s| (s.id.clone(), s)).collect();
    for (i, split) in by_id.into_values().enumerate() {
        assigned[i % parallelism].push(split);
    }
    assigned
}
