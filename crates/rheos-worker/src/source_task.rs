//! A subtask that reads a table: reader, watermarks, chain, outbox.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use rheos_core::element::Barrier;
use rheos_core::env::Clock;
use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_core::operator::OperatorContext;
use rheos_core::snapshot::{ListKind, OperatorSnapshot};
use rheos_core::source::{SourceEvent, SourceReader, Split};
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs, Watermark};
use rheos_core::{Batch, Error, Result};
use rheos_graph::NodeId;
use serde::{Deserialize, Serialize};

use crate::chain::{Call, Chain, label};
use crate::control::{Command, Mailbox};
use crate::output::{Output, Stop};
use crate::part::TakenPart;
use crate::report::{TaskEvent, tell};
use crate::snapshots::Snapshots;
use crate::split_watermarks::{RowMark, SplitWatermarks};
use crate::urgency::Urgency;

/// The name of a source's state: its splits, each an item.
const SPLITS: &str = "splits";

/// A split in a snapshot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredSplit {
    pub(crate) split: Split,
    /// The watermark of its rows so far, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) watermark_ms: Option<TimestampMs>,
    /// Whether it has no more rows.
    #[serde(default)]
    pub(crate) ended: bool,
}

impl StoredSplit {
    /// The splits in the state of a source.
    pub(crate) fn all_in(state: &OperatorSnapshot) -> Result<Vec<StoredSplit>> {
        let read = |item: &Vec<u8>| {
            serde_json::from_slice(item).map_err(|e| Error::corrupt(format!("a split in the state of a source: {e}")).caused_by(e))
        };
        state.list(SPLITS).iter().map(read).collect()
    }
}

/// Takes what a reader reads through a chain until all splits have ended.
pub(crate) struct SourceTask {
    pub(crate) reader: Box<dyn SourceReader>,
    pub(crate) context: OperatorContext,
    /// Its node.
    pub(crate) node: NodeId,
    /// How many splits the reader has.
    pub(crate) splits: usize,
    /// Splits that had ended before the snapshot that the job goes on from: they are not read again.
    pub(crate) ended: Vec<StoredSplit>,
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
    pub(crate) snapshots: Snapshots,
    pub(crate) mailbox: Mailbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Arc<TaskMetrics>,
}

impl SourceTask {
    pub(crate) async fn run(&mut self) -> Result<TakenPart, Stop> {
        self.rest.chain.open()?;
        // Rows on their way were behind no watermark of the source's: they go first.
        for (at, port, batch) in std::mem::take(&mut self.rest.snapshots.in_flight) {
            self.rest.drive(Call::Batch(at, port, batch)).await?;
        }
        self.rest.say(self.watermarks.current()).await?;
        loop {
            self.rest.output.breathe().await;
            while let Some(command) = self.rest.mailbox.take() {
                self.obey(command).await?;
            }
            self.rest.output.take_hurry();
            self.rest.send().await?;
            self.watermarks.polled(|split| self.reader.is_polled(split), self.rest.output.active_ns());
            self.drained().await?;
            self.rest.fire_timers(&mut self.watermarks).await?;
            match self.next().await? {
                Some(SourceEvent::Rows { split, batch }) => {
                    self.check(split)?;
                    // What has been found waits from now on: these rows must not lead past it.
                    self.drained().await?;
                    self.rows(split, batch).await?;
                }
                Some(SourceEvent::SplitEnd { split }) => {
                    self.check(split)?;
                    self.rest.say(self.watermarks.split_end(split)).await?;
                }
                Some(SourceEvent::End) => break,
                Some(SourceEvent::Drained) | None => {}
            }
        }
        let said = self.watermarks.end();
        self.rest.say(said).await?;
        self.rest.drive(Call::Finish).await?;
        let state = self.state()?;
        let mut part = self.rest.snapshots.last(&mut self.rest.chain)?;
        part.states.push((self.node, state));
        self.rest.output.end().await?;
        Ok(part)
    }

    async fn obey(&mut self, command: Command) -> Result<(), Stop> {
        match command {
            Command::Completed(epoch) => self.rest.chain.completed(epoch),
            Command::Trigger { barrier, stop } if barrier.epoch > self.rest.snapshots.last_epoch => {
                self.snapshot(barrier).await?;
                if stop {
                    // No rows follow, whatever happens: the job ends here.
                    self.rest.output.wait().await?;
                    pending::<()>().await;
                }
            }
            Command::Trigger { .. } | Command::Aborted(_) => {}
        }
        Ok(())
    }

    async fn snapshot(&mut self, barrier: Barrier) -> Result<(), Stop> {
        let state = self.state()?;
        let Rest { chain, output, snapshots, clock, .. } = &mut self.rest;
        let mut part = snapshots.take(chain, barrier, || clock.monotonic_ns())?;
        part.states.push((self.node, state));
        let overtaken = output.barrier(barrier).await?;
        output.take_hurry();
        part.in_flight = snapshots.origins.in_flight(Default::default(), overtaken);
        tell(&snapshots.reports, TaskEvent::Taken { barrier, part: Box::new(part) });
        Ok(())
    }

