//! A first-in-first-out channel from one sender to one inbox, bounded by bytes and rows.
//!
//! One short lock for each element, never for a row; nobody waits while holding it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use rheos_core::element::{Barrier, Element, Epoch};
use rheos_core::error::Result;
use rheos_core::metrics::TaskMetrics;
use rheos_core::{Batch, Error};

use crate::limits::{ChannelLimits, Cost, Parcel};
use crate::net::{RemoteSender, Returns};
use crate::readiness::Readiness;
use crate::send_error::SendError;

/// What sender and receiver share.
#[derive(Debug)]
pub(crate) struct Channel {
    state: Mutex<State>,
    limits: ChannelLimits,
    /// The receiver's, where this channel is number `index`.
    readiness: Arc<Readiness>,
    index: usize,
    /// The receiving task's: what waits in its inbox is counted there.
    receiver: Arc<TaskMetrics>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Parcel>,
    /// The barriers in the queue.
    barriers: VecDeque<Barrier>,
    held: Cost,
    /// The sender, and what it wants to send, where there was no room for it.
    waiting: Option<(Waker, Cost)>,
    sender_gone: bool,
    receiver_gone: bool,
    /// Where the sender is in another process: who tells it what was taken.
    returns: Option<Arc<Returns>>,
}

impl State {
    /// The sender, if there is room now for what it waits with.
    fn waker_if_room(&mut self, limits: ChannelLimits) -> Option<Waker> {
        let has_room = self.waiting.as_ref().is_some_and(|(_, wanted)| self.admits(*wanted, limits));
        if has_room { self.waiting.take().map(|(waker, _)| waker) } else { None }
    }

    /// Counts what was taken out; returns who has to tell the sender of it now.
    fn returned(&self, bytes: usize) -> Option<Arc<Returns>> {
        let returns = self.returns.as_ref()?;
        if returns.take(bytes, self.queue.is_empty()) { Some(Arc::clone(returns)) } else { None }
    }

    fn admits(&self, cost: Cost, limits: ChannelLimits) -> bool {
        self.queue.is_empty() || (self.held.bytes + cost.bytes <= limits.bytes && self.held.rows + cost.rows <= limits.rows)
    }
}

/// What a receiver finds in a channel that said it had something.
pub(crate) enum Popped {
    Parcel(Parcel),
    SenderGone,
    Nothing,
}

impl Channel {
    pub(crate) fn new(index: usize, limits: ChannelLimits, readiness: Arc<Readiness>, receiver: Arc<TaskMetrics>) -> Self {
        Channel { state: Mutex::default(), limits, readiness, index, receiver }
    }

    pub(crate) fn pop(&self) -> Popped {
        let mut state = self.lock();
        let Some(parcel) = state.queue.pop_front() else {
            return if state.sender_gone { Popped::SenderGone } else { Popped::Nothing };
        };
        state.held.bytes -= parcel.cost.bytes;
        state.held.rows -= parcel.cost.rows;
        if state.queue.is_empty() && !state.sender_gone {
            self.readiness.clear(self.index);
        }
        if matches!(parcel.element, Element::Barrier(_)) {
            state.barriers.pop_front();
            self.readiness.count_barriers(0, 1);
        }
        let waker = state.waker_if_room(self.limits);
        let returns = state.returned(parcel.cost.bytes);
        drop(state);
        self.receiver.queued_bytes.add(-(parcel.cost.bytes as i64));
        waker.into_iter().for_each(Waker::wake);
        returns.into_iter().for_each(|returns| returns.report());
        Popped::Parcel(parcel)
    }

    /// The last barrier that waits.
    pub(crate) fn queued_barrier(&self) -> Option<Barrier> {
        self.lock().barriers.back().copied()
    }

    /// Takes out the barrier of `epoch`, and any before it; returns copies of the batches that it overtakes.
    pub(crate) fn overtake(&self, epoch: Epoch) -> Vec<Batch> {
        let mut state = self.lock();
        let is_barrier = |parcel: &Parcel| matches!(&parcel.element, Element::Barrier(b) if b.epoch <= epoch);
        let Some(last) = state.queue.iter().rposition(is_barrier) else { return Vec::new() };
        let mut overtaken = Vec::new();
        let mut kept = VecDeque::with_capacity(state.queue.len());
        let mut taken = 0;
        for (i, parcel) in std::mem::take(&mut state.queue).into_iter().enumerate() {
            if i <= last {
                if is_barrier(&parcel) {
                    state.held.rows -= parcel.cost.rows;
                    state.held.bytes -= parcel.cost.bytes;
                    taken += parcel.cost.bytes;
                    self.readiness.count_barriers(0, 1);
                    continue;
                }
                if let Element::Batch(batch) = &parcel.element {
                    overtaken.push(batch.clone());
                }
            }
            kept.push_back(parcel);
        }
        state.queue = kept;
        state.barriers.retain(|barrier| barrier.epoch > epoch);
        if state.queue.is_empty() && !state.sender_gone {
            self.readiness.clear(self.index);
        }
        // An empty channel admits what a barrier in it did not.
        let waker = state.waker_if_room(self.limits);
        let returns = state.returned(taken);
        drop(state);
        self.receiver.queued_bytes.add(-(taken as i64));
        waker.into_iter().for_each(Waker::wake);
        returns.into_iter().for_each(|returns| returns.report());
        overtaken
    }

    pub(crate) fn receiver_gone(&self) {
        let mut state = self.lock();
        state.receiver_gone = true;
        state.queue.clear();
        let waker = state.waiting.take();
        let returns = state.returns.take();
        drop(state);
        if let Some((waker, _)) = waker {
            waker.wake();
        }
        if let Some(returns) = returns {
            returns.close();
        }
    }

