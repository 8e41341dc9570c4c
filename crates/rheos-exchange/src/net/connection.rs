//! One TCP connection of a link: reading, writing, and noticing when the other end is silent.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{BufMut, Bytes};
use rheos_core::env::Clock;
use rheos_core::error::{Error, ErrorKind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::encode::Frame;
use super::handshake::exchange_progress;
use super::header::{HEADER_BYTES, Header};
use super::link::Link;
use super::options::NetworkOptions;
use super::payload::aligned;

/// Heads and small frames are read together; larger ones into their own memory.
const READ_BYTES: usize = 16 << 10;
/// After so many bytes the writer has its turn, in bytes.
const TURN_BYTES: usize = 1 << 20;
/// How many pieces one call to the operating system takes.
const MAX_PIECES: usize = 256;

/// Why a connection has ended.
pub(crate) enum Ended {
    /// It was lost; another may be made.
    Lost(String),
    /// What came over it was wrong: the link cannot go on.
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(e: Error) -> Self {
        match e.kind() {
            ErrorKind::RestartJob | ErrorKind::Retry => Ended::Lost(e.to_string()),
            _ => Ended::Failed(e),
        }
    }
}

/// Serves a connection whose hellos were exchanged, until it ends. The other end calls the link `peer_link`.
pub(crate) async fn run(mut stream: TcpStream, link: &Link, peer_link: u64, options: &NetworkOptions, clock: &dyn Clock) -> Ended {
    let (generation, progress) = link.connected(peer_link);
    let (read, mut write) = stream.split();
    let activity = Activity::default();
    let max_payload = options.max_payload_bytes();
    let served = async {
        let mut read = BufReader::with_capacity(READ_BYTES, read);
        let theirs = exchange_progress(&mut read, &mut write, &progress, max_payload).await?;
        link.resume(generation, &theirs)?;
        tokio::select! {
            ended = read_frames(read, link, max_payload, &activity) => ended,
            ended = write_frames(write, link, generation, &activity) => ended,
        }
    };
    tokio::select! {
        ended = served => ended.err().unwrap_or_else(|| Error::bug("a connection without an end")).into(),
        () = silence(link, &activity, options.reconnect_timeout_ms, clock) => Ended::Lost("nothing was heard for too long".into()),
    }
}

/// What happened since somebody last looked.
#[derive(Default)]
struct Activity {
    received: AtomicBool,
    sent: AtomicBool,
}

async fn read_frames(mut read: BufReader<ReadHalf<'_>>, link: &Link, max_payload: usize, activity: &Activity) -> Result<()> {
    let mut turn = 0;
    loop {
        let mut head = [0; HEADER_BYTES];
        read.read_exact(&mut head).await?;
        activity.received.store(true, Ordering::Relaxed);
        let header = Header::parse(&head, max_payload)?;
        let length = header.length as usize;
        let payload = if length == 0 { Bytes::new() } else { read_payload(&mut read, length, activity).await? };
        link.accept(&header, payload)?;
        turn += HEADER_BYTES + length;
        if turn >= TURN_BYTES {
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
}

/// The payload, in memory that starts at a multiple of 64.
async fn read_payload(read: &mut BufReader<ReadHalf<'_>>, length: usize, activity: &Activity) -> Result<Bytes> {
    let (memory, start) = aligned(length);
    let mut memory = memory.limit(length);
    while memory.has_remaining_mut() {
        if read.read_buf(&mut memory).await? == 0 {
            return Err(Error::restart("the connection ended within a frame"));
        }
        activity.received.store(true, Ordering::Relaxed);
    }
    Ok(Bytes::from(memory.into_inner()).slice(start..))
}

async fn write_frames(mut write: WriteHalf<'_>, link: &Link, generation: u64, activity: &Activity) -> Result<()> {
    let mut frames: Vec<Arc<Frame>> = Vec::new();
    loop {
        frames.clear();
        link.next_frames(generation, &mut frames);
        if frames.is_empty() {
            link.wake.notified().await;
            continue;
        }
        let pieces = frames.iter().flat_map(|frame| {
            let payload = frame.payload.pieces().iter().map(|piece| piece.as_slice());
            std::iter::once(&frame.header[..]).chain(payload).map(IoSlice::new)
        });
        let mut pieces: Vec<IoSlice<'_>> = pieces.collect();
        let mut left = &mut pieces[..];
        while !left.is_empty() {
            let some = left.len().min(MAX_PIECES);
            let written = write.write_vectored(&left[..some]).await?;
            if written == 0 {
                return Err(Error::restart("the connection takes no more bytes"));
            }
            activity.sent.store(true, Ordering::Relaxed);
            IoSlice::advance_slices(&mut left, written);
        }
    }
}

/// Gives signs of life, and completes when there were none from the other end for `timeout_ms`.
async fn silence(link: &Link, activity: &Activity, timeout_ms: u64, clock: &dyn Clock) {
    const LOOKS: u64 = 4;
    let mut silent = 0;
    while silent < LOOKS {
        clock.sleep_ms((timeout_ms / LOOKS).max(1)).await;
        silent = if activity.received.swap(false, Ordering::Relaxed) { 0 } else { silent + 1 };
        if !activity.sent.swap(false, Ordering::Relaxed) {
            link.queue_ping();
        }
    }
}
