//! The way out of a subtask: splitting and waiting, each with its time accounted, and yielding to others now and then.

use std::sync::Arc;

use rheos_core::element::Barrier;
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;
use rheos_core::time::Watermark;
use rheos_core::{Error, Result};
use rheos_exchange::{Disconnected, Outbox, SendError};

use crate::chain::{Call, Chain, Step};

/// After how many elements a task that never had to wait lets others run, and hears of a cancellation.
const YIELD_EVERY: u32 = 16;

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
            illegal @ SendError::Illegal(_) => Stop::Failed(Error::bug(illegal.to_string())),
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
}

impl Output {
    pub(crate) fn new(outbox: Outbox, clock: Arc<dyn Clock>, metrics: Arc<TaskMetrics>) -> Self {
        Output { outbox, clock, metrics, idle: false, since_yield: 0 }
    }

    /// Takes a call through the chain and sends what comes out of it.
    pub(crate) async fn drive(&mut self, chain: &mut Chain, call: Call) -> Result<(), Stop> {
        chain.begin(call)?;
        let mut woken = false;
        loop {
            let batch = match chain.step()? {
                Step::Out(batch) => batch,
                Step::Pause => {
                    self.breathe().await;
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
            self.send().await?;
        }
        if woken {
            self.outbox.watermark(Watermark::Idle)?;
            self.send().await?;
        }
        Ok(())
    }

    /// Calls the timers that are due.
    pub(crate) async fn fire_timers(&mut self, chain: &mut Chain) -> Result<(), Stop> {
        if let Some(due_ms) = chain.next_timer_ms() {
            let now_ms = self.clock.now_ms();
            if due_ms <= now_ms {
                self.drive(chain, Call::Timer(now_ms)).await?;
            }
        }
        Ok(())
    }

    /// A clock that stands still while the task waits for its output.
    pub(crate) fn active_ns(&self) -> u64 {
        self.clock.monotonic_ns().saturating_sub(self.metrics.wait_output_ns.get())
    }

    /// Lets the operators see a change of event time, and then all that follow.
    pub(crate) async fn watermark(&mut self, chain: &mut Chain, watermark: Watermark) -> Result<(), Stop> {
        match watermark {
            Watermark::At(at) => {
                self.metrics.watermark_ms.set(at);
                self.drive(chain, Call::Watermark(at)).await?;
            }
            Watermark::Idle => self.idle = true,
            Watermark::Active => self.idle = false,
        }
        self.outbox.watermark(watermark)?;
        self.send().await
    }

    /// Sends a barrier behind all rows before it.
    pub(crate) async fn barrier(&mut self, barrier: Barrier) -> Result<(), Stop> {
        self.outbox.barrier(barrier)?;
        self.send().await
    }

    /// Sends the end behind all rows before it.
    pub(crate) async fn end(&mut self) -> Result<(), Stop> {
        self.outbox.end()?;
        self.send().await
    }

    /// Lets go the rows that wait for more: the task has no input.
    pub(crate) async fn flush(&mut self) -> Result<(), Stop> {
        self.outbox.flush()?;
        self.send().await
    }

    /// To be called for each element and each step of a long call: a task that never has to wait gives way to others from time to time.
    pub(crate) async fn breathe(&mut self) {
        self.since_yield += 1;
        if self.since_yield >= YIELD_EVERY {
            self.since_yield = 0;
            tokio::task::yield_now().await;
        }
    }

    async fn send(&mut self) -> Result<(), Stop> {
        if self.outbox.try_send()? {
            return Ok(());
        }
        let start_ns = self.clock.monotonic_ns();
        let sent = self.outbox.send().await;
        self.metrics.wait_output_ns.add(self.clock.monotonic_ns().saturating_sub(start_ns));
        Ok(sent?)
    }
}
