//! OVER: for each row a value of the rows around it.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;
use rheos_core::types::LogicalType;

use super::aggregate::AggregateCall;
use super::rank::SortKey;

/// Which rows of its partition an aggregate of a row is over. All end with the row at hand, or with its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// `ROWS BETWEEN n PRECEDING AND CURRENT ROW`; `None` is UNBOUNDED.
    Rows {
        /// How many rows before it.
        preceding: Option<u64>,
    },
    /// `RANGE BETWEEN x PRECEDING AND CURRENT ROW`, peers (rows that are equal in the order) included; `None` is UNBOUNDED.
    Range {
        /// How far back, in milliseconds; only over event time.
        preceding_ms: Option<i64>,
    },
}

/// One window function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum OverCall {
    /// An aggregate over a frame.
    Aggregate {
        /// What is computed.
        call: AggregateCall,
        /// Over which rows.
        frame: Frame,
    },
    /// ROW_NUMBER(): 1 for the first row, and so on.
    RowNumber,
    /// RANK(): one more than how many rows are before the row and its peers.
    Rank,
    /// DENSE_RANK(): how many different places of the order there are up to the row's.
    DenseRank,
    /// LAG and LEAD: the value of the row some rows before (or, negative, after).
    Offset {
        /// The column of the value.
        value: usize,
        /// How many rows before.
        rows_before: i64,
        /// The column of the value where there is no such row; `None` gives NULL.
        default: Option<usize>,
        /// The type of the result.
        ty: LogicalType,
    },
}

/// `over-aggregate`: the input's columns, then one for each call; without calls and with `time`, the rows sorted.
///
/// With `time`, which is then the first column of the order and ascends, over an insert-only input: rows come out in the order
/// of time, once, when the watermark has passed them; insert-only. A row is late where its partition has put out one of its
/// time or later, and, if a call may look at all rows of the partition (all but aggregates over bounded frames), where the watermark has
/// passed its time. LEAD, and peers where the order is of more than the time, are refused. Without `time`: rows come at once, and rows
/// whose values change are updated (-U, +U).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The partition's columns.
    pub partition: Vec<usize>,
    /// The order within a partition.
    pub order: Vec<SortKey>,
    /// The column of the row time, where that is what the order begins with.
    pub time: Option<usize>,
    /// The window functions.
    pub calls: Vec<OverCall>,
    /// Whether the input takes rows back.
    pub input_retracts: bool,
    /// How long a partition that nothing comes for is kept, in milliseconds; `None`: for ever. With `time` it is not looked at: such a
    /// partition is kept until no frame reaches it, and for ever where one is not bounded in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_ttl_ms: Option<i64>,
    /// The columns of the output.
    pub output: Schema,
}

impl OverCall {
    /// How many rows before the row at hand it may look at; `None` where only what was computed of them counts.
    pub fn rows_looked_back(&self) -> Option<u64> {
        match self {
            OverCall::Aggregate { frame: Frame::Rows { preceding }, .. } => *preceding,
            OverCall::Offset { rows_before, .. } => Some(rows_before.unsigned_abs()),
            _ => None,
        }
    }
}
