//! `rank`: the rows of some ranks of each partition, updated as rows come (Top-N). Keeps the first rows of each partition,
//! or all where rows are taken back.
//!
//! What was visible before a batch is compared with what is visible after it, so a partition changes once for a batch.

mod deduplicate;
mod keep_first;
mod keep_last;
mod order;
mod ordered;
#[cfg(test)]
mod tests;
mod top_rows;
mod window_rank;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::SchemaRef;
use rheos_core::batch::Batch;
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::Slot;

pub(crate) use self::order::{LongKey, OrderKey, RowOrder, ShortKey};
use self::top_rows::Touched;
pub(crate) use self::top_rows::{TopRows, TopRowsSpec};
use crate::read_spec;
use crate::row_store::RowStore;
use crate::spec::RankSpec;
use crate::stored_changes::StoredChanges;

/// Makes the kinds known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("rank", |spec| make(&read_spec(spec)?));
    deduplicate::register(registry);
    window_rank::register(registry);
}

fn make(spec: &RankSpec) -> Result<Box<dyn Operator>> {
    let order = RowOrder::new(&spec.order, &spec.input.to_arrow())?;
    Ok(match order.is_short() {
        true => Box::new(Rank::<ShortKey>::new(spec, order)?),
        false => Box::new(Rank::<LongKey>::new(spec, order)?),
    })
}

const ROWS: &str = "rows";

struct Rank<K> {
    top: TopRows<K>,
    ranks: (u64, u64),
    rank_column: bool,
    output: SchemaRef,
    /// What is still to be put out, with the partitions that it is of.
    pending: Option<(RankedRows, Vec<Slot>)>,
    /// By row slot, between calls all 0: marks for comparing before and after.
    marks: Vec<u8>,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl<K: OrderKey> Rank<K> {
    fn new(spec: &RankSpec, order: RowOrder) -> Result<Self> {
        let top = TopRowsSpec {
            input: spec.input.to_arrow(),
            partition: spec.partition.clone(),
            namespace_columns: 0,
            keep: spec.end,
            retracts: spec.input_retracts,
            ttl_ms: spec.state_ttl_ms,
        };
        Ok(Rank {
            top: TopRows::new(top, order)?,
            ranks: (spec.start.max(1), spec.end),
            rank_column: spec.rank_column,
            output: spec.output.to_arrow(),
            pending: None,
            marks: Vec::new(),
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// What the touched partitions put out.
    fn compare(&mut self, touched: &Touched) -> RankedRows {
        let mut changes = RankedRows::default();
        let mut after = Vec::new();
        for (i, partition) in touched.partitions.iter().enumerate() {
            after.clear();
            self.top.range(*partition, self.ranks, &mut after);
            let before = touched.before(i);
            if self.rank_column {
                self.compare_ranks(before, &after, &mut changes);
            } else {
                self.compare_rows(before, &after, &mut changes);
            }
        }
        changes
    }

    /// With the rank in the row, a rank whose row is another is updated.
    fn compare_ranks(&self, before: &[u32], after: &[u32], changes: &mut RankedRows) {
        for i in 0..before.len().max(after.len()) {
            let rank = self.ranks.0 as i64 + i as i64;
            match (before.get(i), after.get(i)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new)) => {
                    changes.push(*old, rank, RowKind::UpdateBefore);
                    changes.push(*new, rank, RowKind::UpdateAfter);
                }
                (Some(old), None) => changes.push(*old, rank, RowKind::Delete),
                (None, Some(new)) => changes.push(*new, rank, RowKind::Insert),
                (None, None) => {}
            }
        }
    }

    /// Without it, rows leave and enter. Where there is one row at most, it is updated.
    fn compare_rows(&mut self, before: &[u32], after: &[u32], changes: &mut RankedRows) {
        const WAS: u8 = 1;
        const STAYS: u8 = 2;
        self.marks.resize(self.top.rows.slot_bound(), 0);
        before.iter().for_each(|row| self.marks[*row as usize] = WAS);
        for row in after {
            let mark = &mut self.marks[*row as usize];
            *mark = if *mark == WAS { STAYS } else { 0 };
        }
        let left = before.iter().filter(|row| self.marks[**row as usize] == WAS);
        let entered = after.iter().filter(|row| self.marks[**row as usize] == 0);
        let update = self.ranks.0 == self.ranks.1 && !before.is_empty() && !after.is_empty();
        let (leave, enter) = if update { (RowKind::UpdateBefore, RowKind::UpdateAfter) } else { (RowKind::Delete, RowKind::Insert) };
        left.for_each(|row| changes.push(*row, 0, leave));
        entered.for_each(|row| changes.push(*row, 0, enter));
        before.iter().for_each(|row| self.marks[*row as usize] = 0);
    }
}

impl<K: OrderKey> Operator for Rank<K> {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.top.set_env(context.env);
        if let Some(restored) = restored {
            self.top.restore(ROWS, &restored, &self.metrics)?;
        }
        self.metrics.state_rows.set(self.top.rows.len() as i64);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let touched = self.top.apply(&batch.into_columns()?, self.ranks, &self.metrics)?;
        let changes = self.compare(&touched);
        self.pending = Some((changes, touched.partitions));
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some((changes, partitions)) = &mut self.pending else { return Ok(Progress::Done) };
        if changes.emit(&mut self.top.rows, self.rank_column, &self.output, out)? == Progress::More {
            return Ok(Progress::More);
        }
        self.top.settle(partitions)?;
        self.pending = None;
        self.metrics.state_rows.set(self.top.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.top.next_timer_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        self.top.forget_idle(now_ms)?;
        self.metrics.state_rows.set(self.top.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.top.snapshot(ROWS, mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}

/// Stored rows to put out, with their ranks and kinds.
#[derive(Debug, Default)]
struct RankedRows {
    changes: StoredChanges,
    ranks: Vec<i64>,
}

impl RankedRows {
    fn push(&mut self, row: u32, rank: i64, kind: RowKind) {
        self.changes.push(row, kind);
        self.ranks.push(rank);
    }

    /// Puts out as much as fits.
    fn emit(&mut self, store: &mut RowStore, rank_column: bool, output: &SchemaRef, out: &mut Collector) -> Result<Progress> {
        let ranks = &self.ranks;
        self.changes.emit_with(store, output, out, |part| rank_column.then(|| Arc::new(Int64Array::from(ranks[part].to_vec())) as ArrayRef))
    }
}
