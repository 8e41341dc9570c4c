//! The sending side of a task: all outgoing edges with their partitioners.
//!
//! Work comes in two steps, so that a task can tell the time for splitting from the time of waiting: [`Outbox::push`] and
//! its like decide at once what goes where; [`Outbox::send`] waits until all of that has left. Between the two no more than
//! one call's elements are kept.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use rheos_core::element::{Barrier, Element};
use rheos_core::error::Result;
use rheos_core::metrics::TaskMetrics;
use rheos_core::time::Watermark;
use rheos_core::{Batch, Error};

use crate::channel::{SendError, Sender};
use crate::coalesce::Coalescer;
use crate::limits::{CoalesceLimits, Parcel};
use crate::partition::Partitioner;

/// One outgoing edge of a subtask.
pub struct OutEdge {
    partitioner: Partitioner,
    channels: Vec<OutChannel>,
}

struct OutChannel {
    sender: Sender,
    /// Rows that wait for more.
    pending: Coalescer,
    /// What is to leave now.
    staged: VecDeque<Parcel>,
    /// The first of `staged` on its way.
    slot: Option<Parcel>,
}

impl OutEdge {
    /// An edge whose channels are in the order of the receiving subtasks.
    pub fn new(partitioner: Partitioner, senders: Vec<Sender>) -> Result<Self> {
        if senders.is_empty() || (matches!(partitioner, Partitioner::Forward) && senders.len() != 1) {
            return Err(Error::bug(format!("{} channels on an edge that cannot have so many", senders.len())));
        }
        let channels = senders
            .into_iter()
            .map(|sender| OutChannel { sender, pending: Coalescer::default(), staged: VecDeque::new(), slot: None })
            .collect();
        Ok(OutEdge { partitioner, channels })
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
        let OutEdge { partitioner, channels } = &mut self.edges[edge];
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
        self.put_on_all(&Element::Barrier(barrier))
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
    /// Whether there is something to send; it is in the slot then.
    fn next(&mut self) -> bool {
        if self.slot.is_none() {
            self.slot = self.staged.pop_front();
        }
        self.slot.is_some()
    }
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
