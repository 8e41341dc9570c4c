//! The four kinds of things that flow between operators.

use crate::batch::Batch;
use crate::time::Watermark;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier {
    /// Which snapshot.
    pub epoch: Epoch,
}
