//! What the coordinator and its workers say to each other: messages over gRPC, and how what they carry is read.
//!
//! The messages are defined and explained in `proto/rheos/control/v1/control.proto`. One worker has one session, a stream in each
//! direction; [`codec`] turns what the streams carry into the types of the engine, and [`token`] keeps strangers out.

pub mod codec;
pub mod token;

/// The messages as the definition has them.
#[allow(missing_docs, clippy::all, unreachable_pub)]
pub mod v1 {
    tonic::include_proto!("rheos.control.v1");
}

/// The version of the protocol. Either side refuses another one.
pub const VERSION: u32 = 1;

/// The largest message: a manifest with the state that it holds inline, or a part of one.
pub const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// How much of an artifact is sent at a time.
pub const CHUNK_BYTES: usize = 1 << 20;
