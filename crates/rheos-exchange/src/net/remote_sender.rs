//! The sending end of a channel to another process, as a task has it: encodes, and asks for credit.

use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::task::Context;

use arrow::datatypes::SchemaRef;
use rheos_core::element::Element;
use rheos_core::env::Clock;
use rheos_core::metrics::TaskMetrics;

use super::encode::{Encoder, Unnumbered, is_same};
use super::header::{FrameKind, HEADER_BYTES};
use super::link::Link;
use super::outgoing::{OutChannel, OutState};
use crate::limits::Parcel;
use crate::send_error::SendError;

/// The sending end of a channel to another process.
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
            state.wait(context, HEADER_BYTES as u64);
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
            state.wait(context, cost);
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
                state.wait(context, cost);
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
            let left = batch.slice(rows, batch.num_rows() - rows);
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
        if !state.is_queued && state.has_unwritten() {
            state.is_queued = true;
            self.link.queue_frames(Arc::clone(&self.channel));
        }
    }
}

impl fmt::Debug for RemoteSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sender to process {} of {:?}", self.link.peer, self.channel.id)
    }
}
