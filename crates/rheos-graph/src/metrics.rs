//! What the tasks of a job have measured of themselves, as numbers of one moment.

use rheos_core::time::TimestampMs;
use serde::{Deserialize, Serialize};

use crate::{NodeId, TaskId};

/// All subtasks of a job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JobMetrics {
    /// The subtasks, by task and index.
    pub tasks: Vec<TaskReport>,
}

/// One subtask. Times are in nanoseconds since it started; see [`rheos_core::metrics::TaskMetrics`] for what each says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TaskReport {
    /// The task in the task graph.
    pub task: TaskId,
    /// The names of its nodes: `Source: bids -> Calc`.
    pub name: String,
    /// Which subtask, from 0.
    pub index: usize,
    pub deserialize_ns: u64,
    pub process_ns: u64,
    pub serialize_ns: u64,
    pub wait_input_ns: u64,
    pub wait_output_ns: u64,
    pub rows_in: u64,
    pub rows_out: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub queued_bytes: i64,
    pub queue_capacity_bytes: i64,
    pub watermark_ms: TimestampMs,
    /// The source, operators and sink of its chain, in order.
    pub operators: Vec<OperatorReport>,
}

/// One instance of a node; see [`rheos_core::metrics::OperatorMetrics`] for what each number says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct OperatorReport {
    /// The node in the job graph.
    pub node: NodeId,
    /// The node's stable id.
    pub uid: String,
    /// The node's name.
    pub name: String,
    pub process_ns: u64,
    pub rows_in: u64,
    pub rows_out: u64,
    pub late_rows: u64,
    pub bad_records: u64,
    pub state_rows: i64,
    pub open_windows: i64,
    pub next_close_ms: TimestampMs,
}

impl TaskReport {
    /// Deserialising, processing and serialising together.
    pub fn useful_ns(&self) -> u64 {
        self.deserialize_ns + self.process_ns + self.serialize_ns
    }
}
