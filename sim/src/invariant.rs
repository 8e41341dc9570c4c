//! What must hold in every run, by name.

/// A promise of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invariant {
    /// Every complete snapshot is a consistent cut: on every channel, what the receiver has counted and what was recorded in
    /// flight is what the sender has sent.
    Validity,
    /// When faults stop, the job finishes within a bound.
    Termination,
    /// Precise: at every moment the visible output is a part of the output without failure, at the end all of it, each row once.
    ExactlyOnce,
    /// Rollback: at the end no row is missing, and no row is wrong.
    NothingLost,
    /// A coordinator completes nothing after a higher claim, and makes nothing visible after a higher one has deployed.
    Fencing,
    /// No retained manifest names a file that is not there.
    Retention,
    /// A coordinator deploys a region only when nothing of its last attempt runs.
    OneAttempt,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// How it was seen.
    pub message: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, message: impl Into<String>) -> Self {
        Violation { invariant, message: message.into() }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.message)
    }
}
