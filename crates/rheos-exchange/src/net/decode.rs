//! Frames as elements. Nothing in a frame is trusted.

use arrow::array::UInt8Array;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use rheos_core::Batch;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::element::{Barrier, CheckpointKind, Element};
use rheos_core::error::{Error, Result};
use rheos_core::time::Watermark;

use super::header::{COMPRESSED, FrameKind, HEADER_BYTES, Header, KINDS, u64_at};
use super::payload::{aligned, decompressed};

/// What a sequenced frame says.
#[derive(Debug)]
pub(crate) enum Said {
    Element(Element),
    /// The columns of what follows.
    Schema,
    /// The sender is gone without an end.
    Gone,
}

/// Turns the frames of one channel into elements.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    schema: Option<SchemaRef>,
}

impl Decoder {
    /// What a frame says; `payload` starts at a multiple of 64 in memory.
    pub(crate) fn decode(&mut self, header: &Header, payload: Bytes) -> Result<Said> {
        Ok(Said::Element(match header.kind {
            FrameKind::Schema => {
                self.schema = Some(super::schema::decode(&payload)?);
                return Ok(Said::Schema);
            }
            FrameKind::Gone => {
                fixed::<0>(&payload)?;
                return Ok(Said::Gone);
            }
            FrameKind::Columns => Element::Batch(Batch::Columns(self.columns(header, payload)?)),
            FrameKind::Rows => return Err(Error::corrupt("a frame of typed rows, which no process sends yet")),
            FrameKind::Watermark => Element::Watermark(watermark(&payload)?),
            FrameKind::Barrier => Element::Barrier(barrier(&payload)?),
            FrameKind::End => {
                fixed::<0>(&payload)?;
                Element::End
            }
            kind => return Err(Error::corrupt(format!("{kind:?} is no element"))),
        }))
    }

    fn columns(&self, header: &Header, payload: Bytes) -> Result<ColumnBatch> {
        let schema = self.schema.as_ref().ok_or_else(|| Error::corrupt("a batch of columns before its schema"))?;
        let payload = if header.flags & COMPRESSED != 0 { decompressed(&payload, header.raw_length as usize)? } else { payload };
        let kinds = if header.flags & KINDS != 0 { header.rows as usize } else { 0 };
        let Some(message) = payload.len().checked_sub(kinds).filter(|_| header.rows > 0) else {
            return Err(Error::corrupt(format!("a batch of {} rows in {} bytes", header.rows, payload.len())));
        };
        let records = super::columns::decode(&payload.slice(..message), header.rows, schema)?;
        if kinds == 0 {
            return Ok(ColumnBatch::inserts(records));
        }
        let kinds = payload.slice(message..);
        if let Some(unknown) = kinds.iter().find(|k| **k >= RowKind::ALL.len() as u8) {
            return Err(Error::corrupt(format!("a row of unknown kind {unknown}")));
        }
        ColumnBatch::changes(records, UInt8Array::new(arrow::buffer::Buffer::from(kinds).into(), None))
    }
}

/// The elements in a run of frames of one channel, as the receiving end reads them: what a stranger can send is decided here.
/// Frames that are no elements (schemas, reports) are passed over; the first error ends the run.
pub fn decode_frames(mut bytes: &[u8], max_frame_bytes: usize) -> Result<Vec<Element>> {
    let mut decoder = Decoder::default();
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(|| Error::corrupt("the head of a frame is cut off"))?;
        let header = Header::parse(head, max_frame_bytes)?;
        let payload = rest.get(..header.length as usize).ok_or_else(|| Error::corrupt("a frame is cut off"))?;
        bytes = &rest[payload.len()..];
        if header.kind.is_sequenced() {
            let (mut memory, start) = aligned(payload.len());
            memory.extend_from_slice(payload);
            if let Said::Element(element) = decoder.decode(&header, Bytes::from(memory).slice(start..))? {
                elements.push(element);
            }
        } else {
            super::control::check(&header, payload)?;
        }
    }
    Ok(elements)
}

/// A payload of a length that is known.
pub(crate) fn fixed<const N: usize>(payload: &[u8]) -> Result<&[u8; N]> {
    payload.try_into().map_err(|_| Error::corrupt(format!("a payload of {} bytes instead of {N}", payload.len())))
}

fn watermark(payload: &[u8]) -> Result<Watermark> {
    let bytes = fixed::<9>(payload)?;
    match bytes[0] {
        0 => Ok(Watermark::At(u64_at(bytes, 1) as i64)),
        1 => Ok(Watermark::Idle),
        2 => Ok(Watermark::Active),
        tag => Err(Error::corrupt(format!("a watermark of unknown kind {tag}"))),
    }
}

fn barrier(payload: &[u8]) -> Result<Barrier> {
    let bytes = fixed::<19>(payload)?;
    let kind = match bytes[17] {
        0 => CheckpointKind::Checkpoint,
        1 => CheckpointKind::Savepoint,
        2 => CheckpointKind::Final,
        kind => return Err(Error::corrupt(format!("a barrier of unknown kind {kind}"))),
    };
    let overtake_from_ms = if flag(bytes[16])? { Some(u64_at(bytes, 8) as i64) } else { None };
    Ok(Barrier { epoch: u64_at(bytes, 0), overtake_from_ms, kind, full: flag(bytes[18])? })
}

fn flag(byte: u8) -> Result<bool> {
    if byte > 1 { Err(Error::corrupt(format!("{byte} is neither yes nor no"))) } else { Ok(byte == 1) }
}
