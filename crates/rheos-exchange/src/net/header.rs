//! The fixed head of every frame, little-endian.
//!
//! ```text
//! 0   u32 length      of the payload, as it is on the wire
//! 4   u8  kind
//! 5   u8  flags       1: the payload is compressed, 2: row kinds follow the columns
//! 6   u16 0
//! 8   u32 rows
//! 12  u32 raw length  of the payload before compression
//! 16  u64 deployment, u32 edge, u32 sender, u32 receiver
//! 36  u32 0
//! 40  u64 sequence    of the frame on its channel, from 0; in reports the number that is expected next
//! ```

use rheos_core::error::{Error, Result};

use super::peer::ChannelId;

/// How long a head is.
pub(crate) const HEADER_BYTES: usize = 48;
/// The payload is one LZ4 block.
pub(crate) const COMPRESSED: u8 = 1;
/// The last bytes of the payload are row kinds, one for each row.
pub(crate) const KINDS: u8 = 2;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    /// The first of a connection, from both ends.
    Hello = 1,
    /// Instead of a hello: why there will be none.
    Refused = 2,
    /// The second of a connection, from both ends: what each incoming channel expects.
    Resume = 3,
    /// The columns of the batches that follow on the channel.
    Schema = 4,
    /// A batch of columns.
    Columns = 5,
    /// A batch of typed rows. Kept free: no type has a codec yet.
    Rows = 6,
    Watermark = 7,
    Barrier = 8,
    End = 9,
    /// The sender is gone without an end.
    Gone = 10,
    /// From the receiver: what it has taken, and up to where it has received.
    Consumed = 11,
    /// From the receiver: it takes nothing more.
    Closed = 12,
    /// A sign of life.
    Ping = 13,
}

impl FrameKind {
    const ALL: [FrameKind; 13] = {
        use FrameKind::*;
        [Hello, Refused, Resume, Schema, Columns, Rows, Watermark, Barrier, End, Gone, Consumed, Closed, Ping]
    };

    /// Whether it has a place in the order of its channel, is kept until it was received, and counts as credit.
    pub(crate) fn is_sequenced(self) -> bool {
        use FrameKind::*;
        matches!(self, Schema | Columns | Rows | Watermark | Barrier | End | Gone)
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) kind: FrameKind,
    pub(crate) flags: u8,
    pub(crate) rows: u32,
    pub(crate) raw_length: u32,
    pub(crate) channel: ChannelId,
    pub(crate) sequence: u64,
}

/// What a row takes of credit at least, in bytes: a channel of the usual 4 MiB then holds no more rows between processes than within
/// one. Narrow rows would fill it by the hundred thousand, and one sender run far ahead of another in event time.
const LEAST_ROW_CREDIT: u64 = 64;

/// What a frame takes of its channel's credit, in bytes.
pub(crate) fn credit_cost(raw_length: u32, rows: u32) -> u64 {
    HEADER_BYTES as u64 + u64::from(raw_length).max(u64::from(rows) * LEAST_ROW_CREDIT)
}

impl Header {
    /// The head of an uncompressed frame without rows.
    pub(crate) fn new(kind: FrameKind, channel: ChannelId, sequence: u64, length: u32) -> Self {
        Header { length, kind, flags: 0, rows: 0, raw_length: length, channel, sequence }
    }

    /// What the frame takes of its channel's credit.
    pub(crate) fn cost(&self) -> u64 {
        credit_cost(self.raw_length, self.rows)
    }

    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = self.flags;
        bytes[8..12].copy_from_slice(&self.rows.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw_length.to_le_bytes());
        bytes[16..36].copy_from_slice(&channel_bytes(self.channel));
        bytes[40..48].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    /// Reads a head, and refuses one whose payload would be larger than `max_payload` bytes.
    pub(crate) fn parse(bytes: &[u8; HEADER_BYTES], max_payload: usize) -> Result<Header> {
        let kind = FrameKind::ALL.into_iter().find(|kind| *kind as u8 == bytes[4]);
        let kind = kind.ok_or_else(|| Error::corrupt(format!("a frame of unknown kind {}", bytes[4])))?;
        let header = Header {
            length: u32_at(bytes, 0),
            kind,
            flags: bytes[5],
            rows: u32_at(bytes, 8),
            raw_length: u32_at(bytes, 12),
            channel: channel_at(bytes, 16),
            sequence: u64_at(bytes, 40),
        };
        let longest = header.length.max(header.raw_length);
        if longest as usize > max_payload {
            return Err(Error::corrupt(format!("a frame of {longest} bytes; at most {max_payload} are allowed (max_frame_bytes)")));
        }
        let is_rows = matches!(kind, FrameKind::Columns | FrameKind::Rows);
        let is_compressed = header.flags & COMPRESSED != 0;
        let is_sound = header.flags & !(COMPRESSED | KINDS) == 0
            && (is_rows || (header.flags == 0 && header.rows == 0))
            && (is_compressed || header.length == header.raw_length)
            && bytes[6..8] == [0; 2]
            && bytes[36..40] == [0; 4];
        if is_sound { Ok(header) } else { Err(Error::corrupt(format!("the head of a frame contradicts itself: {header:?}"))) }
    }
}

/// A channel's number as bytes.
pub(crate) fn channel_bytes(channel: ChannelId) -> [u8; 20] {
    let mut bytes = [0; 20];
    bytes[0..8].copy_from_slice(&channel.deployment.to_le_bytes());
    bytes[8..12].copy_from_slice(&channel.edge.to_le_bytes());
    bytes[12..16].copy_from_slice(&channel.sender.to_le_bytes());
    bytes[16..20].copy_from_slice(&channel.receiver.to_le_bytes());
    bytes
}

/// The channel's number at `at`, which is at least 20 bytes from the end.
pub(crate) fn channel_at(bytes: &[u8], at: usize) -> ChannelId {
    ChannelId {
        deployment: u64_at(bytes, at),
        edge: u32_at(bytes, at + 8),
        sender: u32_at(bytes, at + 12),
        receiver: u32_at(bytes, at + 16),
    }
}

/// The number at `at`, which is at least 4 bytes from the end.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// The number at `at`, which is at least 8 bytes from the end.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}
