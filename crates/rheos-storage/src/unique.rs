//! Names that no other process uses: of temporary files, and of writers.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A text of lower-case hexadecimal digits that no other call gives, on this machine or another. It only has to differ and
/// decides nothing, so it does not come from the environment's random numbers, which a test may give twice.
pub(crate) fn unique() -> String {
    static PROCESS: OnceLock<(u64, u64)> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (high, low) = *PROCESS.get_or_init(|| {
        let state = RandomState::new();
        (state.hash_one(std::process::id()), state.hash_one("rheos"))
    });
    format!("{high:016x}{low:016x}{:x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
