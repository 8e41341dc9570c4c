//! What the tasks of a job have measured of themselves, as numbers of one moment.

use std::sync::Arc;

use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_core::time::TimestampMs;
use rheos_graph::{NodeId, TaskId};

/// All subtasks of a job.
#[derive(Debug, Clone, Default)]
pub struct JobMetrics {
    /// The subtasks, by task and index.
    pub tasks: Vec<TaskReport>,
}

/// One subtask. Times are in nanoseconds since it started; see [`TaskMetrics`] for what each says.
#[derive(Debug, Clone)]
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

/// One instance of a node; see [`OperatorMetrics`] for what each number says.
#[derive(Debug, Clone)]
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

/// Where the numbers of a subtask are found.
#[derive(Debug)]
pub(crate) struct TaskMeters {
    pub(crate) task: TaskId,
    pub(crate) name: String,
    pub(crate) index: usize,
    pub(crate) metrics: Arc<TaskMetrics>,
    pub(crate) operators: Vec<OperatorMeters>,
}

#[derive(Debug)]
pub(crate) struct OperatorMeters {
    pub(crate) node: NodeId,
    pub(crate) uid: String,
    pub(crate) name: String,
    pub(crate) metrics: Arc<OperatorMetrics>,
}

impl TaskMeters {
    pub(crate) fn report(&self) -> TaskReport {
        let m = &self.metrics;
        TaskReport {
            task: self.task,
            name: self.name.clone(),
            index: self.index,
            deserialize_ns: m.deserialize_ns.get(),
            process_ns: m.process_ns.get(),
            serialize_ns: m.serialize_ns.get(),
            wait_input_ns: m.wait_input_ns.get(),
            wait_output_ns: m.wait_output_ns.get(),
            rows_in: m.rows_in.get(),
            rows_out: m.rows_out.get(),
            bytes_in: m.bytes_in.get(),
            bytes_out: m.bytes_out.get(),
            queued_bytes: m.queued_bytes.get(),
            queue_capacity_bytes: m.queue_capacity_bytes.get(),
            watermark_ms: m.watermark_ms.get(),
            operators: self.operators.iter().map(OperatorMeters::report).collect(),
        }
    }
}

impl OperatorMeters {
    fn report(&self) -> OperatorReport {
        let m = &self.metrics;
        OperatorReport {
            node: self.node,
            uid: self.uid.clone(),
            name: self.name.clone(),
            process_ns: m.process_ns.get(),
            rows_in: m.rows_in.get(),
            rows_out: m.rows_out.get(),
            late_rows: m.late_rows.get(),
            bad_records: m.bad_records.get(),
            state_rows: m.state_rows.get(),
            open_windows: m.open_windows.get(),
            next_close_ms: m.next_close_ms.get(),
        }
    }
}
