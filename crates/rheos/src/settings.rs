//! Settings of a session: SET, --set, rheos.toml and the environment end here.

use std::collections::BTreeMap;

use crate::checkpointing::{self, Durability};
use rheos_core::connector::parse_duration_ms;
use rheos_expr::EvalConfig;
use rheos_operators::spec::LOOKUP_TIMEOUT_MS;
use rheos_sql::lower::{AggregatePhases, LengthEnforcer, LowerOptions, NotNullEnforcer};
use rheos_sql::{SqlError, SqlResult};

/// A key that Rheos obeys: key, default, meaning.
const PLANNING: [(&str, &str, &str); 10] = [
    ("parallelism.default", "1", "how many subtasks an operator runs as; 'auto' is the number of cores"),
    ("pipeline.auto-watermark-interval", "batch", "0 lets a watermark follow each row that advances it; anything else, each batch"),
    ("pipeline.name", "", "the job's name"),
    ("table.exec.async-lookup.timeout", "3 min", "how long a lookup of a table may take before it is tried again, and at last fails"),
    (
        "table.exec.sink.not-null-enforcer",
        "ERROR",
        "what NULL for a NOT NULL column of a sink does: ERROR fails the job, DROP leaves the row out",
    ),
    (
        "table.exec.sink.type-length-enforcer",
        "IGNORE",
        "what is done with texts and bytes longer than a sink's column: IGNORE, TRIM_PAD (cut, or filled up), or ERROR",
    ),
    (
        "table.exec.source.cdc-events-duplicate",
        "false",
        "whether changelog sources may give changes twice, as after a restart of what fills them: their primary key says which",
    ),
    (
        "table.optimizer.agg-phase-strategy",
        "AUTO",
        "ONE_PHASE, TWO_PHASE (rows are aggregated before they are exchanged, then the results), or AUTO: two where rows are exchanged",
    ),
    ("table.exec.state.ttl", "0 ms", "how long state that nothing touches is kept; 0 is for ever"),
    ("table.local-time-zone", "UTC", "the zone in which TIMESTAMP_LTZ is read and shown"),
];

/// All keys that Rheos obeys: key, default, meaning.
pub(crate) fn known() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PLANNING.into_iter().chain(checkpointing::KNOWN)
}

/// Key and value pairs, checked when they are set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, String>,
}

impl Settings {
    /// Sets a key. Keys that Rheos does not use are kept, so that a Flink script runs; the note says so.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> SqlResult<Option<String>> {
        let wrong = |what: &str| Err(SqlError::new(format!("'{key}' is '{value}', which is no {what}")));
        let mut note = None;
        match key {
            "parallelism.default" if value != "auto" && !matches!(value.parse::<usize>(), Ok(1..=1024)) => {
                return wrong("number from 1 to 1024, nor 'auto'");
            }
            "table.exec.async-lookup.timeout" if !parse_duration_ms(value).is_ok_and(|ms| ms > 0) => {
                return wrong("duration, such as '30 s'");
            }
            "table.exec.sink.not-null-enforcer" if NotNullEnforcer::of(value).is_none() => return wrong("enforcer: ERROR or DROP"),
            "table.exec.sink.type-length-enforcer" if LengthEnforcer::of(value).is_none() => {
                return wrong("enforcer: IGNORE, TRIM_PAD or ERROR");
            }
            "table.optimizer.agg-phase-strategy" if AggregatePhases::of(value).is_none() => {
                return wrong("strategy: AUTO, ONE_PHASE or TWO_PHASE");
            }
            "table.exec.state.ttl" if parse_duration_ms(value).is_err() => return wrong("duration, such as '12 h'"),
            "table.exec.source.cdc-events-duplicate" if !["true", "false"].contains(&value) => return wrong("'true' or 'false'"),
            "pipeline.auto-watermark-interval" if value != "batch" && parse_duration_ms(value).is_err() => return wrong("duration"),
            "table.local-time-zone" if !rheos_expr::is_time_zone(value) => {
                return wrong("time zone such as 'UTC', 'Europe/Berlin' or '+02:00'");
            }
            _ if known().any(|k| k.0 == key) || key.starts_with("s3.") => {}
            _ => note = Some(format!("'{key}' is kept, but nothing in Rheos uses it yet")),
        }
        let before = self.values.insert(key.to_string(), value.to_string());
        if let Err(error) = Durability::of(self) {
            match before {
                Some(before) => self.values.insert(key.to_string(), before),
                None => self.values.remove(key),
            };
            return Err(error);
        }
        Ok(note)
    }

    /// Back to the default, for one key or for all.
    pub(crate) fn reset(&mut self, key: Option<&str>) {
        match key {
            Some(key) => drop(self.values.remove(key)),
            None => self.values.clear(),
        }
    }

    /// All that is set.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What INSERT does with texts and bytes that are not of their column's length.
    pub(crate) fn length_enforcer(&self) -> LengthEnforcer {
        self.get("table.exec.sink.type-length-enforcer").and_then(LengthEnforcer::of).unwrap_or_default()
    }

    /// A duration that is set; it was checked then.
    fn duration_ms(&self, key: &str) -> Option<u64> {
        self.get(key).and_then(|value| parse_duration_ms(value).ok())
    }

    pub(crate) fn eval_config(&self) -> EvalConfig {
        EvalConfig { time_zone: self.get("table.local-time-zone").unwrap_or("UTC").to_string() }
    }

    pub(crate) fn lower_options(&self) -> LowerOptions {
        let parallelism = match self.get("parallelism.default") {
            None => 1,
            Some("auto") => std::thread::available_parallelism().map_or(1, usize::from),
            Some(n) => n.parse().unwrap_or(1),
        };
        let interval = self.duration_ms("pipeline.auto-watermark-interval");
        let ttl_ms = self.duration_ms("table.exec.state.ttl").filter(|ms| *ms > 0);
        LowerOptions {
            parallelism,
            per_row_watermarks: interval == Some(0),
            config: self.eval_config(),
            state_ttl_ms: ttl_ms.map(|ms| ms.min(i64::MAX as u64) as i64),
            aggregate_phases: self.get("table.optimizer.agg-phase-strategy").and_then(AggregatePhases::of).unwrap_or_default(),
            not_null_enforcer: self.get("table.exec.sink.not-null-enforcer").and_then(NotNullEnforcer::of).unwrap_or_default(),
            length_enforcer: self.length_enforcer(),
            lookup_timeout_ms: self.duration_ms("table.exec.async-lookup.timeout").unwrap_or(LOOKUP_TIMEOUT_MS),
            cdc_duplicates: self.get("table.exec.source.cdc-events-duplicate") == Some("true"),
        }
    }
}
