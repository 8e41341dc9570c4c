//! Elements as frames, on the sending task's thread.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::StreamEncoder;
use rheos_core::batch::ColumnBatch;
use rheos_core::element::{Barrier, CheckpointKind, Element};
use rheos_core::error::{Error, Result};
use rheos_core::time::Watermark;
use rheos_core::{Batch, time::TimestampMs};

use super::header::{COMPRESSED, FrameKind, HEADER_BYTES, Header, KINDS, credit_cost};
use super::payload::Payload;
use super::peer::ChannelId;

/// A frame that has no number yet.
#[derive(Debug)]
pub(crate) struct Unnumbered {
    kind: FrameKind,
    flags: u8,
    pub(crate) rows: usize,
    raw_length: u32,
    payload: Payload,
}

impl Unnumbered {
    pub(crate) fn new(kind: FrameKind, payload: &[u8]) -> Self {
        let mut bytes = Payload::default();
        bytes.extend(payload);
        Unnumbered { kind, flags: 0, rows: 0, raw_length: payload.len() as u32, payload: bytes.finish() }
    }

    /// What it takes of its channel's credit.
    pub(crate) fn cost(&self) -> u64 {
        credit_cost(self.raw_length, self.rows as u32)
    }

    pub(crate) fn numbered(self, channel: ChannelId, sequence: u64) -> Frame {
        let Unnumbered { kind, flags, rows, raw_length, payload } = self;
        let header = Header { length: payload.len() as u32, kind, flags, rows: rows as u32, raw_length, channel, sequence };
        Frame { header: header.to_bytes(), payload }
    }
}

/// A frame as it goes over the wire.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) header: [u8; HEADER_BYTES],
    pub(crate) payload: Payload,
}

impl Frame {
    /// A frame that belongs to no order.
    pub(crate) fn unsequenced(kind: FrameKind, channel: ChannelId, sequence: u64, payload: &[u8]) -> Frame {
        Unnumbered::new(kind, payload).numbered(channel, sequence)
    }

    pub(crate) fn len(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }
}

/// An element as frames: several where a batch is too large for one.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) frames: VecDeque<Unnumbered>,
    /// Of a batch of columns.
    pub(crate) schema: Option<SchemaRef>,
}

/// Turns the elements of one channel into frames.
#[derive(Default)]
pub(crate) struct Encoder {
    columns: Option<(SchemaRef, StreamEncoder)>,
    max_payload: usize,
    compress: bool,
}

impl Encoder {
    pub(crate) fn new(max_payload: usize, compress: bool) -> Self {
        Encoder { columns: None, max_payload, compress }
    }

    /// The element as frames; an error where it cannot cross processes.
    pub(crate) fn encode(&mut self, element: &Element) -> Result<Encoded> {
        let frame = match element {
            Element::Batch(Batch::Columns(batch)) => {
                let mut frames = VecDeque::with_capacity(1);
                self.batch(batch, &mut frames)?;
                return Ok(Encoded { frames, schema: Some(batch.schema()) });
            }
            Element::Batch(Batch::Rows(rows)) => {
                let ty = rows.type_name();
                return Err(Error::config(format!(
                    "typed rows cannot cross processes yet: {ty} has no codec; run the job in one process, or use columns"
                )));
            }
            Element::Watermark(watermark) => Unnumbered::new(FrameKind::Watermark, &watermark_bytes(*watermark)),
            Element::Barrier(barrier) => Unnumbered::new(FrameKind::Barrier, &barrier_bytes(barrier)),
            Element::End => Unnumbered::new(FrameKind::End, &[]),
        };
        Ok(Encoded { frames: VecDeque::from([frame]), schema: None })
    }

    fn batch(&mut self, batch: &ColumnBatch, frames: &mut VecDeque<Unnumbered>) -> Result<()> {
        let buffers = self.columns_encoder(&batch.schema())?.encode(batch.records())?;
        let kinds = batch.kinds();
        let length = buffers.iter().map(Buffer::len).sum::<usize>() + kinds.map_or(0, |k| k.len());
        if length > self.max_payload {
            let rows = batch.num_rows();
            if rows < 2 {
                return Err(Error::config(format!(
                    "a row of {length} bytes cannot cross processes: at most {} fit a frame (max_frame_bytes)",
                    self.max_payload
                )));
            }
            self.batch(&batch.slice(0, rows / 2), frames)?;
            return self.batch(&batch.slice(rows / 2, rows - rows / 2), frames);
        }
        let mut payload = Payload::default();
        buffers.iter().for_each(|buffer| payload.push(buffer));
        if let Some(kinds) = kinds {
            payload.extend(kinds.values());
        }
        let mut payload = payload.finish();
        let mut flags = if kinds.is_some() { KINDS } else { 0 };
        if self.compress
            && let Some(compressed) = payload.compressed()
        {
            payload = compressed;
            flags |= COMPRESSED;
        }
        frames.push_back(Unnumbered { kind: FrameKind::Columns, flags, rows: batch.num_rows(), raw_length: length as u32, payload });
        Ok(())
    }

    fn columns_encoder(&mut self, schema: &SchemaRef) -> Result<&mut StreamEncoder> {
        let is_known = self.columns.as_ref().is_some_and(|(known, _)| is_same(known, schema));
        let (_, encoder) = match self.columns.take() {
            Some(columns) if is_known => self.columns.insert(columns),
            _ => {
                super::schema::encode(schema)?;
                self.columns.insert((Arc::clone(schema), super::columns::encoder(schema)?))
            }
        };
        Ok(encoder)
    }
}

/// Whether two schemas are one; mostly they are even the same in memory.
pub(crate) fn is_same(a: &SchemaRef, b: &SchemaRef) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

fn watermark_bytes(watermark: Watermark) -> [u8; 9] {
    let (tag, at) = match watermark {
        Watermark::At(at) => (0, at),
        Watermark::Idle => (1, 0),
        Watermark::Active => (2, 0),
    };
    let mut bytes = [tag; 9];
    bytes[1..].copy_from_slice(&at.to_le_bytes());
    bytes
}

/// Epoch, moment of overtaking, then a byte each: whether there is one, what for, whether it is full.
fn barrier_bytes(barrier: &Barrier) -> [u8; 19] {
    let mut bytes = [0; 19];
    bytes[0..8].copy_from_slice(&barrier.epoch.to_le_bytes());
    bytes[8..16].copy_from_slice(&TimestampMs::to_le_bytes(barrier.overtake_from_ms.unwrap_or(0)));
    bytes[16] = u8::from(barrier.overtake_from_ms.is_some());
    bytes[17] = match barrier.kind {
        CheckpointKind::Checkpoint => 0,
        CheckpointKind::Savepoint => 1,
        CheckpointKind::Final => 2,
    };
    bytes[18] = u8::from(barrier.full);
    bytes
}
