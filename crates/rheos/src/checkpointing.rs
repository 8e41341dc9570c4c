//! How a job survives failures, from the settings of a session: Flink's keys where Flink has one.

use std::collections::BTreeMap;

use rheos_checkpoint::RestartStrategy;
use rheos_checkpoint::coordinator::{Checkpointing, Recovery};
use rheos_core::connector::{parse_duration_ms, parse_memory_bytes};
use rheos_sql::{SqlError, SqlResult};

use crate::settings::Settings;

/// The folder of snapshots.
pub(crate) const DIR: &str = "execution.checkpointing.dir";
/// The time between snapshots.
pub(crate) const INTERVAL: &str = "execution.checkpointing.interval";
/// What a failure may do to the output.
pub(crate) const RECOVERY: &str = "rheos.recovery";

/// What rows between tasks may take.
const BUFFERS: &str = "rheos.memory.network";

/// The keys, their defaults and meanings.
pub(crate) const KNOWN: [(&str, &str, &str); 26] = [
    (DIR, "", "where snapshots go: a folder or s3://bucket/path; without it there are none"),
    (INTERVAL, "10 s", "from one snapshot to the next"),
    ("execution.checkpointing.min-pause", "0 ms", "at least this long from the end of a snapshot to the next"),
    ("execution.checkpointing.timeout", "10 min", "a snapshot that takes longer is given up"),
    ("execution.checkpointing.tolerable-failed-checkpoints", "0", "how many snapshots in a row may fail before the job restarts"),
    ("execution.checkpointing.num-retained", "1", "how many snapshots are kept, savepoints not counted"),
    ("execution.checkpointing.unaligned.enabled", "false", "true lets barriers overtake rows under backpressure"),
    ("execution.checkpointing.aligned-checkpoint-timeout", "0 ms", "how long barriers wait behind rows before they overtake"),
    ("execution.checkpointing.mode", "EXACTLY_ONCE", "Flink's name for rheos.recovery: EXACTLY_ONCE is precise, AT_LEAST_ONCE is rollback"),
    (RECOVERY, "precise", "after a failure: precise (nothing lost, nothing twice), rollback (rows may come again), gap (rows may be lost)"),
    ("restart-strategy.type", "exponential-delay", "none, fixed-delay, exponential-delay, failure-rate; none without snapshots"),
    ("restart-strategy.fixed-delay.attempts", "1", "how often"),
    ("restart-strategy.fixed-delay.delay", "1 s", "after how long"),
    ("restart-strategy.exponential-delay.initial-backoff", "1 s", "the first delay"),
    ("restart-strategy.exponential-delay.max-backoff", "1 min", "the longest delay"),
    ("restart-strategy.exponential-delay.backoff-multiplier", "1.5", "how the delay grows"),
    ("restart-strategy.exponential-delay.reset-backoff-threshold", "1 h", "after so long without a failure the delay starts over"),
    ("restart-strategy.exponential-delay.jitter-factor", "0.1", "the part of the delay that is random"),
    ("restart-strategy.exponential-delay.attempts-before-reset-backoff", "infinite", "how often before such a time comes"),
    ("restart-strategy.failure-rate.max-failures-per-interval", "1", "how many failures an interval may have"),
    ("restart-strategy.failure-rate.failure-rate-interval", "1 min", "the interval"),
    ("restart-strategy.failure-rate.delay", "1 s", "after how long"),
    (BUFFERS, "512 mb", "what the rows of a job that wait between its tasks may take in a process, in memory"),
    ("s3.endpoint", "", "host or URL of a store that is S3-compatible"),
    ("s3.access-key", "", "its access key; AWS_ACCESS_KEY_ID serves too"),
    ("s3.secret-key", "", "its secret key; AWS_SECRET_ACCESS_KEY serves too"),
];

