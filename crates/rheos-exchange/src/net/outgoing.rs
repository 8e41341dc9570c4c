//! The sending end of a channel to another process: credit, numbers, and the frames that were not yet received.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use arrow::datatypes::SchemaRef;
use rheos_core::Batch;
use rheos_core::element::Element;
use rheos_core::env::Clock;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::TaskMetrics;

use super::encode::{Encoder, Frame, Unnumbered, is_same};
use super::header::{FrameKind, HEADER_BYTES};
use super::link::Link;
use super::peer::ChannelId;
use crate::limits::Parcel;
use crate::send_error::SendError;

/// What the sender and the link share of a channel.
#[derive(Debug)]
pub(crate) struct OutChannel {
    pub(crate) id: ChannelId,
    /// The credit in bytes.
    limit: u64,
    state: Mutex<OutState>,
}

#[derive(Debug, Default)]
struct OutState {
    /// What was not yet received, in order; the first has number `base`.
    frames: VecDeque<Arc<Frame>>,
    base: u64,
    /// The number of the next frame to write.
    next: u64,
    /// What was admitted and what of it was consumed, in bytes of credit.
    admitted: u64,
    consumed: u64,
    /// Bytes on the wire of `frames`.
    buffered: usize,
    /// Whether the link has it among those that have frames to write.
    is_queued: bool,
    /// The connection that last wrote or that was resumed on: an older one takes nothing more.
    generation: u64,
    /// The sender, and the credit that it waits for.
    waiting: Option<(Waker, u64)>,
    /// An end was sent.
    ended: bool,
    sender_gone: bool,
    disconnected: bool,
}

impl OutState {
    fn admits(&self, cost: u64, limit: u64) -> bool {
        let in_flight = self.admitted - self.consumed;
        in_flight == 0 || in_flight + cost <= limit
    }

    fn end_number(&self) -> u64 {
        self.base + self.frames.len() as u64
    }

    fn push(&mut self, id: ChannelId, frame: Unnumbered) {
        self.admitted += frame.cost();
        let frame = frame.numbered(id, self.end_number());
        self.buffered += frame.len();
        self.frames.push_back(Arc::new(frame));
    }

    /// Forgets what was received. Returns the sender, if there is credit now for what it waits with.
    fn acknowledge(&mut self, expected: u64, consumed: u64, limit: u64) -> Result<Option<Waker>> {
        if expected > self.end_number() || consumed > self.admitted {
            return Err(Error::corrupt(format!(
                "frames up to {expected} and {consumed} bytes are said to have come, of {} and {}",
                self.end_number(),
                self.admitted
            )));
        }
        while self.base < expected
            && let Some(frame) = self.frames.pop_front()
        {
            self.base += 1;
            self.buffered -= frame.len();
        }
        self.next = self.next.max(self.base);
        self.consumed = self.consumed.max(consumed);
        let has_credit = self.waiting.as_ref().is_some_and(|(_, wanted)| self.admits(*wanted, limit));
        Ok(if has_credit { self.waiting.take().map(|(waker, _)| waker) } else { None })
    }

    fn is_finished(&self) -> bool {
        self.sender_gone && self.frames.is_empty()
    }
}

impl OutChannel {
    pub(crate) fn new(id: ChannelId, limit: usize) -> Self {
        OutChannel { id, limit: limit as u64, state: Mutex::default() }
    }

    /// The next frame for the connection `generation`, and whether more wait.
    pub(crate) fn take(&self, generation: u64) -> Option<(Arc<Frame>, bool)> {
        let mut state = self.lock();
        if state.generation > generation {
            return None;
        }
        state.generation = generation;
        let position = (state.next - state.base) as usize;
        let Some(frame) = state.frames.get(position).map(Arc::clone) else {
            state.is_queued = false;
            return None;
        };
        state.next += 1;
        state.is_queued = position + 1 < state.frames.len();
        Some((frame, state.is_queued))
    }

    /// What the receiver reported. Says whether nothing is left to do for the channel.
    pub(crate) fn acknowledge(&self, expected: u64, consumed: u64) -> Result<bool> {
        let mut state = self.lock();
        let waker = state.acknowledge(expected, consumed, self.limit)?;
        let is_finished = state.is_finished();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(is_finished)
    }

    /// Goes on with what the receiver expects, on the connection `generation`. Says whether there is something to write.
    pub(crate) fn resume(&self, generation: u64, expected: u64, consumed: u64) -> Result<bool> {
        let mut state = self.lock();
        if expected < state.base {
            return Err(Error::corrupt(format!("frame {expected} is expected again, which was received before")));
        }
        let waker = state.acknowledge(expected, consumed, self.limit)?;
        state.generation = generation;
        state.next = expected;
        state.is_queued = !state.frames.is_empty();
        let is_queued = state.is_queued;
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(is_queued)
    }

    /// Goes on where the receiver knows nothing of the channel. It may be one that it has forgotten: `false`.
    pub(crate) fn resume_unknown(&self, generation: u64) -> Result<Option<bool>> {
        if self.lock().base > 0 { Ok(None) } else { self.resume(generation, 0, 0).map(Some) }
    }

