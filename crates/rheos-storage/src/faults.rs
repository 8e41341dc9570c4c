//! Faults on purpose: a storage whose writes fail, succeed without saying so, or take long, by a seed.
//!
//! ```
//! use rheos_storage::Faults;
//!
//! let faults = Faults::parse("seed=7,fail=0.05,lost=0.05,slow=0.1:200ms")?;
//! assert_eq!((faults.seed, faults.fail, faults.slow_ms), (7, 0.05, 200));
//! # Ok::<(), rheos_core::Error>(())
//! ```

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use rheos_core::env::{Clock, Random, SplitMix64};
use rheos_core::storage::{PutOutcome, Storage, Stored};
use rheos_core::{Error, Result};

/// Which faults, and how often. A rate is the part of operations that it befalls, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Faults {
    /// Where the random numbers begin: the same operations in the same order meet the same faults.
    pub seed: u64,
    /// Writes (put, put_if_absent, delete) that fail before anything happens.
    pub fail: f64,
    /// Writes that happen, and whose reply is lost: the caller gets an error.
    pub lost: f64,
    /// Operations of any kind that begin late.
    pub slow: f64,
    /// How late.
    pub slow_ms: u64,
}

impl Faults {
    /// Reads a text such as `seed=7,fail=0.05,lost=0.05,slow=0.1:200ms`; what is not named does not happen.
    pub fn parse(text: &str) -> Result<Faults> {
        let mut faults = Faults::default();
        let mut seen = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = |wanted: &str| Error::config(format!("storage faults '{text}': '{part}' is wrong; {wanted}"));
            let (key, value) = part.split_once('=').ok_or_else(|| wrong("each fault is written as name=value"))?;
            if seen.contains(&key) {
                return Err(wrong("it is there twice"));
            }
            seen.push(key);
            let rate = |value: &str| rate(value).ok_or_else(|| wrong("a rate is a number from 0 to 1"));
            match key {
                "seed" => faults.seed = value.parse().map_err(|_| wrong("a seed is a whole number from 0 to 2^64 - 1"))?,
                "fail" => faults.fail = rate(value)?,
                "lost" => faults.lost = rate(value)?,
                "slow" => {
                    let (often, long) = value.split_once(':').ok_or_else(|| wrong("write how often and how long: slow=0.1:200ms"))?;
                    faults.slow = rate(often)?;
                    faults.slow_ms = duration_ms(long).ok_or_else(|| wrong("a duration is a whole number of ms or s, as in 200ms"))?;
                }
                _ => return Err(wrong("the faults are seed, fail, lost and slow")),
            }
        }
        Ok(faults)
    }
}

fn rate(text: &str) -> Option<f64> {
    text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate))
}

fn duration_ms(text: &str) -> Option<u64> {
    match text.strip_suffix("ms") {
        Some(ms) => ms.parse().ok(),
        None => text.strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000),
    }
}

/// A storage that behaves as [`Faults`] say.
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    faults: Faults,
    random: SplitMix64,
    clock: Arc<dyn Clock>,
}

/// What befalls one operation.
struct Fate {
    is_slow: bool,
    fails: bool,
    is_lost: bool,
}

impl FaultyStorage {
    /// `inner` with `faults`; `clock` does the waiting.
    pub fn new(inner: Arc<dyn Storage>, faults: Faults, clock: Arc<dyn Clock>) -> Self {
        FaultyStorage { inner, faults, random: SplitMix64::new(faults.seed), clock }
    }

    /// Drawn when the operation is called, three numbers each time, so that it depends on the order of the calls alone.
    fn fate(&self) -> Fate {
        let draw = |rate: f64| self.random.next_unit() < rate;
        Fate { is_slow: draw(self.faults.slow), fails: draw(self.faults.fail), is_lost: draw(self.faults.lost) }
    }

    fn write<T: Send + 'static>(
        &self,
        action: &str,
        name: &str,
        operation: BoxFuture<'static, Result<T>>,
    ) -> BoxFuture<'static, Result<T>> {
        let fate = self.fate();
        let error = |what: &str| Error::retry(format!("{}: cannot {action} '{name}': {what}", self.inner.describe()));
        let (failed, lost) = (error("a fault on purpose"), error("a fault on purpose: the reply was lost"));
        let (fails, is_lost) = (fate.fails, fate.is_lost);
        let faulty = async move {
            if fails {
                return Err(failed);
            }
            let result = operation.await;
            if is_lost && result.is_ok() { Err(lost) } else { result }
        };
        self.after_delay(&fate, faulty.boxed())
    }

    fn read<T: Send + 'static>(&self, operation: BoxFuture<'static, Result<T>>) -> BoxFuture<'static, Result<T>> {
        self.after_delay(&self.fate(), operation)
    }

    fn after_delay<T: Send + 'static>(&self, fate: &Fate, operation: BoxFuture<'static, Result<T>>) -> BoxFuture<'static, Result<T>> {
        if !fate.is_slow {
            return operation;
        }
        let (clock, ms) = (Arc::clone(&self.clock), self.faults.slow_ms);
        async move {
            clock.sleep_ms(ms).await;
            operation.await
        }
        .boxed()
    }
}

impl Storage for FaultyStorage {
    fn put(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<()>> {
        self.write("write", name, self.inner.put(name, bytes))
    }

    fn put_if_absent(&self, name: &str, bytes: Bytes) -> BoxFuture<'static, Result<PutOutcome>> {
        self.write("create", name, self.inner.put_if_absent(name, bytes))
    }

    fn get(&self, name: &str) -> BoxFuture<'static, Result<Option<Bytes>>> {
        self.read(self.inner.get(name))
    }

    fn list(&self, prefix: &str) -> BoxFuture<'static, Result<Vec<Stored>>> {
        self.read(self.inner.list(prefix))
    }

    fn delete(&self, name: &str) -> BoxFuture<'static, Result<()>> {
        self.write("delete", name, self.inner.delete(name))
    }

    fn describe(&self) -> String {
        format!("{} with faults", self.inner.describe())
    }
}

#[cfg(test)]
mod tests;
