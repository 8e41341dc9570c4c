//! Drives a chain of operators, and the sink at its end, one call at a time.
//!
//! A call (rows, a watermark, a timer, the finish) is begun with [`Chain::begin`]; then [`Chain::step`] goes on with it,
//! and gives out what comes, until it is complete. Between two steps no operator holds more than its collector has room for and one
//! batch beyond that: the furthest operator that has something to give, or asked to be resumed, always goes first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use rheos_core::collector::Collector;
use rheos_core::element::Epoch;
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::sink::{CommitToken, Sink};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_core::{Batch, Error, Result};

/// What a chain is told.
#[derive(Debug)]
pub(crate) enum Call {
    /// Rows for an input of the operator at a position, of the first as a rule: position, input, rows.
    Batch(usize, usize, Batch),
    /// Event time on all inputs.
    Watermark(TimestampMs),
    /// Processing time.
    Timer(TimestampMs),
    /// All inputs have ended.
    Finish,
}

/// How far a call has come.
#[derive(Debug)]
pub(crate) enum Step {
    /// These rows leave the chain.
    Out(Batch),
    /// There is more to do: a moment to let others run.
    Pause,
    /// An operator waits for something from outside: to be awaited by [`Chain::poll_wait`].
    Wait,
    /// The call is complete.
    Complete,
}

/// The part of a [`Call`] that each operator is told in turn, when those before it are done with it.
#[derive(Debug, Clone, Copy)]
enum Signal {
    /// Told to the first operator only; the others get what it emits.
    Rows,
    Watermark(TimestampMs),
    Timer(TimestampMs),
    Finish,
}

struct Link {
    operator: Box<dyn Operator>,
    context: OperatorContext,
    collector: Collector,
    /// Whether its last call is complete; if not, it is to be resumed.
    progress: Progress,
    /// What it is to go on with; taken when it is opened.
    restored: Option<OperatorSnapshot>,
}

/// The operators of a subtask.
pub(crate) struct Chain {
    links: Vec<Link>,
    sink: Option<(Box<dyn Sink>, OperatorContext)>,
    /// What the sink prepared and does not know to be complete.
    prepared: Vec<CommitToken>,
    clock: Arc<dyn Clock>,
    metrics: Arc<TaskMetrics>,
    /// The call that is going on.
    signal: Option<Signal>,
    /// The operator that is being told of it.
    told: usize,
    /// The furthest operator that may have something to give.
    furthest: usize,
    /// Rows for a chain without operators.
    passing: Option<Batch>,
    /// The watermark that holds for what leaves the chain.
    watermark: TimestampMs,
    /// The operator (the sink: one after the last) that was called last: to be named if it panics.
    called: usize,
    /// Since when the operator that was called last has waited for something from outside.
    waiting: Option<u64>,
    closed: bool,
}

impl Chain {
    pub(crate) fn new(clock: Arc<dyn Clock>, metrics: Arc<TaskMetrics>) -> Self {
        Chain {
            links: Vec::new(),
            sink: None,
            prepared: Vec::new(),
            clock,
            metrics,
            signal: None,
            told: 0,
            furthest: 0,
            passing: None,
            watermark: MIN_WATERMARK,
            called: 0,
            waiting: None,
            closed: false,
        }
    }

    pub(crate) fn add_operator(
        &mut self,
        operator: Box<dyn Operator>,
        context: OperatorContext,
        collector_rows: usize,
        restored: Option<OperatorSnapshot>,
    ) {
        self.links.push(Link { operator, context, collector: Collector::new(collector_rows), progress: Progress::Done, restored });
    }

    pub(crate) fn set_sink(&mut self, sink: Box<dyn Sink>, context: OperatorContext) {
        self.sink = Some((sink, context));
    }

    /// Opens all operators.
    pub(crate) fn open(&mut self) -> Result<()> {
        for i in 0..self.links.len() {
            self.called = i;
            let link = &mut self.links[i];
            let restored = link.restored.take();
            link.operator.open(link.context.clone(), restored).map_err(|e| e.context(label(&link.context)))?;
        }
        Ok(())
    }

