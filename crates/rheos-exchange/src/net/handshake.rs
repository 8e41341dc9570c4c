//! The first frames of a connection: who is there, whether it may, and what it has received.

use rheos_core::error::{Error, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::control::{Hello, MAX_HELLO_BYTES, Progress, decode_progress, encode_progress};
#[cfg(test)]
use super::encode::Frame;
use super::header::{FrameKind, HEADER_BYTES, Header};
use super::peer::ChannelId;

/// The longest text of a refusal.
const MAX_REFUSAL_BYTES: usize = 1024;

/// Sends a frame of few bytes.
async fn send(stream: &mut (impl AsyncWrite + Unpin), kind: FrameKind, payload: &[u8]) -> Result<()> {
    let head = Header::new(kind, ChannelId::NONE, 0, payload.len() as u32).to_bytes();
    Ok(stream.write_all(&[&head, payload].concat()).await?)
}

/// Receives a frame; longer ones than `max` are an error before anything is allocated.
async fn receive(stream: &mut (impl AsyncRead + Unpin), max: usize) -> Result<(FrameKind, Vec<u8>)> {
    let mut head = [0; HEADER_BYTES];
    stream.read_exact(&mut head).await?;
    let header = Header::parse(&head, max)?;
    let mut payload = vec![0; header.length as usize];
    stream.read_exact(&mut payload).await?;
    Ok((header.kind, payload))
}

/// Says who is here.
pub(crate) async fn send_hello(stream: &mut (impl AsyncWrite + Unpin), hello: &Hello) -> Result<()> {
    let payload = hello.encode();
    if payload.len() > MAX_HELLO_BYTES {
        return Err(Error::config(format!("the token is too long: a hello has at most {MAX_HELLO_BYTES} bytes")));
    }
    send(stream, FrameKind::Hello, &payload).await
}

/// Tells why there will be no connection. Whether it arrives does not matter.
pub(crate) async fn refuse(stream: &mut (impl AsyncWrite + Unpin), why: &str) {
    let end = (0..=MAX_REFUSAL_BYTES.min(why.len())).rfind(|end| why.is_char_boundary(*end)).unwrap_or(0);
    let _ = send(stream, FrameKind::Refused, &why.as_bytes()[..end]).await;
    let _ = stream.shutdown().await;
}

/// Hears who is there. A refusal is an error of the configuration's kind.
pub(crate) async fn receive_hello(stream: &mut (impl AsyncRead + Unpin)) -> Result<Hello> {
    match receive(stream, MAX_HELLO_BYTES).await? {
        (FrameKind::Hello, payload) => Hello::decode(&payload),
        (FrameKind::Refused, why) => {
            Err(Error::config(format!("the other process refuses the connection: {}", String::from_utf8_lossy(&why))))
        }
        (kind, _) => Err(Error::corrupt(format!("{kind:?} before any hello"))),
    }
}

/// Tells what was received, and hears the same.
pub(crate) async fn exchange_progress(
    read: &mut (impl AsyncRead + Unpin),
    write: &mut (impl AsyncWrite + Unpin),
    own: &[Progress],
    max_payload: usize,
) -> Result<Vec<Progress>> {
    let payload = encode_progress(own);
    if payload.len() > max_payload {
        return Err(Error::config(format!("{} channels from one process do not fit a frame (max_frame_bytes)", own.len())));
    }
    // At once: both could be more than the connection holds.
    let (sent, received) = tokio::join!(send(write, FrameKind::Resume, &payload), receive(read, max_payload));
    sent?;
    match received? {
        (FrameKind::Resume, payload) => decode_progress(&payload),
        (kind, _) => Err(Error::corrupt(format!("{kind:?} before the connection was resumed"))),
    }
}

/// Frames that are written whole, for the tests of those who read them.
#[cfg(test)]
pub(crate) fn frame_bytes(frame: &Frame) -> Vec<u8> {
    let mut bytes = frame.header.to_vec();
    frame.payload.pieces().iter().for_each(|piece| bytes.extend_from_slice(piece));
    bytes
}
