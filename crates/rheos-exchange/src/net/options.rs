//! What a process is told about its part of the data plane.

/// The largest frame that any process may allow: lengths of rows and bytes stay far from where they overflow.
const LARGEST_FRAME_BYTES: usize = 1 << 30;

/// How a process takes part in the data plane.
#[derive(Debug, Clone)]
pub struct NetworkOptions {
    /// Unique for each start of a process, and not 0. Of two processes, the one with the smaller number dials.
    pub own_id: u64,
    /// What both ends of a connection must know, if anything.
    pub token: Option<String>,
    /// The largest payload of a frame, in bytes, before compression: larger batches are sent in parts. The same in all processes.
    pub max_frame_bytes: usize,
    /// How long a lost connection may be away before the link has failed, in milliseconds; also how long a silent connection
    /// counts as alive.
    pub reconnect_timeout_ms: u64,
    /// Whether frames of rows are compressed (LZ4). Either way a process reads both.
    pub compress: bool,
}

impl NetworkOptions {
    /// The usual for a process of this number.
    pub fn new(own_id: u64) -> Self {
        NetworkOptions { own_id, token: None, max_frame_bytes: 64 << 20, reconnect_timeout_ms: 5000, compress: false }
    }

    pub(crate) fn max_payload_bytes(&self) -> usize {
        self.max_frame_bytes.min(LARGEST_FRAME_BYTES)
    }
}