    /// Begins a call. The call before it must have been completed.
    pub(crate) fn begin(&mut self, call: Call) -> Result<()> {
        if self.signal.is_some() {
            return Err(Error::bug("a call was begun before the last one was complete"));
        }
        (self.told, self.furthest) = (0, 0);
        match call {
            Call::Batch(at, port, batch) => {
                self.signal = Some(Signal::Rows);
                if at >= self.links.len() {
                    self.passing = Some(batch);
                    return Ok(());
                }
                (self.told, self.furthest) = (at, at);
                self.rows(at, port, batch)
            }
            Call::Watermark(at) => self.signal(Signal::Watermark(at)),
            Call::Timer(now_ms) => self.signal(Signal::Timer(now_ms)),
            Call::Finish => self.signal(Signal::Finish),
        }
    }

    /// Goes on with the call until something comes out of the chain, or for a while. A sink takes its rows here.
    pub(crate) fn step(&mut self) -> Result<Step> {
        let Some(mut signal) = self.signal else { return Ok(Step::Complete) };
        if let Some(batch) = self.passing.take()
            && let Some(out) = self.put_out(batch)?
        {
            return Ok(Step::Out(out));
        }
        while self.told < self.links.len() {
            let i = self.furthest;
            if let Some(batch) = self.links[i].collector.pop() {
                self.links[i].context.metrics.rows_out.add(batch.num_rows() as u64);
                if i + 1 < self.links.len() {
                    self.rows(i + 1, 0, batch)?;
                    self.furthest = i + 1;
                } else if let Some(out) = self.put_out(batch)? {
                    return Ok(Step::Out(out));
                }
            } else if self.links[i].progress == Progress::Wait {
                // It is awaited once; then it is resumed.
                self.links[i].progress = Progress::More;
                (self.called, self.waiting) = (i, Some(self.clock.monotonic_ns()));
                return Ok(Step::Wait);
            } else if self.links[i].progress == Progress::More {
                self.call(i, |operator, out| operator.resume(out))?;
                return Ok(Step::Pause);
            } else if i > self.told {
                self.furthest = i - 1;
            } else {
                self.told = if matches!(signal, Signal::Rows) { self.links.len() } else { i + 1 };
                self.furthest = self.told;
                if let Some(Signal::Watermark(at)) = &mut self.signal {
                    // What follows hears what holds for the rows of the one before.
                    *at = self.links[i].operator.output_watermark(*at);
                    signal = Signal::Watermark(*at);
                }
                self.tell(signal)?;
            }
        }
        self.signal = None;
        if let Signal::Watermark(at) = signal {
            self.watermark = at;
        }
        if let (Signal::Watermark(at), Some((sink, context))) = (signal, &mut self.sink) {
            self.called = self.links.len();
            sink.watermark(at).map_err(|e| e.context(label(context)))?;
        }
        Ok(Step::Complete)
    }

