//! What a job's runtime may be told.

use rheos_core::collector::DEFAULT_COLLECTOR_ROWS;
use rheos_exchange::{ChannelLimits, CoalesceLimits};

/// How much is kept, and handed on at a time, by the tasks of a job.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// The job's id, the same over all its restarts; empty for a job that is never restored.
    pub job_id: String,
    /// What waits in each channel at most.
    pub channel: ChannelLimits,
    /// Up to which size small pieces are joined before they are sent.
    pub coalesce: CoalesceLimits,
    /// How many rows a source is asked for at a time.
    pub source_batch_rows: usize,
    /// At how many rows an operator is asked to stop emitting and to go on when those are gone.
    pub collector_rows: usize,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            job_id: String::new(),
            channel: ChannelLimits::default(),
            coalesce: CoalesceLimits::default(),
            source_batch_rows: 8192,
            collector_rows: DEFAULT_COLLECTOR_ROWS,
        }
    }
}