    fn sender_gone(&self) {
        let mut state = self.lock();
        state.sender_gone = true;
        self.readiness.set(self.index);
        drop(state);
        self.readiness.wake();
    }

    /// Nothing that holds the lock can panic half-way through a change, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a channel leads.
#[derive(Debug)]
enum End {
    Local(Arc<Channel>),
    Remote(Box<RemoteSender>),
}

/// The sending end of a channel, to an inbox in this process or in another.
#[derive(Debug)]
pub struct Sender {
    end: End,
    #[cfg(debug_assertions)]
    checker: rheos_core::grammar::GrammarChecker,
}

impl Sender {
    pub(crate) fn new(channel: Arc<Channel>) -> Self {
        Sender::of(End::Local(channel))
    }

    /// An end whose inbox is in another process.
    pub(crate) fn remote(sender: RemoteSender) -> Self {
        Sender::of(End::Remote(Box::new(sender)))
    }

    fn of(end: End) -> Self {
        Sender {
            end,
            #[cfg(debug_assertions)]
            checker: rheos_core::grammar::GrammarChecker::new(),
        }
    }

    /// Sends what is in `slot` and empties it, or waits for room; then it stays in the slot.
    pub(crate) fn poll_send(&mut self, slot: &mut Option<Parcel>, context: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.offer(slot, Some(context))
    }

    /// Sends what is in `slot` and empties it, or leaves it there where there is no room.
    pub(crate) fn try_send(&mut self, slot: &mut Option<Parcel>) -> Result<(), SendError> {
        match self.offer(slot, None) {
            Poll::Ready(result) => result,
            Poll::Pending => Ok(()),
        }
    }

    /// Sends an element as soon as there is room for it.
    pub async fn send(&mut self, element: Element) -> Result<(), SendError> {
        let mut slot = Some(Parcel::from(element));
        poll_fn(|context| self.poll_send(&mut slot, context)).await
    }

    /// Sends a barrier whether there is room for it or not: it takes none to speak of.
    pub(crate) fn send_now(&mut self, barrier: Barrier) -> Result<(), SendError> {
        self.put(Element::Barrier(barrier).into(), true, None).map(drop)
    }

    /// Puts in what came from another process, which keeps to its credit itself.
    pub(crate) fn deliver(&mut self, parcel: Parcel) -> Result<(), SendError> {
        self.put(parcel, true, None).map(drop)
    }

    /// From now on `returns` hears what is taken out. Only an inbox of this process can tell.
    pub(crate) fn set_returns(&self, returns: Arc<Returns>) -> Result<()> {
        match &self.end {
            End::Local(channel) => {
                channel.lock().returns = Some(returns);
                Ok(())
            }
            End::Remote(_) => Err(Error::bug("what comes from another process must go into an inbox of this one")),
        }
    }

    fn offer(&mut self, slot: &mut Option<Parcel>, context: Option<&mut Context<'_>>) -> Poll<Result<(), SendError>> {
        let Some(parcel) = slot.take() else { return Poll::Ready(Ok(())) };
        match self.put(parcel, false, context) {
            Ok(None) => Poll::Ready(Ok(())),
            Ok(refused) => {
                *slot = refused;
                Poll::Pending
            }
            Err(e) => Poll::Ready(Err(e)),
        }
    }

    /// Puts a parcel into the channel, or gives it back where there is no room and `now` does not insist.
    fn put(&mut self, parcel: Parcel, now: bool, context: Option<&mut Context<'_>>) -> Result<Option<Parcel>, SendError> {
        #[cfg(debug_assertions)]
        let check = |element: &Element| self.checker.check(element).map_err(SendError::Illegal);
        #[cfg(not(debug_assertions))]
        let check = |_: &Element| Ok(());
        match &mut self.end {
            End::Local(channel) => channel.put(parcel, now, context, check),
            End::Remote(sender) => sender.put(parcel, now, context, check),
        }
    }
}

impl Channel {
    fn put(
        &self,
        parcel: Parcel,
        now: bool,
        context: Option<&mut Context<'_>>,
        check: impl FnOnce(&Element) -> Result<(), SendError>,
    ) -> Result<Option<Parcel>, SendError> {
        let cost = parcel.cost;
        let mut state = self.lock();
        if state.receiver_gone {
            return Err(SendError::Disconnected);
        }
        if !now && !state.admits(cost, self.limits) {
            if let Some(context) = context {
                match &mut state.waiting {
                    Some((waker, wanted)) => {
                        waker.clone_from(context.waker());
                        *wanted = cost;
                    }
                    none => *none = Some((context.waker().clone(), cost)),
                }
            }
            return Ok(Some(parcel));
        }
        check(&parcel.element)?;
        state.held.bytes += cost.bytes;
        state.held.rows += cost.rows;
        let is_barrier = if let Element::Barrier(barrier) = &parcel.element {
            state.barriers.push_back(*barrier);
            true
        } else {
            false
        };
        let was_empty = state.queue.is_empty();
        state.queue.push_back(parcel);
        if was_empty {
            self.readiness.set(self.index);
        }
        if is_barrier {
            self.readiness.count_barriers(1, 0);
        }
        // Counted before the receiver can take it out, so that the number never falls below nothing.
        self.receiver.queued_bytes.add(cost.bytes as i64);
        drop(state);
        if was_empty || is_barrier {
            self.readiness.wake();
        }
        Ok(None)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        match &self.end {
            End::Local(channel) => channel.sender_gone(),
            End::Remote(sender) => sender.gone(),
        }
    }
}
