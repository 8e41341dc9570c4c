//! The sending side of a task: all outgoing edges with their partitioners.
//!
//! Work comes in two steps, so that a task can tell the time for splitting from the time of waiting: [`Outbox::push`] and
//! its like decide at once what goes where; [`Outbox::send`] waits until all of that has left. Between the two no more than
//! one call's elements are kept.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use rheos_core::element::{Barrier, Element, Epoch};
use rheos_core::error::Result;
use rheos_core::metrics::TaskMetrics;
use rheos_core::time::Watermark;
use rheos_core::{Batch, Error};

use crate::channel::Sender;
use crate::coalesce::Coalescer;
use crate::limits::{CoalesceLimits, Parcel};
use crate::partition::Partitioner;
use crate::send_error::SendError;

/// One outgoing edge of a subtask.
pub struct OutEdge {
    partitioner: Partitioner,
    channels: Vec<OutChannel>,
    /// Whether rows of a snapshot that are on their way can be told to whom they belong at another parallelism.
    is_overtakable: bool,
}

/// Rows that a barrier has overtaken on their way out.
#[derive(Debug)]
pub struct Overtaken {
    /// The position of the edge.
    pub edge: usize,
    /// The position of the channel on the edge.
    pub channel: usize,
    /// The rows, in order.
    pub rows: Vec<Batch>,
}

struct OutChannel {
    sender: Sender,
    /// Rows that wait for more.
    pending: Coalescer,
    /// What is to leave now.
    staged: VecDeque<Parcel>,
    /// The first of `staged` on its way.
    slot: Option<Parcel>,
    /// The last barrier that was staged or sent.
    last_barrier: Option<Epoch>,
}

impl OutEdge {
    /// An edge whose channels are in the order of the receiving subtasks; a barrier may overtake the rows on it if `is_overtakable`.
    pub fn new(partitioner: Partitioner, senders: Vec<Sender>, is_overtakable: bool) -> Result<Self> {
        if senders.is_empty() || (matches!(partitioner, Partitioner::Forward) && senders.len() != 1) {
            return Err(Error::bug(format!("{} channels on an edge that cannot have so many", senders.len())));
        }
        let channels = senders
            .into_iter()
            .map(|sender| OutChannel { sender, pending: Coalescer::default(), staged: VecDeque::new(), slot: None, last_barrier: None })
            .collect();
        Ok(OutEdge { partitioner, channels, is_overtakable })
    }
}

/// All outgoing edges of a subtask. A task without outgoing edges has an outbox that takes nothing.
pub struct Outbox {
    edges: Vec<OutEdge>,
    limits: CoalesceLimits,
    /// How many elements are staged on all channels.
    staged: usize,
    /// Whether rows may be pending on a channel.
    pending: bool,
    metrics: Arc<TaskMetrics>,
}

impl Outbox {
    /// An outbox of these edges; what leaves is counted in `metrics`.
    pub fn new(edges: Vec<OutEdge>, limits: CoalesceLimits, metrics: Arc<TaskMetrics>) -> Self {
        Outbox { edges, limits, staged: 0, pending: false, metrics }
    }

