//! A subtask that reads a table: reader, watermarks, chain, outbox.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use rheos_core::env::Clock;
use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_core::operator::OperatorContext;
use rheos_core::sink::CommitToken;
use rheos_core::source::{SourceEvent, SourceReader};
use rheos_core::time::Watermark;
use rheos_core::{Batch, Error, Result};

use crate::chain::{Call, Chain, label};
use crate::options::FINAL_EPOCH;
use crate::output::{Output, Stop};
use crate::split_watermarks::{RowMark, SplitWatermarks};

/// Takes what a reader reads through a chain until all splits have ended.
pub(crate) struct SourceTask {
    pub(crate) reader: Box<dyn SourceReader>,
    pub(crate) context: OperatorContext,
    /// How many splits the reader has.
    pub(crate) splits: usize,
    pub(crate) watermarks: SplitWatermarks,
    /// Whether a watermark follows each row that advances it.
    pub(crate) per_row: bool,
    pub(crate) batch_rows: usize,
    pub(crate) reading: Reading,
    pub(crate) rest: Rest,
}

/// What of a source task goes on while the reader is being waited for.
pub(crate) struct Rest {
    pub(crate) chain: Chain,
    pub(crate) output: Output,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<TaskMetrics>,
}

impl SourceTask {
    pub(crate) async fn run(&mut self) -> Result<Vec<CommitToken>, Stop> {
        self.rest.chain.open()?;
        loop {
            self.rest.output.breathe().await;
            self.watermarks.polled(|split| self.reader.is_polled(split), self.rest.output.active_ns());
            self.rest.fire_timers(&mut self.watermarks).await?;
            match self.next().await? {
                SourceEvent::Rows { split, batch } => {
                    self.check(split)?;
                    self.rows(split, batch).await?;
                }
                SourceEvent::SplitEnd { split } => {
                    self.check(split)?;
                    self.rest.say(self.watermarks.split_end(split)).await?;
                }
                SourceEvent::End => break,
            }
        }
        let Rest { chain, output, .. } = &mut self.rest;
        for watermark in self.watermarks.end() {
            output.watermark(chain, watermark).await?;
        }
        output.drive(chain, Call::Finish).await?;
        let tokens = chain.prepare(FINAL_EPOCH)?;
        output.end().await?;
        Ok(tokens)
    }

    fn check(&self, split: usize) -> Result<()> {
        if split < self.splits {
            return Ok(());
        }
        Err(Error::bug(format!("rows of split {split}, but the reader has {}", self.splits)).context(label(&self.context)))
    }

    async fn rows(&mut self, split: usize, batch: Batch) -> Result<(), Stop> {
        let (rows, metrics) = (batch.num_rows(), &self.rest.metrics);
        if rows == 0 {
            return Err(Error::bug("the reader gave an empty batch").context(label(&self.context)).into());
        }
        metrics.rows_in.add(rows as u64);
        metrics.bytes_in.add(batch.retained_bytes() as u64);
        self.context.metrics.rows_out.add(rows as u64);
        let start_ns = self.rest.clock.monotonic_ns();
        let before = self.watermarks.before_rows(split, self.rest.output.active_ns());
        let marks = if self.per_row {
            self.watermarks.after_each_row(split, &batch)
        } else {
            self.watermarks.after_rows(split, &batch).map(|said| vec![RowMark { end: rows, said }])
        };
        let elapsed_ns = self.rest.clock.monotonic_ns().saturating_sub(start_ns);
        self.context.metrics.process_ns.add(elapsed_ns);
        metrics.process_ns.add(elapsed_ns);
        let marks = marks.map_err(|e| e.context(label(&self.context)))?;

        self.rest.say(before).await?;
        let mut start = 0;
        for RowMark { end, said } in marks {
            let part = if end - start == rows { batch.clone() } else { batch.slice(start, end - start) };
            self.rest.push(part).await?;
            self.rest.say(said).await?;
            start = end;
        }
        if start < rows {
            self.rest.push(if start == 0 { batch } else { batch.slice(start, rows - start) }).await?;
        }
        Ok(())
    }

