//! What a job's runtime may be told.

use rheos_core::collector::DEFAULT_COLLECTOR_ROWS;
use rheos_exchange::{ChannelLimits, CoalesceLimits};

/// The least that a channel may hold, whatever the budget: below, batches would go one at a time.
const LEAST_CHANNEL_BYTES: usize = 128 << 10;

/// How much is kept, and handed on at a time, by the tasks of a job.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    /// The job's id, the same over all its restarts; empty for a job that is never restored.
    pub job_id: String,
    /// What waits in each channel at most.
    pub channel: ChannelLimits,
    /// What the channels of the job may hold together in a process, in bytes. Each gets its share, as if all of them were in one
    /// process, but 128 KiB at least, and at most `channel`. A channel may exceed its share by one batch.
    pub buffer_bytes: usize,
    /// Up to which size small pieces are joined before they are sent.
    pub coalesce: CoalesceLimits,
    /// How many rows a source is asked for at a time.
    pub source_batch_rows: usize,
    /// At how many rows an operator is asked to stop emitting and to go on when those are gone.
    pub collector_rows: usize,
}

impl RuntimeOptions {
    /// The limits of each channel of a job that has so many.
    pub(crate) fn channel_limits(&self, channels: usize) -> ChannelLimits {
        let share = (self.buffer_bytes / channels.max(1)).max(LEAST_CHANNEL_BYTES);
        ChannelLimits { bytes: self.channel.bytes.min(share), rows: self.channel.rows }
    }
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            job_id: String::new(),
            channel: ChannelLimits::default(),
            buffer_bytes: 512 << 20,
            coalesce: CoalesceLimits::default(),
            source_batch_rows: 8192,
            collector_rows: DEFAULT_COLLECTOR_ROWS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_channels_share_the_budget_and_few_have_their_limit() {
        let options = RuntimeOptions { buffer_bytes: 64 << 20, ..RuntimeOptions::default() };
        let bytes = [1, 64, 10_000].map(|channels| options.channel_limits(channels).bytes);
        assert_eq!(bytes, [4 << 20, 1 << 20, 128 << 10]);
    }
}
