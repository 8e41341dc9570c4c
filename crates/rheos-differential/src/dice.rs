//! Random choices that follow from a seed.

use rheos_core::env::{Random, SplitMix64};

/// The choices of one query and its tables.
pub struct Dice(SplitMix64);

impl Dice {
    /// Choices that follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Dice(SplitMix64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    /// Whether something that happens in `percent` of the cases does.
    pub fn chance(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some things.
    pub fn pick<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Some things in any order.
    pub fn shuffle<T>(&self, mut things: Vec<T>) -> Vec<T> {
        for i in (1..things.len()).rev() {
            things.swap(i, self.below(i + 1));
        }
        things
    }
}
