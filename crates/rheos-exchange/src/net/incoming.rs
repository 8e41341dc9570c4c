//! The receiving end of a channel from another process: order and credit are checked, elements go into the inbox.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use rheos_core::element::Element;
use rheos_core::error::{Error, Result};

use super::decode::{Decoder, Said};
use super::header::{FrameKind, Header};
use super::link::Link;
use super::peer::ChannelId;
use super::returns::Returns;
use crate::channel::Sender;
use crate::limits::{Cost, Parcel};
use crate::send_error::SendError;

/// Bytes of barriers that may have overtaken beyond a channel's credit.
const BARRIER_BYTES: u64 = 1 << 20;

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
        let returns = Arc::new(Returns::new(id, limit, link));
        into.set_returns(Arc::clone(&returns))?;
        Ok(InChannel { returns, state: Mutex::new(InState { into: Some(into), decoder: Decoder::default(), received: 0, largest: 0 }) })
    }

    /// Takes a frame in.
    pub(crate) fn accept(&self, header: &Header, payload: Bytes) -> Result<()> {
        let mut state = self.lock();
        let returns = &self.returns;
        let expected = returns.expected();
        if header.sequence < expected {
            return Ok(()); // It came before the connection was lost.
        }
        if header.sequence > expected {
            return Err(Error::corrupt(format!("frame {} came where {expected} was expected", header.sequence)));
        }
        if state.into.is_none() {
            returns.advance();
            return Ok(());
        }
        let cost = header.cost();
        // What is consumed can only grow meanwhile, so a sender that keeps to its credit is never accused.
        let waiting = state.received - returns.consumed().min(state.received);
        let allowed = match header.kind {
            FrameKind::Barrier => returns.limit.max(state.largest).saturating_add(BARRIER_BYTES),
            FrameKind::Gone => u64::MAX,
            _ => returns.limit,
        };
        if waiting > 0 && waiting + cost > allowed {
            return Err(Error::corrupt(format!("a sender exceeds its credit: {waiting} + {cost} bytes of {}", returns.limit)));
        }
        let rows = (header.rows as usize).max(1);
        let said = state.decoder.decode(header, payload)?;
        state.received += cost;
        state.largest = state.largest.max(cost);
        returns.advance();
        match said {
            Said::Schema => returns.pass_over(cost),
            Said::Gone => {
                returns.pass_over(cost);
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
