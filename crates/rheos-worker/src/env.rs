//! The real environment of a process: the system's clock and randomness.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rheos_core::env::{Clock, Env, SplitMix64, system_monotonic_ns, system_now_ms};
use rheos_core::time::TimestampMs;

/// The system's time; waits on the runtime that the waiting task runs on.
struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> TimestampMs {
        system_now_ms()
    }

    fn monotonic_ns(&self) -> u64 {
        system_monotonic_ns()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// The environment that a real process runs in. Its random numbers follow from a seed of the operating system's.
pub fn system_env() -> Env {
    // The standard library seeds its hash tables from the operating system: the hash of nothing is such a seed.
    let seed = RandomState::new().hash_one(system_now_ms());
    Env { clock: Arc::new(SystemClock), random: Arc::new(SplitMix64::new(seed)) }
}
