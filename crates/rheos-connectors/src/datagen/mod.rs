//! A source of made-up rows, for trying things out: each value follows from a seed, the row's number and the column.

mod generate;
mod options;
mod reader;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rheos_core::Result;
use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, OptionInfo, TableSpec};
use rheos_core::env::Env;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceFactory, SourceReader, Split};

use crate::beginnings::Beginnings;
use options::Settings;
use reader::{DatagenReader, Position};

/// The connector. In its options `#` stands for the name of a column, or of a field within one: `fields.address.city.length`.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "datagen",
        doc: "Makes up rows at a given rate: random values, or sequences.",
        options: vec![
            OptionInfo::optional("rows-per-second", "10000", "How many rows are made a second, by all subtasks together."),
            OptionInfo::optional("number-of-rows", "unlimited", "How many rows are made before the input ends."),
            OptionInfo::optional("rheos.seed", "0", "The number from which all values follow."),
            OptionInfo::optional("fields.#.kind", "random", "'random', or 'sequence' from start to end, after which the input ends."),
            OptionInfo::optional("fields.#.min", "the type's least", "The least random number."),
            OptionInfo::optional("fields.#.max", "the type's greatest", "The greatest random number."),
            OptionInfo::optional("fields.#.max-past", "0", "How far random timestamps lie before the row's own moment, at most."),
            OptionInfo::optional("fields.#.length", "100; 3 for collections", "The length of texts, bytes, arrays, maps and multisets."),
            OptionInfo::optional("fields.#.var-len", "false", "Texts and bytes have any length from 1 to 'length'."),
            OptionInfo::optional("fields.#.start", "none", "The first number of a sequence."),
            OptionInfo::optional("fields.#.end", "none", "The last number of a sequence."),
            OptionInfo::optional("fields.#.null-rate", "0", "The share of NULLs, from 0 to 1."),
        ],
        takes_format: false,
        source: Some(Arc::<Datagen>::default()),
        sink: None,
    }
}

#[derive(Debug, Default)]
struct Datagen {
    beginnings: Beginnings,
}

impl SourceFactory for Datagen {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        let settings = Settings::of(table)?;
        let predicates_applied = vec![false; table.predicates.len()];
        Ok(SourceDescription { changelog: ChangelogMode::InsertOnly, bounded: settings.rows.is_some(), predicates_applied })
    }

    fn splits(&self, _table: &TableSpec, parallelism: usize) -> Result<Vec<Split>> {
        let stride = parallelism.max(1) as u64;
        let split = |next| {
            let position = Position { next, stride, started_ms: None };
            Ok(Split { id: format!("rows-{next:05}-of-{stride:05}"), position: serde_json::to_value(position)? })
        };
        (0..stride).map(split).collect()
    }

    fn end_splits(&self, table: &TableSpec, parallelism: usize, env: &Env) -> Result<Vec<Split>> {
        let settings = Settings::of(table)?;
        let now_ms = env.clock.now_ms();
        let started_ms = self.beginnings.of(table).unwrap_or(now_ms);
        let due = reader::due_rows(started_ms, now_ms, settings.rows_per_second).min(settings.rows.unwrap_or(u64::MAX));
        let mut splits = self.splits(table, parallelism)?;
        for (first, split) in (0u64..).zip(&mut splits) {
            let stride = parallelism.max(1) as u64;
            // The first of the split's rows that is not due.
            let next = first + due.saturating_sub(first).div_ceil(stride) * stride;
            split.position = serde_json::to_value(Position { next, stride, started_ms: Some(started_ms) })?;
        }
        Ok(splits)
    }

    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(DatagenReader::new(table, Settings::of(table)?, splits, context.env.clock.clone(), self.beginnings.clone())?))
    }
}
