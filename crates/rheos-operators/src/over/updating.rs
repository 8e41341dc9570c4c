//! Window functions whose order is not that of event time, or over an input that takes rows back: a batch changes partitions,
//! and the rows of those whose values differ are updated.
//!
//! State: all rows, in order. The values of a touched partition are computed before and after a batch, so its cost is that of
//! its size.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt8Array};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{Slot, SlotColumns};

use super::frames::{Frames, Member, Sequence};
use crate::rank::{OrderKey, RowOrder, TopRows, TopRowsSpec};
use crate::spec::{Frame, OverCall, OverSpec};
use crate::{difference, records};

const ROWS: &str = "rows";

pub(super) struct Updating<K> {
    rows: TopRows<K>,
    order: RowOrder,
    frames: Frames,
    output: SchemaRef,
    pending: Option<Changes>,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// What a batch changes.
struct Changes {
    partitions: Vec<Slot>,
    /// The values before and after, for the rows of all touched partitions.
    values: [Vec<ArrayRef>; 2],
    /// The stored row of each change, and where its values are.
    rows: Vec<u32>,
    picks: Vec<(usize, usize)>,
    kinds: Vec<u8>,
    done: usize,
}

impl Changes {
    fn push(&mut self, row: u32, pick: (usize, usize), kind: RowKind) {
        self.rows.push(row);
        self.picks.push(pick);
        self.kinds.push(kind as u8);
    }
}

impl<K: OrderKey> Updating<K> {
    pub(super) fn new(spec: OverSpec, order: RowOrder) -> Result<Self> {
        let in_time =
            |call: &OverCall| matches!(call, OverCall::Aggregate { frame: Frame::Range { preceding_ms: Some(ms) }, .. } if *ms > 0);
        if spec.calls.iter().any(in_time) {
            return Err(Error::bug("a frame of milliseconds over an order that is not event time"));
        }
        let input = spec.input.to_arrow();
        let top = TopRowsSpec {
            input: input.clone(),
            partition: spec.partition.clone(),
            namespace_columns: 0,
            keep: u64::MAX,
            retracts: spec.input_retracts,
            ttl_ms: spec.state_ttl_ms,
        };
        Ok(Updating {
            rows: TopRows::new(top, RowOrder::new(&spec.order, &input)?)?,
            order,
            frames: Frames::new(&spec.calls)?,
            output: spec.output.to_arrow(),
            pending: None,
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// The values of all calls for whole partitions, given as their rows in order.
    fn values(&mut self, partitions: &[&[u32]]) -> Result<Vec<ArrayRef>> {
        let all: Vec<u32> = partitions.concat();
        let columns = self.rows.rows.gather_all(&all)?;
        let keys = self.order.keys(&columns)?;
        let mut sequences: Vec<VecDeque<Member>> = Vec::with_capacity(partitions.len());
        let mut at = 0u32;
        for rows in partitions {
            let mut members: VecDeque<Member> = VecDeque::with_capacity(rows.len());
            for i in 0..rows.len() {
                let peers = match members.back() {
                    Some((peers, before)) => peers + i64::from(keys.get(*before as usize) != keys.get(at as usize)),
                    None => 0,
                };
                debug_assert_eq!(i, members.len());
                members.push_back((peers, at));
                at += 1;
            }
            sequences.push(members);
        }
        let slots: Vec<Slot> = (0..partitions.len() as Slot).collect();
        self.frames.grow(partitions.len());
        let mut starts = vec![0u32; self.frames.len() * partitions.len()];
        let mut rest = starts.as_mut_slice();
        let mut work: Vec<Sequence<'_>> = Vec::with_capacity(partitions.len());
        for (slot, rows) in slots.iter().zip(&sequences) {
            let (mine, others) = rest.split_at_mut(self.frames.len());
            rest = others;
            work.push(Sequence { slot: *slot, rows, done: 0, starts: mine });
        }
        let planned = self.frames.plan(&mut work);
        let values = self.frames.execute(planned, &columns)?;
        self.frames.clear(&slots);
        Ok(values)
    }
}

impl<K: OrderKey> Operator for Updating<K> {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.rows.set_env(context.env);
        if let Some(restored) = restored {
            self.rows.restore(ROWS, &restored, &self.metrics)?;
        }
        self.metrics.state_rows.set(self.rows.rows.len() as i64);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let touched = self.rows.apply(&batch.into_columns()?, (1, u64::MAX), &self.metrics)?;
        let after: Vec<Vec<u32>> = touched
            .partitions
            .iter()
            .map(|partition| {
                let mut rows = Vec::new();
                self.rows.range(*partition, (1, u64::MAX), &mut rows);
                rows
            })
            .collect();
        let before: Vec<&[u32]> = (0..touched.partitions.len()).map(|i| touched.before(i)).collect();
        let after: Vec<&[u32]> = after.iter().map(Vec::as_slice).collect();
        let values = [self.values(&before)?, self.values(&after)?];
        let old: HashMap<u32, usize> = before.concat().into_iter().enumerate().map(|(i, row)| (row, i)).collect();
        let new: HashMap<u32, usize> = after.concat().into_iter().enumerate().map(|(i, row)| (row, i)).collect();

        let mut changes = Changes { partitions: touched.partitions.clone(), values, rows: vec![], picks: vec![], kinds: vec![], done: 0 };
        for row in before.concat() {
            if !new.contains_key(&row) {
                changes.push(row, (0, old[&row]), RowKind::Delete);
            }
        }
        let after = after.concat();
        // In the order of the partition, so that of rows with one key of a sink the last is the last.
        let stayed: Vec<(u32, usize, usize)> = after.iter().filter_map(|row| Some((*row, *old.get(row)?, new[row]))).collect();
        let at = |list: &[ArrayRef], positions: Vec<u32>| crate::row_store::take_rows(list, &positions);
        let was = at(&changes.values[0], stayed.iter().map(|s| s.1 as u32).collect())?;
        let is = at(&changes.values[1], stayed.iter().map(|s| s.2 as u32).collect())?;
        let differs = difference::rows_that_differ(&was, &is, stayed.len())?;
        let mut stayed = stayed.iter().zip(differs);
        for (at, row) in after.iter().enumerate() {
            if !old.contains_key(row) {
                changes.push(*row, (1, at), RowKind::Insert);
            } else if let Some(((row, old, new), true)) = stayed.next() {
                changes.push(*row, (0, *old), RowKind::UpdateBefore);
                changes.push(*row, (1, *new), RowKind::UpdateAfter);
            }
        }
        self.pending = Some(changes);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some(changes) = &mut self.pending else { return Ok(Progress::Done) };
        while changes.done < changes.rows.len() {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let part = changes.done..changes.rows.len().min(changes.done + out.room());
            let mut columns = self.rows.rows.gather_all(&changes.rows[part.clone()])?;
            for (old, new) in changes.values[0].iter().zip(&changes.values[1]) {
                let sources: [&dyn Array; 2] = [old.as_ref(), new.as_ref()];
                columns.push(interleave(&sources, &changes.picks[part.clone()])?);
            }
            let kinds = UInt8Array::from(changes.kinds[part.clone()].to_vec());
            out.emit(ColumnBatch::changes(records(&self.output, columns, part.len())?, kinds)?);
            changes.done = part.end;
        }
        self.rows.settle(&changes.partitions)?;
        self.pending = None;
        self.metrics.state_rows.set(self.rows.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.rows.next_timer_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        self.rows.forget_idle(now_ms)?;
        self.metrics.state_rows.set(self.rows.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.rows.snapshot(ROWS, mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}