    /// Puts rows on their way along every edge. Small pieces wait for more until [`Outbox::flush`] or the next watermark.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        let mut left = self.edges.len();
        let mut batch = Some(batch);
        for e in 0..self.edges.len() {
            left -= 1;
            // The last edge takes the batch itself: copying typed rows is not free.
            let rows = if left == 0 { batch.take() } else { batch.clone() };
            if let Some(rows) = rows {
                self.push_to(e, rows)?;
            }
        }
        Ok(())
    }

    fn push_to(&mut self, edge: usize, batch: Batch) -> Result<()> {
        let OutEdge { partitioner, channels, .. } = &mut self.edges[edge];
        let mut stage = Stage { limits: self.limits, staged: &mut self.staged, pending: &mut self.pending, metrics: &self.metrics };
        let count = channels.len();
        match partitioner {
            Partitioner::Hash(hash) if count > 1 => {
                for (channel, rows) in channels.iter_mut().zip(hash.split(batch, count)?) {
                    if let Some(rows) = rows {
                        stage.rows(channel, rows)?;
                    }
                }
                Ok(())
            }
            Partitioner::Rebalance { turn } => {
                stage.rows(&mut channels[*turn], batch)?;
                if channels[*turn].pending.is_empty() {
                    *turn = (*turn + 1) % count;
                }
                Ok(())
            }
            Partitioner::Forward | Partitioner::Hash(_) | Partitioner::Broadcast => {
                if let [others @ .., last] = channels.as_mut_slice() {
                    others.iter_mut().try_for_each(|c| stage.rows(c, batch.clone()))?;
                    stage.rows(last, batch)?;
                }
                Ok(())
            }
        }
    }

    /// Puts a watermark on every channel, behind the rows before it.
    pub fn watermark(&mut self, watermark: Watermark) -> Result<()> {
        self.put_on_all(&Element::Watermark(watermark))
    }

    /// Puts a barrier on every channel, behind the rows before it.
    pub fn barrier(&mut self, barrier: Barrier) -> Result<()> {
        self.flush()?;
        for channel in self.edges.iter_mut().flat_map(|e| &mut e.channels) {
            channel.stage_barrier(barrier, &mut self.staged);
        }
        Ok(())
    }

    /// Lets a barrier overtake all rows that have not left, on every edge where it may; on the others it is put behind them. A
    /// barrier of that epoch that waits to leave is the one. Returns copies of the rows overtaken.
    /// Rows that wait for more must have been let go before ([`Outbox::flush`]).
    pub fn overtake(&mut self, barrier: Barrier) -> Result<Vec<Overtaken>, SendError> {
        debug_assert!(!self.pending, "rows that were not flushed would be behind the barrier");
        let mut overtaken = Vec::new();
        for (e, edge) in self.edges.iter_mut().enumerate() {
            for (c, channel) in edge.channels.iter_mut().enumerate() {
                let waits = channel.waits(barrier);
                if !edge.is_overtakable {
                    if !waits && channel.last_barrier < Some(barrier.epoch) {
                        channel.stage_barrier(barrier, &mut self.staged);
                    }
                    continue;
                }
                if !waits && channel.last_barrier >= Some(barrier.epoch) {
                    continue; // it has left
                }
                let rows = channel.rows_before(barrier);
                self.staged -= channel.remove(barrier);
                channel.last_barrier = Some(barrier.epoch);
                channel.sender.send_now(barrier)?;
                if !rows.is_empty() {
                    overtaken.push(Overtaken { edge: e, channel: c, rows });
                }
            }
        }
        Ok(overtaken)
    }

    /// How much is on its way, in retained bytes.
    pub fn staged_bytes(&self) -> usize {
        let channels = self.edges.iter().flat_map(|e| &e.channels);
        channels.flat_map(|c| c.staged.iter().chain(&c.slot)).map(|parcel| parcel.cost.bytes).sum()
    }

    /// Puts the end on every channel, behind the rows before it.
    pub fn end(&mut self) -> Result<()> {
        self.put_on_all(&Element::End)
    }

    /// Lets the rows go that wait for more: to be called when the task has no more input ready.
    pub fn flush(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.pending) {
            return Ok(());
        }
        let mut stage = Stage { limits: self.limits, staged: &mut self.staged, pending: &mut self.pending, metrics: &self.metrics };
        for edge in &mut self.edges {
            for channel in &mut edge.channels {
                stage.flush(channel)?;
            }
            if let Partitioner::Rebalance { turn } = &mut edge.partitioner {
                *turn = (*turn + 1) % edge.channels.len();
            }
        }
        Ok(())
    }

    fn put_on_all(&mut self, element: &Element) -> Result<()> {
        self.flush()?;
        for channel in self.edges.iter_mut().flat_map(|e| &mut e.channels) {
            channel.staged.push_back(element.clone().into());
            self.staged += 1;
        }
        Ok(())
    }

    /// Sends what has room now, and says whether that is all.
    pub fn try_send(&mut self) -> Result<bool, SendError> {
        if self.staged > 0 {
            for channel in self.edges.iter_mut().flat_map(|e| &mut e.channels) {
                while channel.next() {
                    channel.sender.try_send(&mut channel.slot)?;
                    if channel.slot.is_some() {
                        break;
                    }
                    self.staged -= 1;
                }
            }
        }
        Ok(self.staged == 0)
    }

    /// Waits until everything that is on its way has been admitted; a full channel does not keep the others waiting.
    pub fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        if self.staged > 0 {
            for channel in self.edges.iter_mut().flat_map(|e| &mut e.channels) {
                while channel.next() {
                    match channel.sender.poll_send(&mut channel.slot, context) {
                        Poll::Ready(sent) => sent?,
                        Poll::Pending => break,
                    }
                    self.staged -= 1;
                }
            }
        }
        if self.staged == 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// See [`Outbox::poll_send`].
    pub async fn send(&mut self) -> Result<(), SendError> {
        poll_fn(|context| self.poll_send(context)).await
    }
}

