//! Reads splits of the stream of events: as fast as it goes, or each event when it is due.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rheos_core::connector::TableSpec;
use rheos_core::env::Clock;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceEvent, SourceReader, Split};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::config::{BaseTime, Config};
use super::generator::Generator;
use super::layout::{Plan, Share};
use crate::beginnings::Beginnings;

/// A sleep is never longer, so that a clock that was set back is noticed.
const MAX_SLEEP_MS: i64 = 1000;

/// Where a split stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Which split, from 0.
    pub(super) index: u64,
    /// How many splits there are.
    pub(super) of: u64,
    /// The number of the next event; all before it have been given.
    pub(super) next: u64,
    /// When the stream was first read, where its times or its pace count from that.
    pub(super) started_ms: Option<TimestampMs>,
}

struct OpenSplit {
    id: String,
    position: Position,
    share: Share,
    /// The number of its next event, `None` after the last.
    upcoming: Option<u64>,
    end_told: bool,
}

/// Reads some splits, always the one that is behind.
pub(super) struct NexmarkReader {
    generator: Generator,
    splits: Vec<OpenSplit>,
    clock: Arc<dyn Clock>,
    /// Is told when the stream begins.
    beginning: Box<dyn Fn(TimestampMs) + Send>,
    /// Rows of a batch, so that no text column outgrows its 31 bits.
    max_batch_rows: usize,
}

impl NexmarkReader {
    /// A reader of `splits`, which were made for `table` and its options.
    pub(super) fn new(table: &TableSpec, splits: Vec<Split>, context: &OperatorContext, beginnings: &Beginnings) -> Result<Self> {
        let config = Config::new(table)?;
        let longest = config.average_bytes.iter().max().map_or(0, |average| average * 2);
        let generator = Generator::new(table, config)?;
        let clock = Arc::clone(&context.env.clock);
        let splits = splits.into_iter().map(|split| open(split, &generator.config)).collect::<Result<Vec<_>>>()?;
        let beginning = beginnings.of_table(table);
        splits.iter().filter_map(|s| s.position.started_ms).for_each(&beginning);
        let beginning = Box::new(beginning);
        Ok(NexmarkReader { generator, splits, clock, beginning, max_batch_rows: i32::MAX as usize / longest.max(256) })
    }

    async fn read(&mut self, max_rows: usize) -> Result<SourceEvent> {
        loop {
            let behind = (0..self.splits.len()).filter_map(|i| self.splits[i].upcoming.map(|n| (n, i))).min();
            if !self.generator.config.keep_alive
                && let Some(split) = self.splits.iter().position(|s| s.upcoming.is_none() && !s.end_told)
            {
                self.splits[split].end_told = true;
                return Ok(SourceEvent::SplitEnd { split });
            }
            let Some((upcoming, split)) = behind else {
                if self.generator.config.keep_alive && !self.splits.is_empty() {
                    std::future::pending::<()>().await;
                }
                return Ok(SourceEvent::End);
            };
            let started_ms = self.start(split);
            let config = &self.generator.config;
            let mut limit = config.events;
            if config.real_time {
                let elapsed_ms = self.clock.now_ms() - started_ms;
                let wait_ms = config.timeline.offset_ms(upcoming) - elapsed_ms;
                if wait_ms > 0 {
                    self.clock.sleep_ms(wait_ms.min(MAX_SLEEP_MS) as u64).await;
                    continue;
                }
                limit = config.timeline.due(elapsed_ms, limit);
            }
            let open = &self.splits[split];
            let plan = open.share.plan(&config.layout, upcoming, limit, max_rows.clamp(1, self.max_batch_rows));
            if let BaseTime::At(base_ms) = config.base_time {
                self.generator.base_ms = base_ms;
            } else {
                self.generator.base_ms = started_ms;
            }
            let batch = self.generator.batch(&plan)?.into();
            self.advance(split, &plan);
            return Ok(SourceEvent::Rows { split, batch });
        }
    }

    /// When the stream was first read; now, if it has not been. All splits of a reader start together.
    fn start(&mut self, split: usize) -> TimestampMs {
        let config = &self.generator.config;
        if !config.real_time && config.base_time != BaseTime::Now {
            return 0;
        }
        if let Some(started_ms) = self.splits[split].position.started_ms {
            return started_ms;
        }
        let now_ms = self.splits.iter().find_map(|s| s.position.started_ms).unwrap_or_else(|| self.clock.now_ms());
        (self.beginning)(now_ms);
        self.splits[split].position.started_ms = Some(now_ms);
        now_ms
    }

    fn advance(&mut self, split: usize, plan: &Plan) {
        let config = &self.generator.config;
        let open = &mut self.splits[split];
        if let Some(last) = plan.runs.last() {
            open.position.next = last.number(last.rows as u64 - 1) + 1;
        }
        open.upcoming = upcoming(&open.share, open.position.next, config);
    }
}

fn upcoming(share: &Share, next: u64, config: &Config) -> Option<u64> {
    share.plan(&config.layout, next, config.events, 1).runs.first().map(|run| run.first)
}

fn open(split: Split, config: &Config) -> Result<OpenSplit> {
    let position: Position = serde_json::from_value(split.position)
        .map_err(|e| Error::corrupt(format!("position of nexmark split '{}' cannot be read", split.id)).caused_by(e))?;
    if position.index >= position.of {
        return Err(Error::corrupt(format!("nexmark split '{}' is number {} of {}", split.id, position.index, position.of)));
    }
    let share = Share { index: position.index, of: position.of, kinds: config.kinds };
    let upcoming = upcoming(&share, position.next, config);
    Ok(OpenSplit { id: split.id, position, share, upcoming, end_told: false })
}

impl SourceReader for NexmarkReader {
    fn next(&mut self, max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        Box::pin(self.read(max_rows))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        self.splits.iter().map(|s| Ok(Split { id: s.id.clone(), position: serde_json::to_value(s.position)? })).collect()
    }
}
