//! A subtask that takes its input from other tasks.

use std::sync::Arc;

use futures_util::future::{Either, select};
use rheos_core::element::{Barrier, Element};
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;
use rheos_core::sink::CommitToken;
use rheos_core::time::{MAX_WATERMARK, Watermark, WatermarkMerger};
use rheos_exchange::{Inbox, Received};

use crate::align::{Aligner, SnapshotHook, SubtaskSnapshot};
use crate::chain::{Call, Chain};
use crate::options::FINAL_EPOCH;
use crate::output::{Output, Stop};

/// Takes elements from an inbox through a chain until all channels have ended.
pub(crate) struct InboxTask {
    pub(crate) inbox: Inbox,
    pub(crate) merger: WatermarkMerger,
    pub(crate) aligner: Aligner,
    pub(crate) chain: Chain,
    pub(crate) output: Output,
    pub(crate) index: usize,
    pub(crate) snapshots: Option<Arc<dyn SnapshotHook>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<TaskMetrics>,
}

impl InboxTask {
    pub(crate) async fn run(&mut self) -> Result<Vec<CommitToken>, Stop> {
        self.chain.open()?;
        while self.inbox.open_channels() > 0 {
            self.output.breathe().await;
            self.output.fire_timers(&mut self.chain).await?;
            let Received { channel, port, element, bytes } = match self.inbox.try_next()? {
                Some(received) => received,
                None => self.wait().await?,
            };
            match element {
                Element::Batch(batch) => {
                    self.metrics.rows_in.add(batch.num_rows() as u64);
                    self.metrics.bytes_in.add(bytes as u64);
                    self.output.drive(&mut self.chain, Call::Batch(port, batch)).await?;
                }
                Element::Watermark(said) => self.merge(channel, said).await?,
                Element::Barrier(barrier) => {
                    self.inbox.hold_back(channel);
                    if let Some(aligned) = self.aligner.barrier(channel, barrier)? {
                        self.snapshot(aligned).await?;
                    }
                }
                Element::End => {
                    if let Some(aligned) = self.aligner.end(channel) {
                        self.snapshot(aligned).await?;
                    }
                    self.merge(channel, Watermark::At(MAX_WATERMARK)).await?;
                }
            }
        }
        self.output.drive(&mut self.chain, Call::Finish).await?;
        let tokens = self.chain.prepare(FINAL_EPOCH)?;
        self.output.end().await?;
        Ok(tokens)
    }

    async fn merge(&mut self, channel: usize, said: Watermark) -> Result<(), Stop> {
        for watermark in self.merger.update(channel, said) {
            self.output.watermark(&mut self.chain, watermark).await?;
        }
        Ok(())
    }

    async fn snapshot(&mut self, barrier: Barrier) -> Result<(), Stop> {
        let operators = self.chain.snapshot()?;
        let tokens = self.chain.prepare(barrier.epoch)?;
        if let Some(hook) = &self.snapshots {
            hook.taken(SubtaskSnapshot { epoch: barrier.epoch, index: self.index, operators, tokens });
        }
        self.output.barrier(barrier).await?;
        self.inbox.poll_all();
        Ok(())
    }

    /// Lets the rows go that are ready, then waits for input; timers fire meanwhile.
    async fn wait(&mut self) -> Result<Received, Stop> {
        loop {
            self.output.flush().await?;
            let start_ns = self.clock.monotonic_ns();
            let received = match self.chain.next_timer_ms() {
                None => Some(self.inbox.next().await?),
                Some(due_ms) => {
                    let sleep = self.clock.sleep_ms(due_ms.saturating_sub(self.clock.now_ms()).max(0) as u64);
                    match select(std::pin::pin!(self.inbox.next()), sleep).await {
                        Either::Left((received, _)) => Some(received?),
                        Either::Right(_) => None,
                    }
                }
            };
            self.metrics.wait_input_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
            if let Some(received) = received {
                return Ok(received);
            }
            self.output.breathe().await;
            self.output.fire_timers(&mut self.chain).await?;
        }
    }
}
