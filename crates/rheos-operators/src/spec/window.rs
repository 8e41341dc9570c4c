//! Windows over event time.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;

use super::aggregate::AggregateCall;

/// How rows are put into windows. Lengths in milliseconds; windows are `[start, end)` and align to the epoch plus offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowSpec {
    /// Windows of one size, side by side.
    Tumble {
        /// Their length.
        size_ms: i64,
        /// By how much they are shifted.
        offset_ms: i64,
    },
    /// Windows of one size that start every `slide_ms`; the size is a multiple of it.
    Hop {
        /// Their length.
        size_ms: i64,
        /// The distance of their starts.
        slide_ms: i64,
        /// By how much they are shifted.
        offset_ms: i64,
    },
    /// Windows that start every `max_ms` and grow by `step_ms` up to it; the maximum is a multiple of the step.
    Cumulate {
        /// The greatest length.
        max_ms: i64,
        /// By how much they grow.
        step_ms: i64,
        /// By how much they are shifted.
        offset_ms: i64,
    },
    /// Windows of a key that end `gap_ms` after its last row; two rows exactly that far apart are still in one.
    Session {
        /// The silence that ends one.
        gap_ms: i64,
    },
}

/// Where an operator finds the window of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Windowing {
    /// From its row time.
    Time {
        /// The column of the row time (TIMESTAMP or TIMESTAMP_LTZ).
        column: usize,
        /// How it is put into windows.
        window: WindowSpec,
    },
    /// The row carries its window, given by an operator before.
    Attached {
        /// The column of the window's start (TIMESTAMP(3)).
        start: usize,
        /// The column of the window's end (TIMESTAMP(3)).
        end: usize,
    },
}

/// A column that a window operator adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowProperty {
    /// `window_start`, TIMESTAMP(3).
    Start,
    /// `window_end`, TIMESTAMP(3): the first millisecond after the window.
    End,
    /// `window_time`, the row time of the result: the window's last millisecond, of the type of the row time.
    Time,
}

/// `window-aggregate`: GROUP BY a window and keys; each window puts out its rows once, when the watermark reaches its last
/// millisecond. A row is late, and dropped, for a window whose last millisecond the watermark has reached; a change to a
/// closed window likewise. The output is insert-only.
///
/// Its second input takes states of the aggregates, as a [`super::LocalAggregateSpec`] gives them of the same keys and slices (of windows
/// that rows carry: of the keys, the start and the end).
///
/// Output columns: the keys, the aggregates, then the properties.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowAggregateSpec {
    /// The columns of the input.
    pub input: Schema,
    /// Where the window of a row is found.
    pub windowing: Windowing,
    /// The key columns.
    pub keys: Vec<usize>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// Whether the input takes rows back.
    pub input_retracts: bool,
    /// The columns added.
    pub properties: Vec<WindowProperty>,
    /// The columns of the output.
    pub output: Schema,
}

/// `window-table`: a window table function without an aggregate: each row once for each of its windows, at once, with
/// `window_start`, `window_end`, `window_time` appended; for SESSION when the session ends. Rows are not dropped for being
/// late, except by SESSION.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowTableSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The column of the row time.
    pub time: usize,
    /// How rows are put into windows.
    pub window: WindowSpec,
    /// The key columns of SESSION.
    pub keys: Vec<usize>,
    /// The columns of the output.
    pub output: Schema,
}
