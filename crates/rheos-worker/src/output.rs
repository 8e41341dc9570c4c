//! The way out of a subtask: splitting and waiting, each with its time accounted, and yielding to others now and then.

use std::future::poll_fn;
use std::sync::Arc;

use futures_util::future::{Either, select};
use rheos_core::element::Barrier;
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;
use rheos_core::time::Watermark;
use rheos_core::{Error, Result};
use rheos_exchange::{Disconnected, Outbox, Overtaken, SendError};

use crate::chain::{Call, Chain, Step};
use crate::urgency::Urgency;

/// After how many elements a task that never had to wait lets others run, and hears of a cancellation.
const YIELD_EVERY: u32 = 16;

/// How much a call may put out beyond the room that there is, in bytes, so that it comes to its end and a barrier can overtake what
/// it put out.
const HURRY_BYTES: usize = 32 << 20;

/// Why a task stops before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It failed.
    Failed(Error),
    /// A task that it is joined to is gone, for a reason that is told elsewhere.
    PeerGone,
}

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Stop::Failed(e)
    }
}

impl From<SendError> for Stop {
    fn from(e: SendError) -> Self {
        match e {
            SendError::Disconnected => Stop::PeerGone,
            e @ (SendError::Illegal(_) | SendError::Unsendable(..)) => Stop::Failed(e.into()),
        }
    }
}

impl From<Disconnected> for Stop {
    fn from(_: Disconnected) -> Self {
        Stop::PeerGone
    }
}

/// A subtask's outbox with its clock.
pub(crate) struct Output {
    outbox: Outbox,
    clock: Arc<dyn Clock>,
    metrics: Arc<TaskMetrics>,
    /// Whether those that follow were told that there is nothing to expect.
    idle: bool,
    since_yield: u32,
    /// Whether a barrier wants to overtake: the call is brought to its end without waiting for room.
    hurries: bool,
}

impl Output {
    pub(crate) fn new(outbox: Outbox, clock: Arc<dyn Clock>, metrics: Arc<TaskMetrics>) -> Self {
        Output { outbox, clock, metrics, idle: false, since_yield: 0, hurries: false }
    }

    /// Takes a call through the chain and sends what comes out of it.
    pub(crate) async fn drive(&mut self, chain: &mut Chain, call: Call, urgency: &mut Urgency<'_>) -> Result<(), Stop> {
        chain.begin(call)?;
        let mut woken = false;
        loop {
            let batch = match chain.step()? {
                Step::Out(batch) => batch,
                Step::Pause => {
                    self.breathe().await;
                    continue;
                }
                Step::Wait => {
                    poll_fn(|context| chain.poll_wait(context)).await;
                    continue;
                }
                Step::Complete => break,
            };
            let start_ns = self.clock.monotonic_ns();
            if self.idle && !woken {
                // A timer made rows while the inputs are idle: the stream speaks for as long as they last.
                self.outbox.watermark(Watermark::Active)?;
                woken = true;
            }
            self.outbox.push(batch)?;
            self.metrics.serialize_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
            self.send(urgency).await?;
        }
        if woken {
            self.outbox.watermark(Watermark::Idle)?;
            self.send(urgency).await?;
        }
        Ok(())
    }

    /// Calls the timers that are due.
    pub(crate) async fn fire_timers(&mut self, chain: &mut Chain, urgency: &mut Urgency<'_>) -> Result<(), Stop> {
        if let Some(due_ms) = chain.next_timer_ms() {
            let now_ms = self.clock.now_ms();
            if due_ms <= now_ms {
                self.drive(chain, Call::Timer(now_ms), urgency).await?;
            }
        }
        Ok(())
    }

    /// A clock that stands still while the task waits for its output.
    pub(crate) fn active_ns(&self) -> u64 {
        self.clock.monotonic_ns().saturating_sub(self.metrics.wait_output_ns.get())
    }

