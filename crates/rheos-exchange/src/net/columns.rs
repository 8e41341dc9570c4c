//! Batches of columns as Arrow IPC record batch messages: written by Arrow, read by a reader of our own that trusts nothing.
//!
//! Arrow's reader panics where lengths lie. This one looks at every length before it is used, and lets Arrow validate what is
//! left (offsets, UTF-8). Nothing is copied: columns are parts of the payload.

use std::sync::Arc;

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::ipc::writer::StreamEncoder;
use arrow::ipc::{FieldNode, MetadataVersion, root_as_message};
use bytes::Bytes;
use rheos_core::error::{Error, Result};

/// No array is longer: lengths in bytes stay far from where they overflow.
const LONGEST: i64 = i32::MAX as i64;
/// What the widest type wants; senders align to 64.
const ALIGNMENT: usize = align_of::<i128>();
const CONTINUATION: [u8; 4] = [0xFF; 4];

/// An encoder for batches of a schema. Only the rows of a slice are written.
pub(crate) fn encoder(schema: &SchemaRef) -> Result<StreamEncoder> {
    let mut encoder = StreamEncoder::try_new(schema)?;
    // The first batch would bring Arrow's form of the schema with it.
    encoder.encode(&RecordBatch::new_empty(Arc::clone(schema)))?;
    Ok(encoder)
}

/// The batch in a message; `payload` starts at a multiple of 64 in memory.
pub(crate) fn decode(payload: &Bytes, rows: u32, schema: &SchemaRef) -> Result<RecordBatch> {
    let head = payload.get(..8).filter(|head| head[..4] == CONTINUATION).ok_or_else(|| corrupt("no message"))?;
    let body_at = super::header::u32_at(head, 4) as usize + 8;
    let metadata = payload.get(8..body_at).ok_or_else(|| corrupt("its metadata is cut off"))?;
    let message = root_as_message(metadata).map_err(|e| corrupt(e.to_string()))?;
    let batch = message.header_as_record_batch().ok_or_else(|| corrupt("the message is no batch"))?;
    if message.version() != MetadataVersion::V5 || batch.compression().is_some() || batch.length() != i64::from(rows) {
        return Err(corrupt("version, compression or number of rows are not as agreed"));
    }
    let (nodes, buffers) = batch.nodes().zip(batch.buffers()).ok_or_else(|| corrupt("no description of its columns"))?;
    let mut reader = Reader { body: payload.slice(body_at..), nodes: nodes.iter(), buffers: buffers.iter() };
    let columns: Vec<ArrayRef> =
        schema.fields().iter().map(|field| Ok(make_array(reader.array(field, Some(rows as usize))?))).collect::<Result<_>>()?;
    if reader.nodes.next().is_some() || reader.buffers.next().is_some() {
        return Err(corrupt("it has more columns than its schema"));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(|e| corrupt(e.to_string()))
}

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("a batch of columns cannot be read: {what}"))
}

struct Reader<N, B> {
    body: Bytes,
    nodes: N,
    buffers: B,
}

impl<'a, N, B> Reader<N, B>
where
    N: Iterator<Item = &'a FieldNode>,
    B: Iterator<Item = &'a arrow::ipc::Buffer>,
{
    /// The next array, of exactly `length` where that is known.
    fn array(&mut self, field: &Field, length: Option<usize>) -> Result<ArrayData> {
        let node = self.nodes.next().ok_or_else(|| corrupt("columns are missing"))?;
        let (len, null_count) = (node.length(), node.null_count());
        if !(0..=LONGEST).contains(&len) || !(0..=len).contains(&null_count) || length.is_some_and(|l| l as i64 != len) {
            return Err(corrupt(format!("column {} has length {len} with {null_count} NULLs", field.name())));
        }
        let len = len as usize;
        let ty = field.data_type();
        let mut array = ArrayData::builder(ty.clone()).len(len);
        if *ty != DataType::Null {
            let validity = self.buffer(if null_count > 0 { len.div_ceil(8) } else { 0 })?;
            if null_count > 0 {
                let nulls = NullBuffer::new(BooleanBuffer::new(validity, 0, len));
                if nulls.null_count() as i64 != null_count {
                    return Err(corrupt(format!("column {} has {} NULLs instead of {null_count}", field.name(), nulls.null_count())));
                }
                array = array.nulls(Some(nulls));
            }
        }
        array = match ty {
            DataType::Null => array,
            DataType::Boolean => array.add_buffer(self.buffer(len.div_ceil(8))?),
            DataType::FixedSizeBinary(width) => array.add_buffer(self.buffer(len.saturating_mul(*width as usize))?),
            DataType::Utf8 | DataType::Binary => array.add_buffer(self.buffer((len + 1) * 4)?).add_buffer(self.buffer(0)?),
            DataType::LargeUtf8 | DataType::LargeBinary => array.add_buffer(self.buffer((len + 1) * 8)?).add_buffer(self.buffer(0)?),
            DataType::List(item) | DataType::Map(item, _) => {
                let offsets = self.buffer((len + 1) * 4)?;
                array.add_buffer(offsets).add_child_data(self.array(item, None)?)
            }
            DataType::LargeList(item) => {
                let offsets = self.buffer((len + 1) * 8)?;
                array.add_buffer(offsets).add_child_data(self.array(item, None)?)
            }
            DataType::FixedSizeList(item, size) => array.add_child_data(self.array(item, Some(len.saturating_mul(*size as usize)))?),
            DataType::Struct(fields) => {
                fields.iter().try_fold(array, |array, f| Ok::<_, Error>(array.add_child_data(self.array(f, Some(len))?)))?
            }
            ty => {
                let width = ty.primitive_width().ok_or_else(|| corrupt(format!("columns of type {ty} cannot cross processes")))?;
                array.add_buffer(self.buffer(len.saturating_mul(width))?)
            }
        };
        array.build().map_err(|e| corrupt(e.to_string()))
    }

    /// The next buffer, which must have at least so many bytes.
    fn buffer(&mut self, at_least: usize) -> Result<Buffer> {
        let place = self.buffers.next().ok_or_else(|| corrupt("buffers are missing"))?;
        let range = usize::try_from(place.offset()).ok().zip(usize::try_from(place.length()).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        match range {
            Some(range) if range.is_empty() && at_least == 0 && range.end <= self.body.len() => Ok(MutableBuffer::new(0).into()),
            Some(range) if range.end <= self.body.len() && range.len() >= at_least => {
                // Arrow panics where values do not lie as their type wants, or something is left that is no whole value.
                let length = if at_least > 0 { at_least } else { range.len() };
                let bytes = self.body.slice(range.start..range.start + length);
                if bytes.as_ptr().align_offset(ALIGNMENT) != 0 {
                    return Err(corrupt(format!("a buffer at {} is not aligned", place.offset())));
                }
                Ok(Buffer::from(bytes))
            }
            _ => {
                Err(corrupt(format!("a buffer of at least {at_least} bytes is said to be {} bytes at {}", place.length(), place.offset())))
            }
        }
    }
}
