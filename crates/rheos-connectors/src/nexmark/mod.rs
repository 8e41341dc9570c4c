//! The Nexmark generator: an endless or bounded stream of new persons, new auctions and bids.
//!
//! The distributions are those of the Java generator of the public benchmark for Flink, the sequence is not: every value is
//! a function of seed, event number and column. So any parallelism gives the same events, a column that nobody asks for
//! costs nothing, and neither does an event that a condition on `event_type` rejects.
//!
//! 1. `config` reads the options, `columns` finds what is asked for.
//! 2. `layout` says which numbers are whose and of what kind, `timeline` when they happen.
//! 3. `generator` makes batches with the columns of `person`, `auction` and `bid`, out of `random` and `strings`.
//! 4. `reader` hands them over, at full speed or in real time.

mod auction;
mod bid;
mod columns;
mod config;
mod generator;
mod layout;
mod person;
mod random;
mod reader;
mod strings;
mod timeline;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::env::Env;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceFactory, SourceReader, Split};
use rheos_core::{Error, Result};

use self::config::Config;
use self::reader::{NexmarkReader, Position};
use crate::beginnings::Beginnings;

/// The connector `nexmark`.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "nexmark",
        doc: "generates the events of the Nexmark benchmark: persons, auctions and bids of an online auction",
        options: config::option_infos(),
        takes_format: false,
        source: Some(Arc::<NexmarkSource>::default()),
        sink: None,
    }
}

#[derive(Debug, Default)]
struct NexmarkSource {
    beginnings: Beginnings,
}

impl SourceFactory for NexmarkSource {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        columns::declared(table)?;
        let config = Config::new(table)?;
        Ok(SourceDescription {
            changelog: ChangelogMode::InsertOnly,
            bounded: config.bounded(),
            predicates_applied: table.predicates.iter().map(|p| config::is_applied(table, p)).collect(),
        })
    }

    fn splits(&self, _: &TableSpec, parallelism: usize) -> Result<Vec<Split>> {
        let of = parallelism.max(1) as u64;
        let split = |index| {
            let position = serde_json::to_value(Position { index, of, next: 0, started_ms: None })?;
            Ok(Split { id: format!("nexmark-{index:05}-of-{of:05}"), position })
        };
        (0..of).map(split).collect()
    }

    fn end_splits(&self, table: &TableSpec, parallelism: usize, env: &Env) -> Result<Vec<Split>> {
        let config = Config::new(table)?;
        if !config.real_time && !config.limited {
            let hint = "give it 'events.num' or 'rate.limited'";
            return Err(Error::config(format!("table '{}' has no end to go on from: {hint}", table.name)));
        }
        let now_ms = env.clock.now_ms();
        let started_ms = self.beginnings.of(table).unwrap_or(now_ms);
        let next = if config.real_time { config.timeline.due(now_ms - started_ms, config.events) } else { config.events };
        let mut splits = self.splits(table, parallelism)?;
        for (index, split) in (0..).zip(&mut splits) {
            let of = parallelism.max(1) as u64;
            split.position = serde_json::to_value(Position { index, of, next, started_ms: Some(started_ms) })?;
        }
        Ok(splits)
    }

    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(NexmarkReader::new(table, splits, context, &self.beginnings)?))
    }
}