/// What the settings amount to.
#[derive(Debug, Clone)]
pub(crate) struct Durability {
    /// Where snapshots go, if anywhere.
    pub(crate) dir: Option<String>,
    /// How to reach it.
    pub(crate) storage_options: BTreeMap<String, String>,
    pub(crate) checkpointing: Checkpointing,
    pub(crate) recovery: Recovery,
    /// `None` where the settings say nothing.
    pub(crate) restart: Option<RestartStrategy>,
    /// What the channels of a job may hold together in a process.
    pub(crate) buffer_bytes: u64,
}

impl Durability {
    /// Reads the settings.
    pub(crate) fn of(settings: &Settings) -> SqlResult<Self> {
        let given = Given(settings);
        let unaligned = given.parse("execution.checkpointing.unaligned.enabled", false, "boolean: true or false")?;
        let checkpointing = Checkpointing {
            interval_ms: given.duration(INTERVAL, 10_000)?.max(1),
            min_pause_ms: given.duration("execution.checkpointing.min-pause", 0)?,
            timeout_ms: given.duration("execution.checkpointing.timeout", 600_000)?.max(1),
            tolerable_failures: given.parse("execution.checkpointing.tolerable-failed-checkpoints", 0, "number of snapshots")?,
            retained: given.parse("execution.checkpointing.num-retained", 1, "number of snapshots")?,
            aligned_timeout_ms: match given.duration("execution.checkpointing.aligned-checkpoint-timeout", 0)? {
                ms if unaligned => Some(ms),
                _ => None,
            },
            durable: true,
        };
        if checkpointing.retained == 0 {
            return Err(wrong("execution.checkpointing.num-retained", "0", "number of snapshots: at least one has to be kept"));
        }
        let storage_options = settings.iter().filter(|(key, _)| key.starts_with("s3.")).map(|(k, v)| (k.to_string(), v.to_string()));
        Ok(Durability {
            dir: settings.get(DIR).filter(|dir| !dir.is_empty()).map(str::to_string),
            storage_options: storage_options.collect(),
            checkpointing,
            recovery: given.recovery()?,
            restart: given.restart()?,
            buffer_bytes: match settings.get(BUFFERS) {
                None => 512 << 20,
                Some(text) => parse_memory_bytes(text).map_err(|_| wrong(BUFFERS, text, "amount of memory such as '256 mb'"))?,
            },
        })
    }
}

/// Settings read as what they must be.
struct Given<'a>(&'a Settings);