    /// What the reader has to say next. While it has nothing, the rows that wait for more are let go, timers fire, and splits
    /// become idle.
    async fn next(&mut self) -> Result<SourceEvent, Stop> {
        let SourceTask { reader, reading, context, watermarks, rest, .. } = self;
        let mut read = Read { next: reader.next(self.batch_rows), reading, pending_since_ns: None };
        let event = match (&mut read).now_or_never() {
            Some(event) => event,
            None => loop {
                read.pause();
                rest.output.flush().await?;
                match rest.wait_ms(watermarks) {
                    None => break (&mut read).await,
                    Some(ms) => {
                        if let Either::Left((event, _)) = select(&mut read, rest.clock.sleep_ms(ms)).await {
                            break event;
                        }
                    }
                }
                read.pause();
                rest.output.breathe().await;
                rest.fire_timers(watermarks).await?;
            },
        };
        event.map_err(|e| e.context(label(context)).into())
    }

    /// Who was called last, for the message about a panic.
    pub(crate) fn called(&self) -> Option<String> {
        if self.reading.now { Some(label(&self.context)) } else { self.rest.chain.called().or_else(|| Some(label(&self.context))) }
    }
}

impl Rest {
    async fn push(&mut self, batch: Batch) -> Result<(), Stop> {
        self.output.drive(&mut self.chain, Call::Batch(0, batch)).await
    }

    async fn say(&mut self, watermarks: Vec<Watermark>) -> Result<(), Stop> {
        for watermark in watermarks {
            self.output.watermark(&mut self.chain, watermark).await?;
        }
        Ok(())
    }

    async fn fire_timers(&mut self, watermarks: &mut SplitWatermarks) -> Result<(), Stop> {
        self.output.fire_timers(&mut self.chain).await?;
        if watermarks.next_idle_ns().is_some() {
            let said = watermarks.idle(self.output.active_ns());
            self.say(said).await?;
        }
        Ok(())
    }

    /// How long to wait for rows before something else is due.
    fn wait_ms(&self, watermarks: &SplitWatermarks) -> Option<u64> {
        let timer_ms = self.chain.next_timer_ms().map(|due_ms| due_ms.saturating_sub(self.clock.now_ms()).max(0) as u64);
        let idle_ms = watermarks.next_idle_ns().map(|at_ns| at_ns.saturating_sub(self.output.active_ns()).div_ceil(1_000_000));
        timer_ms.into_iter().chain(idle_ms).min()
    }
}

/// Where the time spent in a reader is accounted.
pub(crate) struct Reading {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) task: Arc<TaskMetrics>,
    pub(crate) source: Arc<OperatorMetrics>,
    /// Whether the reader is at work: it is to be named if it panics.
    pub(crate) now: bool,
}

/// A call of the reader, with the time in it told from the time that it waits.
struct Read<'a> {
    next: BoxFuture<'a, Result<SourceEvent>>,
    reading: &'a mut Reading,
    pending_since_ns: Option<u64>,
}

impl Read<'_> {
    /// The task turns to something else, which is not waiting for input.
    fn pause(&mut self) {
        let now_ns = self.reading.clock.monotonic_ns();
        self.waited_until(now_ns);
    }

    fn waited_until(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.pending_since_ns.take() {
            self.reading.task.wait_input_ns.add(now_ns.saturating_sub(since_ns));
        }
    }
}

impl Future for Read<'_> {
    type Output = Result<SourceEvent>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let start_ns = self.reading.clock.monotonic_ns();
        self.waited_until(start_ns);
        self.reading.now = true;
        let polled = self.next.poll_unpin(context);
        self.reading.now = false;
        let end_ns = self.reading.clock.monotonic_ns();
        let elapsed_ns = end_ns.saturating_sub(start_ns);
        self.reading.task.deserialize_ns.add(elapsed_ns);
        self.reading.source.process_ns.add(elapsed_ns);
        if polled.is_pending() {
            self.pending_since_ns = Some(end_ns);
        }
        polled
    }
}
