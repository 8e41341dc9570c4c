//! `window-rank`: the rows of some ranks of each partition and window, put out when the window closes. Keeps the first rows
//! of each partition of each open window.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::Slot;

use super::order::{LongKey, OrderKey, RowOrder, ShortKey};
use super::top_rows::{TopRows, TopRowsSpec};
use super::{ROWS, RankedRows};
use crate::read_spec;
use crate::row_time::{RowTimes, restore_watermark, save_watermark};
use crate::spec::WindowRankSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("window-rank", |spec| make(&read_spec(spec)?));
}

fn make(spec: &WindowRankSpec) -> Result<Box<dyn Operator>> {
    let order = RowOrder::new(&spec.order, &spec.input.to_arrow())?;
    Ok(match order.is_short() {
        true => Box::new(WindowRank::<ShortKey>::new(spec, order)?),
        false => Box::new(WindowRank::<LongKey>::new(spec, order)?),
    })
}

struct WindowRank<K> {
    /// A partition here is a window's end with the partition's columns.
    top: TopRows<K>,
    window_end: usize,
    ranks: (u64, u64),
    rank_column: bool,
    output: SchemaRef,
    /// The partitions of each open window, by its end.
    windows: BTreeMap<TimestampMs, Vec<Slot>>,
    /// A window that is being put out, with its partitions.
    closing: Option<(RankedRows, Vec<Slot>)>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl<K: OrderKey> WindowRank<K> {
    fn new(spec: &WindowRankSpec, order: RowOrder) -> Result<Self> {
        let mut partition = vec![spec.window_end];
        partition.extend(&spec.partition);
        let input = spec.input.to_arrow();
        // Without partitions, rows are distributed by their window.
        let namespace_columns = usize::from(!spec.partition.is_empty());
        let top = TopRowsSpec { input, partition, namespace_columns, keep: spec.end, retracts: false, ttl_ms: None };
        Ok(WindowRank {
            top: TopRows::new(top, order)?,
            window_end: spec.window_end,
            ranks: (spec.start.max(1), spec.end),
            rank_column: spec.rank_column,
            output: spec.output.to_arrow(),
            windows: BTreeMap::new(),
            closing: None,
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// The rows whose window is still open.
    fn in_time(&self, batch: ColumnBatch) -> Result<ColumnBatch> {
        let ends = RowTimes::of(batch.column(self.window_end))?;
        let open = |row| ends.get_ms(row).is_some_and(|end| end.saturating_sub(1) > self.watermark);
        let late = (0..batch.num_rows()).filter(|row| !open(*row)).count();
        if late == 0 {
            return Ok(batch);
        }
        self.metrics.late_rows.add(late as u64);
        batch.filter(&(0..batch.num_rows()).map(|row| Some(open(row))).collect::<BooleanArray>())
    }

    /// Begins to put out the next window that the watermark closes.
    fn close_next(&mut self) -> bool {
        let Some(entry) = self.windows.first_entry().filter(|e| e.key().saturating_sub(1) <= self.watermark) else { return false };
        let partitions = entry.remove();
        let (mut closing, mut rows) = (RankedRows::default(), Vec::new());
        for partition in &partitions {
            rows.clear();
            self.top.range(*partition, self.ranks, &mut rows);
            rows.iter().zip(self.ranks.0 as i64..).for_each(|(row, rank)| closing.push(*row, rank, RowKind::Insert));
        }
        self.closing = Some((closing, partitions));
        true
    }

    fn report(&self) {
        self.metrics.state_rows.set(self.top.rows.len() as i64);
        self.metrics.open_windows.set(self.windows.len() as i64);
        self.metrics.next_close_ms.set(self.windows.keys().next().map_or(TimestampMs::MAX, |end| end.saturating_sub(1)));
    }
}

impl<K: OrderKey> Operator for WindowRank<K> {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        let Some(restored) = restored else { return Ok(()) };
        self.top.restore(ROWS, &restored, &self.metrics)?;
        let partitions = self.top.keys.slots();
        let keys = self.top.keys.keys(&partitions)?;
        let ends = RowTimes::of(&keys[0])?;
        for (i, partition) in partitions.into_iter().enumerate() {
            self.windows.entry(ends.get_ms(i).unwrap_or(TimestampMs::MAX)).or_default().push(partition);
        }
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = self.in_time(batch.into_columns()?)?;
        if batch.num_rows() == 0 {
            return Ok(Progress::Done);
        }
        let touched = self.top.apply(&batch, (1, 0), &self.metrics)?;
        let ends = RowTimes::of(batch.column(self.window_end))?;
        for (row, partition) in touched.added() {
            self.windows.entry(ends.get_ms(row).unwrap_or(TimestampMs::MAX)).or_default().push(partition);
        }
        self.top.settle(&[])?;
        self.report();
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        // After a restore the inputs may begin behind what was seen.
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        loop {
            let Some((rows, partitions)) = &mut self.closing else {
                if self.close_next() {
                    continue;
                }
                self.report();
                return Ok(Progress::Done);
            };
            if rows.emit(&mut self.top.rows, self.rank_column, &self.output, out)? == Progress::More {
                return Ok(Progress::More);
            }
            self.top.forget(partitions);
            self.top.settle(&[])?;
            self.closing = None;
        }
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.top.snapshot(ROWS, mode, self.key_group_count, &mut taken)?;
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}
