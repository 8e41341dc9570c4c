//! Hands over made-up rows as they become due.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use futures_util::future::BoxFuture;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::TableSpec;
use rheos_core::env::Clock;
use rheos_core::source::{SourceEvent, SourceReader, Split};
use rheos_core::{Batch, Error, Result};
use serde::{Deserialize, Serialize};

use super::generate::{Origin, mix};
use super::options::Settings;
use crate::beginnings::Beginnings;
use crate::format::Layout;

/// About how large a batch may be.
const MAX_BATCH_BYTES: u64 = 16 << 20;

/// Where to go on: every `stride`-th row from `next` on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) next: u64,
    pub(super) stride: u64,
    /// When row 0 was due; each further row is due at its time after that.
    pub(super) started_ms: Option<i64>,
}

pub(super) struct DatagenReader {
    settings: Settings,
    layout: Layout,
    schema: SchemaRef,
    /// A number for each built column, from which its values follow.
    column_seeds: Vec<u64>,
    /// How many rows fit into a batch.
    batch_rows: u64,
    splits: Vec<DatagenSplit>,
    clock: Arc<dyn Clock>,
    /// Is told when the stream begins.
    beginning: Box<dyn Fn(i64) + Send>,
}

struct DatagenSplit {
    id: String,
    position: Position,
    ended: bool,
}

impl DatagenReader {
    pub(super) fn new(
        table: &TableSpec,
        settings: Settings,
        splits: Vec<Split>,
        clock: Arc<dyn Clock>,
        beginnings: Beginnings,
    ) -> Result<Self> {
        let layout = Layout::new(table, false);
        let seed = |name: &str| name.bytes().fold(settings.seed, |hash, b| mix(hash ^ u64::from(b)));
        let column_seeds = layout.built.iter().map(|p| mix(seed(&table.name) ^ seed(&table.schema.fields[p.column].name))).collect();
        let row_bytes: u64 = layout.built.iter().map(|p| settings.columns[p.column].value_bytes()).sum();
        let batch_rows = (MAX_BATCH_BYTES / row_bytes.max(1)).max(1);
        let split = |split: Split| -> Result<DatagenSplit> {
            let position =
                serde_json::from_value(split.position).map_err(|e| Error::from(e).context(format!("position of '{}'", split.id)))?;
            Ok(DatagenSplit { id: split.id, position, ended: false })
        };
        let splits = splits.into_iter().map(split).collect::<Result<Vec<_>>>()?;
        let schema = table.output_schema().to_arrow();
        let beginning = beginnings.of_table(table);
        splits.iter().filter_map(|s: &DatagenSplit| s.position.started_ms).for_each(&beginning);
        let beginning = Box::new(beginning);
        Ok(DatagenReader { schema, settings, layout, column_seeds, batch_rows, splits, clock, beginning })
    }

    /// What there is to say now, or how long to wait.
    fn poll(&mut self, max_rows: usize) -> Result<Result<SourceEvent, u64>> {
        let now_ms = self.clock.now_ms();
        let current = self.splits.iter().enumerate().filter(|(_, s)| !s.ended).min_by_key(|(_, s)| s.position.next);
        let Some((index, _)) = current else { return Ok(Ok(SourceEvent::End)) };
        let split = &mut self.splits[index];
        let Position { next, stride, .. } = split.position;
        let end = self.settings.rows.unwrap_or(u64::MAX);
        if next >= end {
            split.ended = true;
            return Ok(Ok(SourceEvent::SplitEnd { split: index }));
        }
        let started_ms = *split.position.started_ms.get_or_insert_with(|| {
            (self.beginning)(now_ms);
            now_ms
        });
        let due = due_rows(started_ms, now_ms, self.settings.rows_per_second).min(end);
        if next >= due {
            let wait_ms = due_ms(started_ms, next, self.settings.rows_per_second).saturating_sub(now_ms);
            return Ok(Err(wait_ms.max(1) as u64));
        }
        let count = (due - next).div_ceil(stride).min(max_rows.max(1) as u64).min(self.batch_rows);
        let batch = self.generate(next, stride, count, started_ms)?;
        self.splits[index].position.next = next + count * stride;
        Ok(Ok(SourceEvent::Rows { split: index, batch: Batch::Columns(batch) }))
    }

    fn generate(&self, first: u64, stride: u64, count: u64, started_ms: i64) -> Result<ColumnBatch> {
        let rate = self.settings.rows_per_second;
        let mut built = Vec::with_capacity(self.layout.built.len());
        for (path, seed) in self.layout.built.iter().zip(&self.column_seeds) {
            let origin = |i: u64| {
                let row = first + i * stride;
                Origin { row, at_ms: due_ms(started_ms, row, rate), random: mix(seed ^ mix(row)) }
            };
            let origins: Vec<Origin> = (0..count).map(origin).collect();
            built.push(self.settings.columns[path.column].generate(&origins)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count as usize));
        let records = RecordBatch::try_new_with_options(self.schema.clone(), self.layout.project(&built)?, &options)?;
        Ok(ColumnBatch::inserts(records))
    }
}

/// How many rows are due at a moment: row `i` is due `i / rate` seconds after the start.
pub(super) fn due_rows(started_ms: i64, now_ms: i64, rows_per_second: u64) -> u64 {
    let elapsed_ms = u128::try_from(now_ms.saturating_sub(started_ms)).unwrap_or(0);
    u64::try_from(elapsed_ms * u128::from(rows_per_second) / 1000 + 1).unwrap_or(u64::MAX)
}

/// When a row is due.
fn due_ms(started_ms: i64, row: u64, rows_per_second: u64) -> i64 {
    let after_ms = (u128::from(row) * 1000).div_ceil(u128::from(rows_per_second));
    started_ms.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX))
}

impl SourceReader for DatagenReader {
    fn next(&mut self, max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        Box::pin(async move {
            loop {
                match self.poll(max_rows)? {
                    Ok(event) => return Ok(event),
                    Err(wait_ms) => self.clock.sleep_ms(wait_ms).await,
                }
            }
        })
    }

    fn positions(&self) -> Result<Vec<Split>> {
        self.splits.iter().map(|s| Ok(Split { id: s.id.clone(), position: serde_json::to_value(s.position)? })).collect()
    }
}