impl OutChannel {
    fn stage_barrier(&mut self, barrier: Barrier, staged: &mut usize) {
        self.last_barrier = Some(barrier.epoch);
        self.staged.push_back(Element::Barrier(barrier).into());
        *staged += 1;
    }

    /// What has not left, in order.
    fn waiting(&self) -> impl Iterator<Item = &Parcel> {
        self.slot.iter().chain(&self.staged)
    }

    /// Whether that barrier waits to leave.
    fn waits(&self, barrier: Barrier) -> bool {
        self.waiting().any(|parcel| is(parcel, barrier))
    }

    /// Copies of the rows that wait in front of the barrier, or of all where it is not among them.
    fn rows_before(&self, barrier: Barrier) -> Vec<Batch> {
        let before = self.waiting().take_while(|parcel| !is(parcel, barrier));
        before.filter_map(|parcel| if let Element::Batch(batch) = &parcel.element { Some(batch.clone()) } else { None }).collect()
    }

    /// Takes the barrier out; returns how many elements went.
    fn remove(&mut self, barrier: Barrier) -> usize {
        let before = self.waiting().count();
        self.slot = self.slot.take().filter(|parcel| !is(parcel, barrier));
        self.staged.retain(|parcel| !is(parcel, barrier));
        before - self.waiting().count()
    }

    /// Whether there is something to send; it is in the slot then.
    fn next(&mut self) -> bool {
        if self.slot.is_none() {
            self.slot = self.staged.pop_front();
        }
        self.slot.is_some()
    }
}

fn is(parcel: &Parcel, barrier: Barrier) -> bool {
    matches!(&parcel.element, Element::Barrier(b) if b.epoch == barrier.epoch)
}

/// What staging on one channel has to do with the outbox as a whole.
struct Stage<'a> {
    limits: CoalesceLimits,
    staged: &'a mut usize,
    pending: &'a mut bool,
    metrics: &'a TaskMetrics,
}

impl Stage<'_> {
    fn rows(&mut self, channel: &mut OutChannel, rows: Batch) -> Result<()> {
        let OutChannel { pending, staged, .. } = channel;
        let (count, metrics) = (&mut *self.staged, self.metrics);
        pending.add(rows, self.limits, |batch| stage(staged, batch, count, metrics))?;
        *self.pending |= !pending.is_empty();
        Ok(())
    }

    fn flush(&mut self, channel: &mut OutChannel) -> Result<()> {
        if let Some(batch) = channel.pending.take()? {
            stage(&mut channel.staged, batch, self.staged, self.metrics);
        }
        Ok(())
    }
}

fn stage(staged: &mut VecDeque<Parcel>, batch: Batch, count: &mut usize, metrics: &TaskMetrics) {
    let parcel = Parcel::from(Element::Batch(batch));
    metrics.rows_out.add(parcel.cost.rows as u64);
    metrics.bytes_out.add(parcel.cost.bytes as u64);
    staged.push_back(parcel);
    *count += 1;
}