    /// Lets the operators see a change of event time, and then all that follow.
    pub(crate) async fn watermark(&mut self, chain: &mut Chain, mut watermark: Watermark, urgency: &mut Urgency<'_>) -> Result<(), Stop> {
        match &mut watermark {
            Watermark::At(at) => {
                self.metrics.watermark_ms.set(*at);
                self.drive(chain, Call::Watermark(*at), urgency).await?;
                *at = chain.output_watermark();
            }
            Watermark::Idle => self.idle = true,
            Watermark::Active => self.idle = false,
        }
        self.outbox.watermark(watermark)?;
        self.send(urgency).await
    }

    /// Sends a barrier behind all rows before it, or past them once it may overtake; returns copies of the rows overtaken.
    pub(crate) async fn barrier(&mut self, barrier: Barrier) -> Result<Vec<Overtaken>, Stop> {
        self.outbox.flush()?;
        if !barrier.may_overtake(self.clock.now_ms()) {
            self.outbox.barrier(barrier)?;
            if self.outbox.try_send()? {
                return Ok(Vec::new());
            }
            let start_ns = self.clock.monotonic_ns();
            let sent = match barrier.overtake_from_ms {
                None => Some(self.outbox.send().await),
                Some(from_ms) => {
                    let wait_ms = from_ms.saturating_sub(self.clock.now_ms()).max(0) as u64;
                    match select(std::pin::pin!(self.outbox.send()), self.clock.sleep_ms(wait_ms)).await {
                        Either::Left((sent, _)) => Some(sent),
                        Either::Right(_) => None,
                    }
                }
            };
            self.metrics.wait_output_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
            if let Some(sent) = sent {
                sent?;
                return Ok(Vec::new());
            }
        }
        Ok(self.outbox.overtake(barrier)?)
    }

    /// Sends the end behind all rows before it.
    pub(crate) async fn end(&mut self) -> Result<(), Stop> {
        self.outbox.end()?;
        self.wait().await
    }

    /// Lets go the rows that wait for more: the task has no input.
    pub(crate) async fn flush(&mut self, urgency: &mut Urgency<'_>) -> Result<(), Stop> {
        self.outbox.flush()?;
        self.send(urgency).await
    }

    /// Whether a barrier wants to overtake what has not left.
    pub(crate) fn hurries(&self) -> bool {
        self.hurries
    }

    /// The barrier has been seen to.
    pub(crate) fn take_hurry(&mut self) {
        self.hurries = false;
    }

    /// To be called for each element and each step of a long call: a task that never has to wait gives way to others from time to time.
    pub(crate) async fn breathe(&mut self) {
        self.since_yield += 1;
        if self.since_yield >= YIELD_EVERY {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
    }

    /// Sends what is on its way, or leaves it there when a barrier wants to overtake it.
    pub(crate) async fn send(&mut self, urgency: &mut Urgency<'_>) -> Result<(), Stop> {
        if self.outbox.try_send()? {
            return Ok(());
        }
        if self.hurries {
            return if self.outbox.staged_bytes() < HURRY_BYTES { Ok(()) } else { self.wait().await };
        }
        let start_ns = self.clock.monotonic_ns();
        let sent = {
            let (send, due) = (std::pin::pin!(self.outbox.send()), std::pin::pin!(urgency.due(self.clock.as_ref())));
            match select(send, due).await {
                Either::Left((sent, _)) => Some(sent),
                Either::Right(_) => None,
            }
        };
        self.metrics.wait_output_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
        match sent {
            Some(sent) => Ok(sent?),
            None => {
                self.hurries = true;
                Ok(())
            }
        }
    }

    /// Sends what is on its way, however long that takes.
    pub(crate) async fn wait(&mut self) -> Result<(), Stop> {
        if self.outbox.try_send()? {
            return Ok(());
        }
        let start_ns = self.clock.monotonic_ns();
        let sent = self.outbox.send().await;
        self.metrics.wait_output_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
        Ok(sent?)
    }
}
