//! A subtask that takes its input from other tasks.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use futures_util::FutureExt;
use rheos_checkpoint::{Alignment, Step};
use rheos_core::element::Element;
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;
use rheos_core::time::{MAX_WATERMARK, Watermark, WatermarkMerger};
use rheos_exchange::{Disconnected, Inbox, Received};

use crate::chain::{Call, Chain};
use crate::control::{Command, Mailbox};
use crate::output::{Output, Stop};
use crate::part::TakenPart;
use crate::report::{TaskEvent, tell};
use crate::snapshots::Snapshots;
use crate::urgency::Urgency;

/// Takes elements from an inbox through a chain until all channels have ended.
pub(crate) struct InboxTask {
    pub(crate) inbox: Inbox,
    pub(crate) merger: WatermarkMerger,
    pub(crate) alignment: Alignment,
    pub(crate) chain: Chain,
    pub(crate) output: Output,
    pub(crate) snapshots: Snapshots,
    pub(crate) mailbox: Mailbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<TaskMetrics>,
}

impl InboxTask {
    pub(crate) async fn run(&mut self) -> Result<TakenPart, Stop> {
        self.chain.open()?;
        for (at, port, batch) in std::mem::take(&mut self.snapshots.in_flight) {
            self.drive(Call::Batch(at, port, batch)).await?;
        }
        while self.inbox.open_channels() > 0 {
            self.output.breathe().await;
            while let Some(command) = self.mailbox.take() {
                self.obey(command).await?;
            }
            self.overtake().await?;
            self.output.fire_timers(&mut self.chain, &mut Urgency::Inbox(&self.inbox, &self.alignment)).await?;
            let received = match self.inbox.try_next()? {
                Some(received) => Some(received),
                None => self.wait().await?,
            };
            if let Some(received) = received {
                self.take_in(received).await?;
            }
        }
        self.drive(Call::Finish).await?;
        let part = self.snapshots.last(&mut self.chain)?;
        self.output.end().await?;
        Ok(part)
    }

    async fn take_in(&mut self, received: Received) -> Result<(), Stop> {
        let Received { channel, port, element, bytes } = received;
        match element {
            Element::Batch(batch) => {
                self.metrics.rows_in.add(batch.num_rows() as u64);
                self.metrics.bytes_in.add(bytes as u64);
                if self.alignment.recording(channel)
                    && let Some(current) = self.alignment.current()
                {
                    self.snapshots.recorded.add(current.epoch, channel, vec![batch.clone()]);
                }
                self.drive(Call::Batch(0, port, batch)).await
            }
            Element::Watermark(said) => self.merge(channel, said).await,
            Element::Barrier(barrier) => {
                let steps = self.alignment.barrier(channel, barrier, self.clock.now_ms());
                self.carry_out(steps).await
            }
            Element::End => {
                let steps = self.alignment.end(channel, self.clock.now_ms());
                self.carry_out(steps).await?;
                self.merge(channel, Watermark::At(MAX_WATERMARK)).await
            }
        }
    }

    async fn drive(&mut self, call: Call) -> Result<(), Stop> {
        self.output.drive(&mut self.chain, call, &mut Urgency::Inbox(&self.inbox, &self.alignment)).await
    }

    async fn merge(&mut self, channel: usize, said: Watermark) -> Result<(), Stop> {
        for watermark in self.merger.update(channel, said) {
            self.output.watermark(&mut self.chain, watermark, &mut Urgency::Inbox(&self.inbox, &self.alignment)).await?;
        }
        Ok(())
    }

    async fn obey(&mut self, command: Command) -> Result<(), Stop> {
        match command {
            Command::Completed(epoch) => self.chain.completed(epoch),
            Command::Aborted(epoch) => {
                let steps = self.alignment.aborted(epoch);
                self.carry_out(steps).await?;
            }
            Command::Trigger { .. } => {}
        }
        Ok(())
    }

    /// Lets barriers overtake whose time has come, then sends what could not leave.
    async fn overtake(&mut self) -> Result<(), Stop> {
        loop {
            let now_ms = self.clock.now_ms();
            for (channel, barrier) in self.inbox.queued_barriers() {
                if barrier.may_overtake(now_ms) && self.alignment.awaits(channel, barrier) {
                    let rows = self.inbox.overtake(channel, barrier.epoch);
                    self.snapshots.recorded.add(barrier.epoch, channel, rows);
                    let steps = self.alignment.barrier(channel, barrier, now_ms);
                    self.carry_out(steps).await?;
                }
            }
            if self.alignment.deadline_ms().is_some_and(|at_ms| at_ms <= now_ms) {
                let steps = self.alignment.overtake(now_ms);
                self.carry_out(steps).await?;
            }
            self.output.take_hurry();
            self.output.send(&mut Urgency::Inbox(&self.inbox, &self.alignment)).await?;
            if !self.output.hurries() {
                return Ok(());
            }
        }
    }

    async fn carry_out(&mut self, steps: Vec<Step>) -> Result<(), Stop> {
        for step in steps {
            match step {
                Step::HoldBack(channel) => {
                    self.snapshots.aligning_since_ns.get_or_insert(self.clock.monotonic_ns());
                    self.inbox.hold_back(channel);
                }
                Step::ReleaseAll => self.inbox.poll_all(),
                Step::Abandon(epoch) => {
                    self.snapshots.aligning_since_ns = None;
                    self.snapshots.recorded.take(epoch);
                    if self.snapshots.open.take().is_some() {
                        // What changed before it is in no part that is handed over.
                        self.snapshots.wants_full.store(true, Ordering::Relaxed);
                    }
                }
                Step::Snapshot(barrier) => {
                    let clock = Arc::clone(&self.clock);
                    let part = self.snapshots.take(&mut self.chain, barrier, || clock.monotonic_ns())?;
                    let overtaken = self.output.barrier(barrier).await?;
                    self.snapshots.open = Some((barrier, part, overtaken));
                }
                Step::Complete(epoch) => {
                    let recorded = self.snapshots.recorded.take(epoch);
                    if let Some((barrier, mut part, overtaken)) = self.snapshots.open.take().filter(|(of, ..)| of.epoch == epoch) {
                        part.in_flight = self.snapshots.origins.in_flight(recorded, overtaken);
                        tell(&self.snapshots.reports, TaskEvent::Taken { barrier, part: Box::new(part) });
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets the rows go that are ready, then waits for input or for whatever else is to be done; timers fire meanwhile.
    async fn wait(&mut self) -> Result<Option<Received>, Stop> {
        self.output.flush(&mut Urgency::Inbox(&self.inbox, &self.alignment)).await?;
        if self.output.hurries() {
            return Ok(None);
        }
        let start_ns = self.clock.monotonic_ns();
        let due_ms = self.chain.next_timer_ms().into_iter().chain(self.alignment.deadline_ms()).min();
        let mut sleep = due_ms.map(|due_ms| self.clock.sleep_ms(due_ms.saturating_sub(self.clock.now_ms()).max(0) as u64));
        let (inbox, mailbox) = (&mut self.inbox, &mut self.mailbox);
        let received: Result<Option<Received>, Disconnected> = poll_fn(|context| {
            if let Poll::Ready(received) = inbox.poll_next(context) {
                return Poll::Ready(received.map(Some));
            }
            let is_due = sleep.as_mut().is_some_and(|sleep| sleep.poll_unpin(context).is_ready());
            if is_due || mailbox.poll_any(context).is_ready() { Poll::Ready(Ok(None)) } else { Poll::Pending }
        })
        .await;
        self.metrics.wait_input_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
        Ok(received?)
    }
}
