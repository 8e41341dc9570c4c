//! What the two ends of a link tell each other beside elements: who they are, and what has been received.

use rheos_core::error::{Error, Result};

use super::decode::fixed;
use super::header::{FrameKind, Header, channel_at, channel_bytes, u32_at, u64_at};
use super::peer::ChannelId;

/// The form of everything in this module: processes of different versions do not talk.
pub(crate) const VERSION: u32 = 1;
/// The first bytes of a hello, so that a stranger is known as such.
const MAGIC: [u8; 4] = *b"RHNT";
/// The longest hello, in bytes.
pub(crate) const MAX_HELLO_BYTES: usize = 4096;

/// The first frame of each end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Who speaks.
    pub(crate) from: u64,
    /// Who is meant: another process may listen where one was.
    pub(crate) to: u64,
    /// The number that the speaker has given the link.
    pub(crate) link: u64,
    /// The number that the other gave it; 0 where none was heard yet.
    pub(crate) peer_link: u64,
    pub(crate) token: String,
}

impl Hello {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.from, self.to, self.link, self.peer_link] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(self.token.as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Hello> {
        if bytes.get(..4) != Some(&MAGIC[..]) {
            return Err(Error::corrupt("whoever is there does not speak Rheos's data plane"));
        }
        match bytes.get(4..8).map(|b| u32_at(b, 0)) {
            Some(VERSION) => {}
            Some(other) => {
                return Err(Error::config(format!(
                    "the other process speaks version {other} of the data plane, this one version {VERSION}"
                )));
            }
            None => return Err(Error::corrupt("a hello that is cut off")),
        }
        let numbers = bytes.get(8..40).ok_or_else(|| Error::corrupt("a hello that is cut off"))?;
        let token = String::from_utf8(bytes[40..].to_vec()).map_err(|_| Error::corrupt("a token that is no text"))?;
        let at = |i: usize| u64_at(numbers, i * 8);
        Ok(Hello { from: at(0), to: at(1), link: at(2), peer_link: at(3), token })
    }
}

/// How far an incoming channel is: part of the second frame of each end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) channel: ChannelId,
    /// The number of the next frame.
    pub(crate) expected: u64,
    /// What was taken out, in bytes of credit.
    pub(crate) consumed: u64,
    /// Whether nothing more is taken.
    pub(crate) closed: bool,
}

const PROGRESS_BYTES: usize = 37;

/// The payload of a resume.
pub(crate) fn encode_progress(all: &[Progress]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(all.len() * PROGRESS_BYTES);
    for progress in all {
        bytes.extend_from_slice(&channel_bytes(progress.channel));
        bytes.extend_from_slice(&progress.expected.to_le_bytes());
        bytes.extend_from_slice(&progress.consumed.to_le_bytes());
        bytes.push(u8::from(progress.closed));
    }
    bytes
}

/// The channels of a resume.
pub(crate) fn decode_progress(bytes: &[u8]) -> Result<Vec<Progress>> {
    if !bytes.len().is_multiple_of(PROGRESS_BYTES) {
        return Err(Error::corrupt(format!("a resume of {} bytes", bytes.len())));
    }
    let one = |b: &[u8]| Progress { channel: channel_at(b, 0), expected: u64_at(b, 20), consumed: u64_at(b, 28), closed: b[36] != 0 };
    Ok(bytes.chunks_exact(PROGRESS_BYTES).map(one).collect())
}

/// What a report says was consumed.
pub(crate) fn decode_consumed(payload: &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(*fixed::<8>(payload)?))
}

/// Whether a frame that is no element can be read.
pub(crate) fn check(header: &Header, payload: &[u8]) -> Result<()> {
    match header.kind {
        FrameKind::Hello => Hello::decode(payload).map(drop),
        FrameKind::Resume => decode_progress(payload).map(drop),
        FrameKind::Consumed => decode_consumed(payload).map(drop),
        _ => Ok(()),
    }
}

/// Whether two tokens are equal, in a time that tells nothing about where they differ.
pub(crate) fn is_equal(a: &str, b: &str) -> bool {
    let difference = a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(difference) == 0 && a.len() == b.len()
}