    /// After [`Step::Wait`]: becomes ready when the operator has what it waits for. That time counts as its work: it is what holds
    /// the task up.
    pub(crate) fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (Some(since_ns), Some(link)) = (self.waiting, self.links.get_mut(self.called)) else { return Poll::Ready(()) };
        let polled = link.operator.poll_wait(context);
        if polled.is_ready() {
            self.waiting = None;
            let elapsed_ns = self.clock.monotonic_ns().saturating_sub(since_ns);
            link.context.metrics.process_ns.add(elapsed_ns);
            self.metrics.process_ns.add(elapsed_ns);
        }
        polled
    }

    /// The watermark that holds for what leaves the chain, after a call with a watermark is complete.
    pub(crate) fn output_watermark(&self) -> TimestampMs {
        self.watermark
    }

    /// When the first operator wants its timer to be called.
    pub(crate) fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.links.iter().filter_map(|l| l.operator.next_timer_ms()).min()
    }

    /// The state of each operator.
    pub(crate) fn snapshot(&mut self, mode: SnapshotMode) -> Result<Vec<OperatorSnapshot>> {
        let mut states = Vec::with_capacity(self.links.len());
        for (i, link) in self.links.iter_mut().enumerate() {
            self.called = i;
            states.push(link.operator.snapshot(mode).map_err(|e| e.context(label(&link.context)))?);
        }
        Ok(states)
    }

    /// Makes what the sink has written durable, and returns all that it made so and that is not known to be complete.
    pub(crate) fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        self.called = self.links.len();
        if let Some((sink, context)) = &mut self.sink {
            self.prepared.extend(sink.prepare(epoch).map_err(|e| e.context(label(context)))?);
        }
        Ok(self.prepared.clone())
    }

    /// A snapshot is complete: what was prepared up to it is in safe hands.
    pub(crate) fn completed(&mut self, epoch: Epoch) {
        self.prepared.retain(|token| token.epoch > epoch);
    }

    /// Who was called last, for the message about a panic.
    pub(crate) fn called(&self) -> Option<String> {
        let contexts = self.links.iter().map(|l| &l.context).chain(self.sink.iter().map(|(_, context)| context));
        contexts.take(self.called + 1).last().map(label)
    }

    /// Closes everything, once. One that panics keeps no other from being closed.
    pub(crate) fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let links = self.links.iter_mut().map(|l| (&l.context, catch_unwind(AssertUnwindSafe(|| l.operator.close()))));
        let sink = self.sink.iter_mut().map(|(sink, context)| (&*context, catch_unwind(AssertUnwindSafe(|| sink.close()))));
        for (context, closed) in links.chain(sink) {
            if closed.is_err() {
                tracing::error!(operator = %label(context), "panicked while it was closed");
            }
        }
    }

    fn signal(&mut self, signal: Signal) -> Result<()> {
        self.signal = Some(signal);
        self.tell(signal)
    }

    /// Tells the operator whose turn it is.
    fn tell(&mut self, signal: Signal) -> Result<()> {
        let i = self.told;
        if i == self.links.len() {
            return Ok(());
        }
        match signal {
            Signal::Rows => Ok(()),
            Signal::Watermark(at) => self.call(i, |operator, out| operator.watermark(at, out)),
            Signal::Finish => self.call(i, |operator, out| operator.finish(out)),
            Signal::Timer(now_ms) if self.links[i].operator.next_timer_ms().is_some_and(|due| due <= now_ms) => {
                self.call(i, |operator, out| operator.timer(now_ms, out))
            }
            Signal::Timer(_) => Ok(()),
        }
    }

    fn rows(&mut self, i: usize, port: usize, batch: Batch) -> Result<()> {
        self.links[i].context.metrics.rows_in.add(batch.num_rows() as u64);
        self.call(i, |operator, out| operator.batch(port, batch, out))
    }

    fn call(&mut self, i: usize, call: impl FnOnce(&mut dyn Operator, &mut Collector) -> Result<Progress>) -> Result<()> {
        self.called = i;
        let link = &mut self.links[i];
        let start_ns = self.clock.monotonic_ns();
        let progress = call(link.operator.as_mut(), &mut link.collector);
        let elapsed_ns = self.clock.monotonic_ns().saturating_sub(start_ns);
        link.context.metrics.process_ns.add(elapsed_ns);
        self.metrics.process_ns.add(elapsed_ns);
        link.progress = progress.map_err(|e| e.context(label(&link.context)))?;
        Ok(())
    }

    /// Gives rows to the sink, or back where there is none.
    fn put_out(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let Some((sink, context)) = &mut self.sink else { return Ok(Some(batch)) };
        self.called = self.links.len();
        context.metrics.rows_in.add(batch.num_rows() as u64);
        let start_ns = self.clock.monotonic_ns();
        let written = sink.write(batch);
        let elapsed_ns = self.clock.monotonic_ns().saturating_sub(start_ns);
        context.metrics.process_ns.add(elapsed_ns);
        self.metrics.process_ns.add(elapsed_ns);
        written.map_err(|e| e.context(label(context)))?;
        Ok(None)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.close();
    }
}

/// An instance's name for people: `GroupAggregate`, and which one where there are several.
pub(crate) fn label(context: &OperatorContext) -> String {
    let subtask = &context.subtask;
    match subtask.parallelism {
        1 => subtask.name.clone(),
        many => format!("{} ({} of {many})", subtask.name, subtask.index + 1),
    }
}
