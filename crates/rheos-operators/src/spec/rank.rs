//! The first rows of each partition: Top-N, deduplication, limit.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;

/// One column of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey {
    /// The column.
    pub column: usize,
    /// Whether greater values come first.
    pub descending: bool,
    /// Whether NULL comes first.
    pub nulls_first: bool,
}

/// `rank`: the rows of rank `start ..= end` of each partition, by ROW_NUMBER; updated as rows come. Equal rows are ordered
/// by arrival. Updates of the input come with -U.
///
/// Output columns: the input's, then the rank (BIGINT) if asked for. A partition changes once for an input batch: with a rank
/// column each rank that has another row is updated (-U, +U); without one, rows leave (-D) and enter (+I), or where `start`
/// is `end` the one row is updated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The partition's columns.
    pub partition: Vec<usize>,
    /// The order within a partition.
    pub order: Vec<SortKey>,
    /// The first rank that is put out, from 1.
    pub start: u64,
    /// The last rank that is put out.
    pub end: u64,
    /// Whether the rank is a column of the output.
    pub rank_column: bool,
    /// Whether the input takes rows back.
    pub input_retracts: bool,
    /// How long a key that nothing comes for is kept, in milliseconds; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
    /// The columns of the output.
    pub output: Schema,
}

/// `deduplicate`: the first or the last row of each key by row time, over an insert-only input. The first by row time is
/// put out when the watermark passes it, insert-only; the last is updated as rows come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeduplicateSpec {
    /// The columns of the input, and of the output.
    pub input: Schema,
    /// The key columns.
    pub keys: Vec<usize>,
    /// The column of the row time.
    pub time: usize,
    /// Whether the last row is kept instead of the first.
    pub keep_last: bool,
    /// How long a key that nothing comes for is kept, in milliseconds; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
}

/// `window-rank`: the rows of rank `start ..= end` of each partition and window, when the window closes. Late rows are
/// dropped. Both input and output are insert-only. Rows come by hash of the partition's columns, or of the window's end where
/// there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowRankSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The column of the window's end (TIMESTAMP(3)).
    pub window_end: usize,
    /// The partition's columns, without the window's.
    pub partition: Vec<usize>,
    /// The order within a partition.
    pub order: Vec<SortKey>,
    /// The first rank that is put out, from 1.
    pub start: u64,
    /// The last rank that is put out.
    pub end: u64,
    /// Whether the rank (BIGINT) is the last column of the output.
    pub rank_column: bool,
    /// The columns of the output.
    pub output: Schema,
}

/// `limit`: rows `offset .. offset + fetch` in order of arrival, over an insert-only input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitSpec {
    /// The columns of the input, and of the output.
    pub input: Schema,
    /// How many rows are passed over.
    pub offset: u64,
    /// How many rows are put out; `None` puts out all.
    pub fetch: Option<u64>,
}
