//! Restart strategies: whether a failed job is started again, and after how long. Names and defaults are Flink's.

use std::collections::VecDeque;

use rheos_core::time::TimestampMs;
use serde::{Deserialize, Serialize};

/// When a job is started again after a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RestartStrategy {
    /// Never.
    None,
    /// A fixed number of times.
    FixedDelay {
        /// How often in the job's life.
        attempts: u32,
        /// How long to wait each time.
        delay_ms: u64,
    },
    /// With growing delays that fall back after a quiet time.
    ExponentialDelay {
        /// The first delay.
        initial_ms: u64,
        /// The longest delay.
        max_ms: u64,
        /// How the delay grows with each failure.
        multiplier: f64,
        /// A failure that comes this long after the last restart starts over with the first delay.
        reset_after_ms: u64,
        /// The part of the delay by which it is made longer or shorter at random, from 0 to 1.
        jitter: f64,
        /// How often before a quiet time comes; `None`: without limit.
        attempts: Option<u32>,
    },
    /// As long as failures are rare.
    FailureRate {
        /// How many failures an interval may have.
        max_failures: u32,
        /// The interval.
        interval_ms: u64,
        /// How long to wait each time.
        delay_ms: u64,
    },
}

impl RestartStrategy {
    /// `fixed-delay` with Flink's defaults.
    pub fn fixed_delay() -> Self {
        RestartStrategy::FixedDelay { attempts: 1, delay_ms: 1_000 }
    }

    /// `exponential-delay` with Flink's defaults: what a job with checkpoints has unless it says otherwise.
    pub fn exponential_delay() -> Self {
        RestartStrategy::ExponentialDelay {
            initial_ms: 1_000,
            max_ms: 60_000,
            multiplier: 1.5,
            reset_after_ms: 3_600_000,
            jitter: 0.1,
            attempts: None,
        }
    }

    /// `failure-rate` with Flink's defaults.
    pub fn failure_rate() -> Self {
        RestartStrategy::FailureRate { max_failures: 1, interval_ms: 60_000, delay_ms: 1_000 }
    }
}

/// A strategy with the failures that it has seen.
#[derive(Debug)]
pub struct Restarts {
    strategy: RestartStrategy,
    /// Failures that count against a limit.
    count: u32,
    backoff_ms: u64,
    last_failure_ms: Option<TimestampMs>,
    recent: VecDeque<TimestampMs>,
}

impl Restarts {
    /// No failures yet.
    pub fn new(strategy: RestartStrategy) -> Self {
        Restarts { strategy, count: 0, backoff_ms: 0, last_failure_ms: None, recent: VecDeque::new() }
    }

    /// Takes a failure in: how long to wait before the next start, or `None` if there shall be none. `random` is used for
    /// jitter.
    pub fn failure(&mut self, now_ms: TimestampMs, random: u64) -> Option<u64> {
        match self.strategy {
            RestartStrategy::None => None,
            RestartStrategy::FixedDelay { attempts, delay_ms } => {
                self.count = self.count.saturating_add(1);
                (self.count <= attempts).then_some(delay_ms)
            }
            RestartStrategy::ExponentialDelay { initial_ms, max_ms, multiplier, reset_after_ms, jitter, attempts } => {
                let quiet = self.last_failure_ms.is_none_or(|last| elapsed(last, now_ms) >= reset_after_ms.saturating_add(self.backoff_ms));
                if quiet {
                    self.backoff_ms = initial_ms;
                    self.count = 0;
                } else {
                    self.backoff_ms = ((self.backoff_ms as f64 * multiplier) as u64).clamp(initial_ms.min(max_ms), max_ms);
                }
                self.count = self.count.saturating_add(1);
                self.last_failure_ms = Some(now_ms);
                attempts.is_none_or(|most| self.count <= most).then(|| jittered(self.backoff_ms, jitter, random).min(max_ms))
            }
            RestartStrategy::FailureRate { max_failures, interval_ms, delay_ms } => {
                self.recent.push_back(now_ms);
                if self.recent.len() <= max_failures as usize {
                    return Some(delay_ms);
                }
                let earliest = self.recent.pop_front().unwrap_or(now_ms);
                (elapsed(earliest, now_ms) > interval_ms).then_some(delay_ms)
            }
        }
    }
}

fn elapsed(from_ms: TimestampMs, to_ms: TimestampMs) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0)
}

/// `delay_ms`, longer or shorter by at most `jitter` of it.
fn jittered(delay_ms: u64, jitter: f64, random: u64) -> u64 {
    let offset = (delay_ms as f64 * jitter.clamp(0.0, 1.0)) as u64;
    delay_ms - offset + random % (2 * offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(strategy: RestartStrategy, failures: &[TimestampMs]) -> Vec<Option<u64>> {
        let mut restarts = Restarts::new(strategy);
        failures.iter().map(|at| restarts.failure(*at, 0)).collect()
    }

    #[test]
    fn none_never_restarts() {
        assert_eq!(delays(RestartStrategy::None, &[0]), [None]);
    }

    #[test]
    fn a_fixed_delay_ends_after_its_attempts() {
        let strategy = RestartStrategy::FixedDelay { attempts: 2, delay_ms: 5 };
        assert_eq!(delays(strategy, &[0, 1_000_000, 2_000_000]), [Some(5), Some(5), None]);
    }

    #[test]
    fn an_exponential_delay_grows_to_its_limit_and_falls_back_after_a_quiet_time() {
        let strategy = |attempts| RestartStrategy::ExponentialDelay {
            initial_ms: 10,
            max_ms: 50,
            multiplier: 2.0,
            reset_after_ms: 1_000,
            jitter: 0.0,
            attempts,
        };
        let at = [0, 100, 200, 300, 1_300, 2_350];
        assert_eq!(delays(strategy(None), &at), [Some(10), Some(20), Some(40), Some(50), Some(50), Some(10)]);
        assert_eq!(delays(strategy(Some(2)), &[0, 100, 200, 1_300]), [Some(10), Some(20), None, Some(10)]);
    }

    #[test]
    fn jitter_stays_within_its_part_of_the_delay() {
        let all: Vec<u64> = (0..41).map(|random| jittered(100, 0.2, random)).collect();
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&80), Some(&120)));
        assert_eq!(jittered(100, 0.0, 7), 100);
    }

    #[test]
    fn a_failure_rate_bears_as_many_failures_an_interval_as_it_says() {
        let strategy = || RestartStrategy::FailureRate { max_failures: 2, interval_ms: 100, delay_ms: 5 };
        assert_eq!(delays(strategy(), &[0, 50, 100]), [Some(5), Some(5), None]);
        assert_eq!(delays(strategy(), &[0, 50, 101, 152, 153]), [Some(5), Some(5), Some(5), Some(5), None]);
    }
}
