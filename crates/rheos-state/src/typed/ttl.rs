//! How long entries of a state live.

use serde::{Deserialize, Serialize};

/// Which time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeDomain {
    /// What the rows say: the watermark.
    EventTime,
    /// What the clock says.
    ProcessingTime,
}

/// What counts as a use of an entry, from which it lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlUpdate {
    /// That it was made or written.
    OnWrite,
    /// That it was made, written or read.
    OnReadAndWrite,
}

/// Whether an expired entry can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlVisibility {
    /// It is as if it were not there.
    NeverReturnExpired,
    /// It can be, in live state, until it happens to be cleaned up. When that is depends on other accesses and on snapshots.
    ReturnExpiredIfNotCleanedUp,
}

/// Entries expire `after_ms` after their last use. What an entry is depends on the state: a key's value, an item of a list,
/// an entry of a map.
///
/// The time is what [`advance`](super::ValueState::advance) said last. Under event time that makes expiry a matter of the
/// input alone, the same whenever it is replayed; entries from before the first watermark are as old as that watermark. Expired
/// entries are never in a snapshot. After a restore, entries are as old as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ttl {
    /// How long an entry lives after its last use, at least 1.
    pub after_ms: u64,
    /// What counts as a use.
    pub update: TtlUpdate,
    /// Whether expired entries can be seen.
    pub visibility: TtlVisibility,
    /// Which time is meant.
    pub clock: TimeDomain,
}

impl Ttl {
    /// Entries that expire `after_ms` after they were last written, and are never seen from then on.
    pub fn new(after_ms: u64, clock: TimeDomain) -> Self {
        Ttl { after_ms, update: TtlUpdate::OnWrite, visibility: TtlVisibility::NeverReturnExpired, clock }
    }

    /// The same, with reads that count as uses.
    pub fn updated_on_read(self) -> Self {
        Ttl { update: TtlUpdate::OnReadAndWrite, ..self }
    }

    /// The same, with expired entries that can be seen until they are cleaned up.
    pub fn seen_until_cleaned_up(self) -> Self {
        Ttl { visibility: TtlVisibility::ReturnExpiredIfNotCleanedUp, ..self }
    }
}