impl Given<'_> {
    fn recovery(&self) -> SqlResult<Recovery> {
        let mode = match self.0.get("execution.checkpointing.mode") {
            None => None,
            Some(mode) if mode.eq_ignore_ascii_case("EXACTLY_ONCE") => Some(Recovery::Precise),
            Some(mode) if mode.eq_ignore_ascii_case("AT_LEAST_ONCE") => Some(Recovery::Rollback),
            Some(other) => return Err(wrong("execution.checkpointing.mode", other, "mode: EXACTLY_ONCE or AT_LEAST_ONCE")),
        };
        match self.0.get(RECOVERY) {
            None => Ok(mode.unwrap_or_default()),
            Some("precise") => Ok(Recovery::Precise),
            Some("rollback") => Ok(Recovery::Rollback),
            Some("gap") => Ok(Recovery::Gap),
            Some(other) => Err(wrong(RECOVERY, other, "recovery: precise, rollback or gap")),
        }
    }

    fn restart(&self) -> SqlResult<Option<RestartStrategy>> {
        const FIXED: &str = "restart-strategy.fixed-delay";
        const EXPONENTIAL: &str = "restart-strategy.exponential-delay";
        const RATE: &str = "restart-strategy.failure-rate";
        let Some(kind) = self.0.get("restart-strategy.type").or_else(|| self.0.get("restart-strategy")) else { return Ok(None) };
        Ok(Some(match kind {
            "none" | "off" | "disable" => RestartStrategy::None,
            "fixed-delay" | "fixeddelay" => RestartStrategy::FixedDelay {
                attempts: self.parse(&format!("{FIXED}.attempts"), 1, "number of attempts")?,
                delay_ms: self.duration(&format!("{FIXED}.delay"), 1_000)?,
            },
            "exponential-delay" | "exponentialdelay" => RestartStrategy::ExponentialDelay {
                initial_ms: self.duration(&format!("{EXPONENTIAL}.initial-backoff"), 1_000)?,
                max_ms: self.duration(&format!("{EXPONENTIAL}.max-backoff"), 60_000)?,
                multiplier: self.parse(&format!("{EXPONENTIAL}.backoff-multiplier"), 1.5, "number")?,
                reset_after_ms: self.duration(&format!("{EXPONENTIAL}.reset-backoff-threshold"), 3_600_000)?,
                jitter: self.parse(&format!("{EXPONENTIAL}.jitter-factor"), 0.1, "number from 0 to 1")?,
                attempts: match self.0.get(&format!("{EXPONENTIAL}.attempts-before-reset-backoff")) {
                    None | Some("infinite") => None,
                    Some(_) => Some(self.parse(&format!("{EXPONENTIAL}.attempts-before-reset-backoff"), 0, "number of attempts")?),
                },
            },
            "failure-rate" | "failurerate" => RestartStrategy::FailureRate {
                max_failures: self.parse(&format!("{RATE}.max-failures-per-interval"), 1, "number of failures")?,
                interval_ms: self.duration(&format!("{RATE}.failure-rate-interval"), 60_000)?,
                delay_ms: self.duration(&format!("{RATE}.delay"), 1_000)?,
            },
            other => {
                return Err(wrong("restart-strategy.type", other, "strategy: none, fixed-delay, exponential-delay or failure-rate"));
            }
        }))
    }

    fn duration(&self, key: &str, default: u64) -> SqlResult<u64> {
        match self.0.get(key) {
            None => Ok(default),
            Some(text) => parse_duration_ms(text).map_err(|_| wrong(key, text, "duration such as '500 ms' or '10 s'")),
        }
    }

    fn parse<T: std::str::FromStr>(&self, key: &str, default: T, what: &str) -> SqlResult<T> {
        match self.0.get(key) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| wrong(key, text, what)),
        }
    }
}

fn wrong(key: &str, value: &str, what: &str) -> SqlError {
    SqlError::new(format!("'{key}' is '{value}', which is no {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durability(pairs: &[(&str, &str)]) -> SqlResult<Durability> {
        let mut settings = Settings::default();
        for (key, value) in pairs {
            settings.set(key, value)?;
        }
        Durability::of(&settings)
    }

    #[test]
    fn flink_names_mean_what_they_mean_in_flink() {
        let d = durability(&[
            (INTERVAL, "3 s"),
            ("execution.checkpointing.mode", "at_least_once"),
            ("execution.checkpointing.unaligned.enabled", "true"),
            ("execution.checkpointing.aligned-checkpoint-timeout", "30 s"),
            ("restart-strategy.type", "fixed-delay"),
            ("restart-strategy.fixed-delay.attempts", "7"),
        ])
        .unwrap();
        assert_eq!((d.checkpointing.interval_ms, d.checkpointing.aligned_timeout_ms), (3_000, Some(30_000)));
        assert_eq!(d.recovery, Recovery::Rollback);
        assert_eq!(d.restart, Some(RestartStrategy::FixedDelay { attempts: 7, delay_ms: 1_000 }));
        assert_eq!(
            durability(&[("execution.checkpointing.mode", "AT_LEAST_ONCE"), (RECOVERY, "precise")]).unwrap().recovery,
            Recovery::Precise
        );
    }

    #[test]
    fn a_wrong_value_is_told_with_what_would_be_right() {
        let message = |pairs: &[(&str, &str)]| durability(pairs).unwrap_err().message;
        assert_eq!(message(&[(RECOVERY, "exact")]), "'rheos.recovery' is 'exact', which is no recovery: precise, rollback or gap");
        assert!(message(&[(INTERVAL, "soon")]).contains("duration such as"));
        assert!(message(&[("execution.checkpointing.num-retained", "0")]).contains("at least one"));
        assert!(message(&[("restart-strategy.type", "sometimes")]).contains("failure-rate"));
    }
}
