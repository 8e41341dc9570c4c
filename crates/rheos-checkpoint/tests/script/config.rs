//! The settings of a script's masters.

use rheos_checkpoint::coordinator::{Checkpointing, Config, Recovery, Start};
use rheos_checkpoint::{JobInfo, RestartStrategy};
use serde_json::Value;

pub(super) struct Settings {
    checkpointing: Option<Checkpointing>,
    recovery: Recovery,
    restart: RestartStrategy,
    fresh: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let checkpointing = Checkpointing { interval_ms: 100, timeout_ms: 50, ..Checkpointing::default() };
        Settings {
            checkpointing: Some(checkpointing),
            recovery: Recovery::Precise,
            restart: RestartStrategy::FixedDelay { attempts: 2, delay_ms: 10 },
            fresh: false,
        }
    }
}

impl Settings {
    pub(super) fn set(&mut self, words: &[&str]) {
        for word in words {
            let (key, value) = word.split_once('=').expect("key=value");
            match key {
                "recovery" => {
                    self.recovery = [Recovery::Precise, Recovery::Rollback, Recovery::Gap][number_of(value, "precise rollback gap")];
                }
                "restart" => self.restart = restart(value),
                "start" => self.fresh = number_of(value, "latest fresh") == 1,
                "checkpoints" if value == "none" => self.checkpointing = None,
                _ => self.set_checkpointing(key, value),
            }
        }
    }

    fn set_checkpointing(&mut self, key: &str, value: &str) {
        let number = || value.parse::<u64>().expect("a number");
        let default = Checkpointing { interval_ms: 100, timeout_ms: 50, ..Checkpointing::default() };
        let checkpointing = self.checkpointing.get_or_insert(default);
        match key {
            "interval" => checkpointing.interval_ms = number(),
            "pause" => checkpointing.min_pause_ms = number(),
            "timeout" => checkpointing.timeout_ms = number(),
            "tolerable" => checkpointing.tolerable_failures = number() as u32,
            "retained" => checkpointing.retained = number() as usize,
            "overtake" => checkpointing.aligned_timeout_ms = Some(number()),
            "checkpoints" if value == "memory" => checkpointing.durable = false,
            _ => panic!("'{key}={value}' is no setting"),
        }
    }

    pub(super) fn config(&self, nonce: u64) -> Config {
        Config {
            job: JobInfo { id: "job".into(), name: "job".into() },
            rheos: "test".into(),
            plan: Value::Null,
            checkpointing: self.checkpointing.clone(),
            recovery: self.recovery,
            restart: self.restart.clone(),
            start: if self.fresh { Start::Fresh } else { Start::Latest },
            nonce,
        }
    }
}

fn number_of(word: &str, words: &str) -> usize {
    words.split(' ').position(|w| w == word).unwrap_or_else(|| panic!("'{word}' is not one of {words}"))
}

fn restart(value: &str) -> RestartStrategy {
    let parts: Vec<u64> = value.split(':').skip(1).map(|p| p.parse().expect("a number")).collect();
    match value.split(':').next() {
        Some("none") => RestartStrategy::None,
        Some("fixed") => RestartStrategy::FixedDelay { attempts: parts[0] as u32, delay_ms: parts[1] },
        Some("exponential") => RestartStrategy::ExponentialDelay {
            initial_ms: parts[0],
            max_ms: parts[1],
            multiplier: 2.0,
            reset_after_ms: parts[2],
            jitter: 0.0,
            attempts: None,
        },
        Some("rate") => RestartStrategy::FailureRate { max_failures: parts[0] as u32, interval_ms: parts[1], delay_ms: parts[2] },
        _ => panic!("'{value}' is no restart strategy"),
    }
}
