//! Where the numbers of tasks are read.

use std::sync::Arc;

use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_graph::{NodeId, OperatorReport, TaskId, TaskReport};

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
