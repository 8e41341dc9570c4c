//! What a process must be given rather than take: time and randomness. Tests and the simulation give their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;

use crate::time::TimestampMs;

/// Time of day, elapsed time, and waiting.
pub trait Clock: Send + Sync {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> TimestampMs;
    /// Nanoseconds since some fixed moment; never falls.
    fn monotonic_ns(&self) -> u64;
    /// Completes after `ms` milliseconds.
    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()>;
}

/// A source of random numbers.
pub trait Random: Send + Sync {
    /// The next 64 random bits.
    fn next_u64(&self) -> u64;

    /// A number from 0 up to but without 1.
    fn next_unit(&self) -> f64 {
        unit_of(self.next_u64())
    }
}

/// The number from 0 up to but without 1 that random bits stand for: as many of them as the type holds.
pub fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// The environment of a process.
#[derive(Clone)]
pub struct Env {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
}

/// SplitMix64 (Steele, Lea, Flood 2014): a counter passed through a mixing function.
#[derive(Debug)]
pub struct SplitMix64(AtomicU64);

impl SplitMix64 {
    /// Numbers that follow from `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64(AtomicU64::new(seed))
    }
}

impl Random for SplitMix64 {
    fn next_u64(&self) -> u64 {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut z = self.0.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A clock that stands still until it is told to move: for tests and for operators that are driven by hand.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Moves the clock to `ms` since the epoch.
    pub fn set_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> TimestampMs {
        self.0.load(Ordering::Relaxed) as TimestampMs
    }

    fn monotonic_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed) * 1_000_000
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.0.fetch_add(ms, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

/// The real time of day, for whoever implements [`Clock`] on a runtime that can wait.
#[allow(clippy::disallowed_methods)] // the one place that takes the time
pub fn system_now_ms() -> TimestampMs {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as TimestampMs)
}

/// Nanoseconds since this process first asked.
#[allow(clippy::disallowed_methods)] // the one place that takes the time
pub fn system_monotonic_ns() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

impl Env {
    /// An environment for tests: a clock that stands still and numbers that follow from `seed`.
    pub fn manual(seed: u64) -> Env {
        Env { clock: Arc::new(ManualClock::default()), random: Arc::new(SplitMix64::new(seed)) }
    }
}
