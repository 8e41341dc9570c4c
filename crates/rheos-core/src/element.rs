//! The four kinds of things that flow between operators.

use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::time::{TimestampMs, Watermark};

/// The number of a snapshot, rising by one.
pub type Epoch = u64;

/// What a channel carries. Their legal order is written down in [`crate::grammar`].
#[derive(Debug, Clone)]
pub enum Element {
    /// Rows.
    Batch(Batch),
    /// Progress of event time, or idleness.
    Watermark(Watermark),
    /// The cut of a snapshot: rows before it belong to the snapshot, rows after it do not.
    Barrier(Barrier),
    /// Nothing follows.
    End,
}

/// The cut of one snapshot in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barrier {
    /// Which snapshot.
    pub epoch: Epoch,
    /// From this moment on, in milliseconds since the epoch, the barrier may overtake rows, which then become part of the snapshot;
    /// `None`: never.
    pub overtake_from_ms: Option<TimestampMs>,
    /// Whether every state is to be whole in the snapshot, without reference to one before.
    pub full: bool,
}

impl Barrier {
    /// A barrier that never overtakes.
    pub fn aligned(epoch: Epoch) -> Self {
        Barrier { epoch, overtake_from_ms: None, full: false }
    }

    /// Whether it may overtake rows now.
    pub fn may_overtake(&self, now_ms: TimestampMs) -> bool {
        self.overtake_from_ms.is_some_and(|from| from <= now_ms)
    }
}
