//! Random choices of a schedule, all from one seed.

use rheos_core::env::{Random, SplitMix64};

#[derive(Debug)]
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(SplitMix64::new(seed))
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.next_u64()
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.number() % (high - low + 1)
    }

    pub(crate) fn index(&self, len: usize) -> usize {
        (self.number() % len.max(1) as u64) as usize
    }

    /// True in so many of a thousand cases.
    pub(crate) fn chance(&self, per_mille: u64) -> bool {
        self.number() % 1000 < per_mille
    }
}