    /// Nobody takes anything any more.
    pub(crate) fn disconnect(&self) {
        let mut state = self.lock();
        state.disconnected = true;
        state.frames.clear();
        state.buffered = 0;
        state.next = state.base;
        let waker = state.waiting.take();
        drop(state);
        waker.into_iter().for_each(|(waker, _)| waker.wake());
    }

    pub(crate) fn buffered_bytes(&self) -> usize {
        self.lock().buffered
    }

    /// Nothing that holds the lock can panic half-way through a change, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, OutState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sender's part.
pub(crate) struct RemoteSender {
    channel: Arc<OutChannel>,
    link: Arc<Link>,
    encoder: Encoder,
    /// The schema that the receiver knows.
    schema: Option<SchemaRef>,
    metrics: Arc<TaskMetrics>,
    clock: Arc<dyn Clock>,
}

impl RemoteSender {
    pub(crate) fn new(
        channel: Arc<OutChannel>,
        link: Arc<Link>,
        encoder: Encoder,
        metrics: Arc<TaskMetrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        RemoteSender { channel, link, encoder, schema: None, metrics, clock }
    }

    /// Puts a parcel on its way, or gives it back where there is no credit and `now` does not insist. Of a batch that takes
    /// several frames, it gives back what did not leave.
    pub(crate) fn put(
        &mut self,
        mut parcel: Parcel,
        now: bool,
        context: Option<&mut Context<'_>>,
        check: impl FnOnce(&Element) -> Result<(), SendError>,
    ) -> Result<Option<Parcel>, SendError> {
        // Not even the smallest frame: not encoded in vain.
        let mut state = self.channel.lock();
        if state.disconnected {
            return Err(SendError::Disconnected);
        }
        if !now && !state.admits(HEADER_BYTES as u64, self.channel.limit) {
            wait(&mut state, context, HEADER_BYTES as u64);
            return Ok(Some(parcel));
        }
        drop(state);
        let mut encoded = match parcel.encoded.take() {
            Some(encoded) => encoded,
            None => {
                let start = self.clock.monotonic_ns();
                let encoded = self.encoder.encode(&parcel.element)?;
                self.metrics.serialize_ns.add(self.clock.monotonic_ns().saturating_sub(start));
                Box::new(encoded)
            }
        };
        let schema = match &encoded.schema {
            Some(new) if !self.schema.as_ref().is_some_and(|known| is_same(known, new)) => {
                Some((Arc::clone(new), Unnumbered::new(FrameKind::Schema, &super::schema::encode(new)?)))
            }
            _ => None,
        };

        let mut state = self.channel.lock();
        if state.disconnected {
            return Err(SendError::Disconnected);
        }
        let mut cost = schema.as_ref().map_or(0, |(_, frame)| frame.cost()) + encoded.frames.front().map_or(0, Unnumbered::cost);
        if !now && !state.admits(cost, self.channel.limit) {
            wait(&mut state, context, cost);
            parcel.encoded = Some(encoded);
            return Ok(Some(parcel));
        }
        check(&parcel.element)?;
        if let Some((schema, frame)) = schema {
            state.push(self.channel.id, frame);
            self.schema = Some(schema);
        }
        let mut rows = 0;
        while let Some(frame) = encoded.frames.pop_front() {
            rows += frame.rows;
            state.push(self.channel.id, frame);
            cost = encoded.frames.front().map_or(0, Unnumbered::cost);
            if !now && cost > 0 && !state.admits(cost, self.channel.limit) {
                wait(&mut state, context, cost);
                break;
            }
        }
        state.ended |= matches!(parcel.element, Element::End);
        self.queue(state);
        if encoded.frames.is_empty() {
            return Ok(None);
        }
        // Whoever copies what waits must not copy what has left.
        if let Element::Batch(batch) = &parcel.element {
            let left = batch_from(batch, rows);
            parcel = Parcel { encoded: Some(encoded), ..Parcel::from(Element::Batch(left)) };
        }
        Ok(Some(parcel))
    }

    /// The sender is gone; without an end the receiver must hear of it.
    pub(crate) fn gone(&self) {
        let mut state = self.channel.lock();
        if !state.ended && !state.disconnected {
            state.push(self.channel.id, Unnumbered::new(FrameKind::Gone, &[]));
        }
        state.sender_gone = true;
        let is_finished = state.is_finished();
        self.queue(state);
        if is_finished {
            self.link.forget(&self.channel);
        }
    }

    /// Lets the link know that there are frames to write.
    fn queue(&self, mut state: MutexGuard<'_, OutState>) {
        if !state.is_queued && state.next < state.end_number() {
            state.is_queued = true;
            self.link.queue_frames(Arc::clone(&self.channel));
        }
    }
}

/// Has the sender woken when there is credit for `cost`.
fn wait(state: &mut OutState, context: Option<&mut Context<'_>>, cost: u64) {
    if let Some(context) = context {
        state.waiting = Some((context.waker().clone(), cost));
    }
}

fn batch_from(batch: &Batch, row: usize) -> Batch {
    batch.slice(row, batch.num_rows() - row)
}

impl fmt::Debug for RemoteSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sender to process {} of {:?}", self.link.peer, self.channel.id)
    }
}
