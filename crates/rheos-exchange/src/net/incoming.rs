//! The receiving end of a channel from another process: order, credit, and what is reported back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use rheos_core::element::Element;
use rheos_core::error::{Error, Result};

use super::control::Progress;
use super::decode::{Decoder, Said};
use super::encode::Frame;
use super::header::{FrameKind, Header};
use super::link::Link;
use super::peer::ChannelId;
use crate::channel::Sender;
use crate::limits::{Cost, Parcel};
use crate::send_error::SendError;

/// Bytes of barriers that may have overtaken beyond a channel's credit.
const BARRIER_BYTES: u64 = 1 << 20;

/// What the inbox, the connection that reads and the connection that writes share of a channel.
#[derive(Debug)]
pub(crate) struct Returns {
    pub(crate) id: ChannelId,
    limit: u64,
    link: Weak<Link>,
    /// The number of the next frame.
    expected: AtomicU64,
    /// What was taken out, and what of it the sender knows, in bytes of credit.
    consumed: AtomicU64,
    reported: AtomicU64,
    closed: AtomicBool,
    is_queued: AtomicBool,
}

impl Returns {
    /// Counts what the inbox took; says whether it is time to tell the sender.
    pub(crate) fn take(&self, bytes: usize, is_empty: bool) -> bool {
        let consumed = self.consumed.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64;
        is_empty || consumed.wrapping_sub(self.reported.load(Ordering::Acquire)) >= self.limit / 8
    }

    /// Has the sender told.
    pub(crate) fn report(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel)
            && let Some(link) = self.link.upgrade()
        {
            link.queue_report(Arc::clone(self));
        }
    }

    /// The inbox is gone.
    pub(crate) fn close(self: &Arc<Self>) {
        self.closed.store(true, Ordering::Release);
        self.report();
    }

    /// What there is to tell.
    pub(crate) fn frame(&self) -> Frame {
        self.is_queued.store(false, Ordering::Release);
        if self.closed.load(Ordering::Acquire) {
            return Frame::unsequenced(FrameKind::Closed, self.id, 0, &[]);
        }
        let Progress { expected, consumed, .. } = self.progress();
        self.reported.store(consumed, Ordering::Release);
        Frame::unsequenced(FrameKind::Consumed, self.id, expected, &consumed.to_le_bytes())
    }

    /// How far the channel is.
    pub(crate) fn progress(&self) -> Progress {
        // Consumed first: what is consumed was received.
        let consumed = self.consumed.load(Ordering::Acquire);
        let expected = self.expected.load(Ordering::Acquire);
        Progress { channel: self.id, expected, consumed, closed: self.closed.load(Ordering::Acquire) }
    }

    /// The link begins anew with nothing queued.
    pub(crate) fn unqueue(&self) {
        self.is_queued.store(false, Ordering::Release);
    }
}

/// What the connection that reads has of a channel.
#[derive(Debug)]
pub(crate) struct InChannel {
    pub(crate) returns: Arc<Returns>,
    state: Mutex<InState>,
}

#[derive(Debug)]
struct InState {
    /// The inbox's channel; `None` where nothing more is put in.
    into: Option<Sender>,
    decoder: Decoder,
    /// What came, in bytes of credit.
    received: u64,
    /// The largest frame so far, in the same: barriers may wait behind it.
    largest: u64,
}

impl InChannel {
    /// The end of a channel whose elements go into `into`.
    pub(crate) fn new(id: ChannelId, limit: usize, link: Weak<Link>, into: Sender) -> Result<Self> {
        let returns = Arc::new(Returns {
            id,
            limit: limit as u64,
            link,
            expected: AtomicU64::new(0),
            consumed: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            is_queued: AtomicBool::new(false),
        });
        into.set_returns(Arc::clone(&returns))?;
        Ok(InChannel { returns, state: Mutex::new(InState { into: Some(into), decoder: Decoder::default(), received: 0, largest: 0 }) })
    }

    /// Takes a frame in.
    pub(crate) fn accept(&self, header: &Header, payload: Bytes) -> Result<()> {
        let mut state = self.lock();
        let returns = &self.returns;
        let expected = returns.expected.load(Ordering::Acquire);
        if header.sequence < expected {
            return Ok(()); // It came before the connection was lost.
        }
        if header.sequence > expected {
            return Err(Error::corrupt(format!("frame {} came where {expected} was expected", header.sequence)));
        }
        let cost = header.cost();
        // What is consumed can only grow meanwhile, so a sender that keeps to its credit is never accused.
        let waiting = state.received - returns.consumed.load(Ordering::Acquire).min(state.received);
        let allowed = match header.kind {
            FrameKind::Barrier => returns.limit.max(state.largest).saturating_add(BARRIER_BYTES),
            FrameKind::Gone => u64::MAX,
            _ => returns.limit,
        };
        if waiting > 0 && waiting + cost > allowed {
            return Err(Error::corrupt(format!("a sender exceeds its credit: {waiting} + {cost} bytes of {}", returns.limit)));
        }
        let rows = (header.rows as usize).max(1);
        if state.into.is_none() {
            returns.expected.store(expected + 1, Ordering::Release);
            return Ok(());
        }
        let said = state.decoder.decode(header, payload)?;
        state.received += cost;
        state.largest = state.largest.max(cost);
        returns.expected.store(expected + 1, Ordering::Release);
        match said {
            Said::Schema => {
                returns.consumed.fetch_add(cost, Ordering::AcqRel);
            }
            Said::Gone => {
                returns.consumed.fetch_add(cost, Ordering::AcqRel);
                state.into = None;
                drop(state);
                returns.report();
            }
            Said::Element(element) => {
                let is_end = matches!(element, Element::End);
                let parcel = Parcel { element, cost: Cost { bytes: cost as usize, rows }, encoded: None };
                match state.into.as_mut().map_or(Ok(()), |into| into.deliver(parcel)) {
                    Ok(()) => {}
                    Err(SendError::Disconnected) => state.into = None,
                    Err(illegal) => return Err(Error::corrupt(illegal.to_string())),
                }
                if is_end {
                    state.into = None;
                }
            }
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn disconnect(&self) {
        let into = self.lock().into.take();
        drop(into);
    }

    /// Nothing that holds the lock can panic half-way through a change, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, InState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
