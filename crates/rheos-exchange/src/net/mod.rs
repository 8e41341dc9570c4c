//! Channels between processes: one TCP connection for each pair, on which all their channels take turns.
//!
//! The way of an element to another process:
//! 1. [`Network::sender`] gives a [`Sender`](crate::Sender) like any other. It turns elements into frames (`encode`) on the task's
//!    thread, and admits them while its receiver has credit (`outgoing`): bytes that were sent and not taken out of the inbox.
//! 2. The link to the other process (`link`) lets its channels take turns, a frame each, and writes them to the connection
//!    (`connection`). A channel without credit has no frames there, so it keeps nobody else waiting.
//! 3. The other process reads frames into memory where columns can stay (`decode`, `columns`), and puts them into the inbox
//!    (`incoming`), whose task reports what it takes out: credit for the sender.
//!
//! Frames are numbered by channel and kept until they were received. A connection that is lost is made anew (`dial`); both ends
//! tell what they have (`control`), and the channels go on from there: nothing is lost, nothing comes twice. After
//! [`NetworkOptions::reconnect_timeout_ms`] the link has failed: its channels are disconnected, and [`LinkFailure`] says so.
//!
//! Memory: a channel holds at each end no more than its limit and its largest frame, and barriers that overtook, 67 bytes each.

mod columns;
mod connection;
mod control;
mod decode;
mod dial;
mod encode;
mod handshake;
mod header;
mod incoming;
mod link;
mod listen;
mod network;
mod options;
mod outgoing;
mod payload;
mod peer;
mod remote_sender;
mod returns;
mod schema;

pub use decode::decode_frames;
pub(crate) use encode::Encoded;
pub use network::Network;
pub use options::NetworkOptions;
pub use peer::{ChannelId, LinkFailure, Peer};
pub(crate) use remote_sender::RemoteSender;
pub(crate) use returns::Returns;

#[cfg(test)]
mod tests;
