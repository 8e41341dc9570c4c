//! The receiving side of a task: many channels merged fairly, some of them not polled for a while.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use rheos_core::Batch;
use rheos_core::element::{Barrier, Element, Epoch};
use rheos_core::metrics::TaskMetrics;

use crate::channel::{Channel, Popped, Sender};
use crate::limits::{ChannelLimits, Parcel};
use crate::readiness::{ChannelSet, Readiness};

/// An element and where it came from.
#[derive(Debug)]
pub struct Received {
    /// The number of the channel within the inbox.
    pub channel: usize,
    /// The input of the task's first operator that the channel belongs to.
    pub port: usize,
    /// What came.
    pub element: Element,
    /// What it retains, in bytes.
    pub bytes: usize,
}

/// A sender vanished without an end: its task has failed, and whoever runs the tasks knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected {
    /// The number of the channel within the inbox.
    pub channel: usize,
}

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the sender of channel {} is gone", self.channel)
    }
}

impl std::error::Error for Disconnected {}

/// Merges the channels into one subtask, in turn among those that have something and are polled.
#[derive(Debug)]
pub struct Inbox {
    channels: Vec<Arc<Channel>>,
    ports: Vec<usize>,
    readiness: Arc<Readiness>,
    /// Those that have not ended and are not held back.
    polled: ChannelSet,
    /// Those that have not ended.
    open: ChannelSet,
    open_count: usize,
    /// Whose turn it is.
    turn: usize,
}

impl Inbox {
    /// An inbox with a channel for each item of `ports`, which says the input it belongs to, and the senders of the
    /// channels in the same order. What waits is counted in `metrics`, the receiving task's.
    pub fn new(ports: Vec<usize>, limits: ChannelLimits, metrics: Arc<TaskMetrics>) -> (Inbox, Vec<Sender>) {
        let count = ports.len();
        let readiness = Arc::new(Readiness::new(count));
        metrics.queue_capacity_bytes.set(i64::try_from(count.saturating_mul(limits.bytes)).unwrap_or(i64::MAX));
        let channels: Vec<Arc<Channel>> =
            (0..count).map(|i| Arc::new(Channel::new(i, limits, Arc::clone(&readiness), Arc::clone(&metrics)))).collect();
        let senders = channels.iter().map(|c| Sender::new(Arc::clone(c))).collect();
        let open = ChannelSet::all(count);
        (Inbox { channels, ports, readiness, polled: open.clone(), open, open_count: count, turn: 0 }, senders)
    }

    /// How many channels there are, ended ones included.
    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// How many channels have not ended.
    pub fn open_channels(&self) -> usize {
        self.open_count
    }

    /// Takes nothing more from a channel until [`Inbox::poll_all`]: its sender soon waits for room.
    pub fn hold_back(&mut self, channel: usize) {
        self.polled.remove(channel);
    }

    /// Takes from every channel again.
    pub fn poll_all(&mut self) {
        self.polled.union(&self.open);
    }

    /// The barriers that wait in channels, each with its channel; where one channel has several, the last.
    pub fn queued_barriers(&self) -> Vec<(usize, Barrier)> {
        if self.readiness.barriers() == 0 {
            return Vec::new();
        }
        self.channels.iter().enumerate().filter_map(|(i, channel)| Some((i, channel.queued_barrier()?))).collect()
    }

    /// Lets the barrier of `epoch` overtake what waits before it in a channel: it is taken out, and copies of the rows that stay
    /// are returned, in order. Barriers of earlier epochs before it are dropped.
    pub fn overtake(&mut self, channel: usize, epoch: Epoch) -> Vec<Batch> {
        self.channels[channel].overtake(epoch)
    }

    /// How many barriers have come into the channels so far.
    pub fn barriers_come(&self) -> u64 {
        self.readiness.barriers_come()
    }

    /// Is ready once more barriers than `known` have come.
    pub fn poll_barriers(&self, known: u64, context: &mut Context<'_>) -> Poll<()> {
        self.readiness.register(context.waker());
        if self.readiness.barriers_come() > known { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The next element of a channel that is polled, if there is one now.
    pub fn try_next(&mut self) -> Result<Option<Received>, Disconnected> {
        while let Some(channel) = self.readiness.next(self.turn, &self.polled) {
            match self.channels[channel].pop() {
                Popped::Parcel(Parcel { element, cost, .. }) => {
                    self.turn = if channel + 1 == self.channels.len() { 0 } else { channel + 1 };
                    if matches!(element, Element::End) {
                        self.polled.remove(channel);
                        self.open.remove(channel);
                        self.open_count -= 1;
                    }
                    return Ok(Some(Received { channel, port: self.ports[channel], element, bytes: cost.bytes }));
                }
                Popped::SenderGone => return Err(Disconnected { channel }),
                Popped::Nothing => self.readiness.clear(channel),
            }
        }
        Ok(None)
    }

    /// Waits for the next element of a channel that is polled. Waits for ever where none is.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Received, Disconnected>> {
        if let Some(received) = self.try_next()? {
            return Poll::Ready(Ok(received));
        }
        // Registered first and looked at again: what comes in between is not missed.
        self.readiness.register(context.waker());
        match self.try_next()? {
            Some(received) => Poll::Ready(Ok(received)),
            None => Poll::Pending,
        }
    }

    /// The next element of a channel that is polled. The future may be dropped; nothing is lost.
    pub async fn next(&mut self) -> Result<Received, Disconnected> {
        poll_fn(|context| self.poll_next(context)).await
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.channels.iter().for_each(|c| c.receiver_gone());
    }
}
