//! The bytes of frames: on their way out as pieces that are shared with columns, on their way in as one aligned run.

use arrow::buffer::Buffer;
use bytes::Bytes;
use rheos_core::error::{Error, Result};

/// Pieces shorter than this are copied together: writing many small ones costs more.
const SHARED_FROM_BYTES: usize = 4096;
/// Where columns must start for the fastest instructions.
const ALIGNMENT: usize = 64;

/// Bytes to be sent, in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payload {
    pieces: Vec<Buffer>,
    /// Short pieces that are not yet among `pieces`.
    short: Vec<u8>,
    length: usize,
}

impl Payload {
    /// Adds a piece. It is shared, unless it is short or would keep much more in memory than itself.
    pub(crate) fn push(&mut self, piece: &Buffer) {
        let is_shared = piece.len() >= SHARED_FROM_BYTES && piece.capacity() <= piece.len() + piece.len() / 2;
        if is_shared {
            self.seal();
            self.length += piece.len();
            self.pieces.push(piece.clone());
        } else {
            self.extend(piece);
        }
    }

    /// Adds bytes, copied.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.short.extend_from_slice(bytes);
        self.length += bytes.len();
    }

    fn seal(&mut self) {
        if !self.short.is_empty() {
            self.pieces.push(Buffer::from_vec(std::mem::take(&mut self.short)));
        }
    }

    pub(crate) fn finish(mut self) -> Self {
        self.seal();
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn pieces(&self) -> &[Buffer] {
        &self.pieces
    }

    /// The same bytes as an LZ4 block, where that is shorter.
    pub(crate) fn compressed(&self) -> Option<Payload> {
        let whole = self.pieces.iter().map(Buffer::as_slice).collect::<Vec<_>>().concat();
        let block = lz4_flex::block::compress(&whole);
        if block.len() >= whole.len() {
            return None;
        }
        Some(Payload { length: block.len(), pieces: vec![Buffer::from_vec(block)], short: Vec::new() })
    }
}

/// Memory for `length` bytes that start at a multiple of 64: what is appended to the vector, up to that length, and where they start.
pub(crate) fn aligned(length: usize) -> (Vec<u8>, usize) {
    let mut memory: Vec<u8> = Vec::with_capacity(length + ALIGNMENT - 1);
    let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1);
    memory.resize(start, 0);
    (memory, start)
}

/// The bytes of an LZ4 block that were `length` before.
pub(crate) fn decompressed(block: &[u8], length: usize) -> Result<Bytes> {
    let (mut memory, start) = aligned(length);
    memory.resize(start + length, 0);
    match lz4_flex::block::decompress_into(block, &mut memory[start..]) {
        Ok(n) if n == length => Ok(Bytes::from(memory).slice(start..)),
        Ok(n) => Err(Error::corrupt(format!("a compressed frame has {n} bytes instead of {length}"))),
        Err(e) => Err(Error::corrupt(format!("a compressed frame cannot be read: {e}")).caused_by(e)),
    }
}
