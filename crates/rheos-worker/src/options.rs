//! What a job's runtime may be told.

use std::fmt;
use std::sync::Arc;

use rheos_core::collector::DEFAULT_COLLECTOR_ROWS;
use rheos_core::element::Epoch;
use rheos_exchange::{ChannelLimits, CoalesceLimits};

use crate::align::SnapshotHook;

/// The epoch of what the sinks prepare when a job without snapshots ends: its first and only one.
pub const FINAL_EPOCH: Epoch = 1;

/// How much is kept, and handed on at a time, by the tasks of a job.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// What waits in each channel at most.
    pub channel: ChannelLimits,
    /// Up to which size small pieces are joined before they are sent.
    pub coalesce: CoalesceLimits,
    /// How many rows a source is asked for at a time.
    pub source_batch_rows: usize,
    /// At how many rows an operator is asked to stop emitting and to go on when those are gone.
    pub collector_rows: usize,
    /// Who is told of the snapshots that subtasks take at barriers.
    pub snapshots: Option<Arc<dyn SnapshotHook>>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            channel: ChannelLimits::default(),
            coalesce: CoalesceLimits::default(),
            source_batch_rows: 8192,
            collector_rows: DEFAULT_COLLECTOR_ROWS,
            snapshots: None,
        }
    }
}

impl fmt::Debug for RuntimeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeOptions")
            .field("channel", &self.channel)
            .field("coalesce", &self.coalesce)
            .field("source_batch_rows", &self.source_batch_rows)
            .field("collector_rows", &self.collector_rows)
            .finish_non_exhaustive()
    }
}