    /// The splits, where each stands.
    fn state(&self) -> Result<OperatorSnapshot> {
        let positions = self.reader.positions().map_err(|e| e.context(label(&self.context)))?;
        if positions.len() != self.splits {
            let message = format!("{} positions of {} splits", positions.len(), self.splits);
            return Err(Error::bug(message).context(label(&self.context)));
        }
        let stored = positions.into_iter().enumerate().map(|(i, split)| {
            let at = self.watermarks.of_split(i);
            let watermark_ms = Some(at).filter(|at| *at > MIN_WATERMARK && *at < MAX_WATERMARK);
            StoredSplit { split, watermark_ms, ended: self.watermarks.has_ended(i) }
        });
        let mut state = OperatorSnapshot::new();
        for split in self.ended.iter().cloned().chain(stored) {
            state.put_list(SPLITS, ListKind::Split, serde_json::to_vec(&split)?);
        }
        Ok(state)
    }

    fn check(&self, split: usize) -> Result<()> {
        if split < self.splits {
            return Ok(());
        }
        Err(Error::bug(format!("rows of split {split}, but the reader has {}", self.splits)).context(label(&self.context)))
    }

    /// Learns in which splits nothing waits.
    async fn drained(&mut self) -> Result<(), Stop> {
        let Some(drained) = self.reader.drained() else { return Ok(()) };
        let said = self.watermarks.drained(drained, self.rest.output.active_ns());
        self.rest.say(said).await
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
    /// become idle; nothing is returned when a command has come.
    async fn next(&mut self) -> Result<Option<SourceEvent>, Stop> {
        let SourceTask { reader, reading, context, watermarks, rest, .. } = self;
        let mut read = Read { next: reader.next(self.batch_rows), reading, pending_since_ns: None };
        let event = match (&mut read).now_or_never() {
            Some(event) => event,
            None => loop {
                read.pause();
                rest.flush().await?;
                if rest.output.hurries() {
                    return Ok(None);
                }
                let mut sleep = rest.wait_ms(watermarks).map(|ms| rest.clock.sleep_ms(ms));
                let mailbox = &mut rest.mailbox;
                let waited = poll_fn(|context| {
                    if let Poll::Ready(event) = read.poll_unpin(context) {
                        return Poll::Ready(Waited::Read(event));
                    }
                    if mailbox.poll_any(context).is_ready() {
                        return Poll::Ready(Waited::Told);
                    }
                    match sleep.as_mut().map(|sleep| sleep.poll_unpin(context)) {
                        Some(Poll::Ready(())) => Poll::Ready(Waited::Slept),
                        _ => Poll::Pending,
                    }
                });
                match waited.await {
                    Waited::Read(event) => break event,
                    Waited::Told => {
                        read.pause();
                        return Ok(None);
                    }
                    Waited::Slept => {}
                }
                read.pause();
                rest.output.breathe().await;
                rest.fire_timers(watermarks).await?;
            },
        };
        event.map(Some).map_err(|e| e.context(label(context)).into())
    }

    /// Who was called last, for the message about a panic.
    pub(crate) fn called(&self) -> Option<String> {
        if self.reading.now { Some(label(&self.context)) } else { self.rest.chain.called().or_else(|| Some(label(&self.context))) }
    }
}

/// How waiting for a reader ended.
enum Waited {
    Read(Result<SourceEvent>),
    /// There is a command.
    Told,
    /// Something else is due.
    Slept,
}

impl Rest {
    async fn push(&mut self, batch: Batch) -> Result<(), Stop> {
        self.drive(Call::Batch(0, 0, batch)).await
    }

    async fn drive(&mut self, call: Call) -> Result<(), Stop> {
        self.output.drive(&mut self.chain, call, &mut Urgency::Mailbox(&mut self.mailbox)).await
    }

    async fn say(&mut self, watermarks: Vec<Watermark>) -> Result<(), Stop> {
        for watermark in watermarks {
            self.output.watermark(&mut self.chain, watermark, &mut Urgency::Mailbox(&mut self.mailbox)).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        self.output.flush(&mut Urgency::Mailbox(&mut self.mailbox)).await
    }

    /// Sends what a barrier has overtaken.
    async fn send(&mut self) -> Result<(), Stop> {
        self.output.send(&mut Urgency::Mailbox(&mut self.mailbox)).await
    }

    async fn fire_timers(&mut self, watermarks: &mut SplitWatermarks) -> Result<(), Stop> {
        self.output.fire_timers(&mut self.chain, &mut Urgency::Mailbox(&mut self.mailbox)).await?;
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
