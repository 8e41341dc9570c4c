//! A channel to another process, at the end that sends: credit, numbers, and the frames that were not yet received.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use rheos_core::error::{Error, Result};

use super::encode::{Frame, Unnumbered};
use super::peer::ChannelId;

/// What the sender and the link share of a channel.
#[derive(Debug)]
pub(crate) struct OutChannel {
    pub(crate) id: ChannelId,
    /// The credit in bytes.
    pub(crate) limit: u64,
    state: Mutex<OutState>,
}

#[derive(Debug, Default)]
pub(crate) struct OutState {
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
    pub(crate) is_queued: bool,
    /// The connection that last wrote or that was resumed on: an older one takes nothing more.
    generation: u64,
    /// The sender, and the credit that it waits for.
    waiting: Option<(Waker, u64)>,
    /// An end was sent.
    pub(crate) ended: bool,
    pub(crate) sender_gone: bool,
    pub(crate) disconnected: bool,
}

impl OutState {
    pub(crate) fn admits(&self, cost: u64, limit: u64) -> bool {
        let in_flight = self.admitted - self.consumed;
        in_flight == 0 || in_flight + cost <= limit
    }

    fn end_number(&self) -> u64 {
        self.base + self.frames.len() as u64
    }

    /// Whether there are frames that were not written.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.next < self.end_number()
    }

    /// Has the sender woken when there is credit for `cost`.
    pub(crate) fn wait(&mut self, context: Option<&mut Context<'_>>, cost: u64) {
        if let Some(context) = context {
            self.waiting = Some((context.waker().clone(), cost));
        }
    }

    /// Takes a frame in, with or without credit for it.
    pub(crate) fn push(&mut self, id: ChannelId, frame: Unnumbered) {
        self.admitted += frame.cost();
        let frame = frame.numbered(id, self.end_number());
        self.buffered += frame.len();
        self.frames.push_back(Arc::new(frame));
    }

    /// Forgets what was received. Returns the sender, if there is credit now for what it waits with.
    fn acknowledge(&mut self, expected: u64, consumed: u64, limit: u64) -> Result<Option<Waker>> {
        if self.disconnected {
            return Ok(None);
        }
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

    pub(crate) fn is_finished(&self) -> bool {
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

    /// Goes on where the receiver knows nothing of the channel; `None` where it has forgotten it, since it knew it once.
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
    pub(crate) fn lock(&self) -> MutexGuard<'_, OutState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
