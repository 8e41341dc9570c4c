//! `window-join`: rows of both sides that carry the same window and keys. Keeps the rows of open windows; each window is
//! joined when the watermark reaches its last millisecond.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use rheos_core::batch::Batch;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyIndex, NO_SLOT, Slot};

use crate::join::{Assembly, Condition, Cursor, KeyLists, MAX_STEPS, collect, find, preserved, resolve, retain};
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore};
use crate::row_time::{restore_watermark, save_watermark};
use crate::spec::{JoinKind, WindowJoinSpec};
use crate::window_buffer::WindowBuffer;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("window-join", |spec| Ok(Box::new(WindowJoin::new(read_spec(spec)?)?)));
}

/// The names of the sides in a snapshot.
const SIDES: [&str; 2] = ["left", "right"];

struct WindowJoin {
    spec: WindowJoinSpec,
    output: SchemaRef,
    condition: Option<Condition>,
    buffers: [WindowBuffer; 2],
    /// The window that is being joined.
    closing: Option<Closing>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// A window that is being joined: the right side by key, the left side batch by batch.
struct Closing {
    keys: KeyIndex,
    rows: RowStore,
    lists: KeyLists,
    /// By right row: whether it had a match. Kept where right rows without one matter.
    matched: Vec<bool>,
    /// The left batches still to be joined, in reverse.
    left: Vec<RecordBatch>,
    /// The left batch at hand, with the key of each row and how many matches of the row at the cursor were seen.
    current: Option<(RecordBatch, Vec<Slot>, Cursor, u32)>,
    /// The next right row that may be without a match.
    alone: u32,
}

impl WindowJoin {
    fn new(spec: WindowJoinSpec) -> Result<Self> {
        let condition = spec.condition.as_ref().map(|c| Condition::compile(c, spec.left.schema.len(), &spec.config)).transpose()?;
        let buffers = [
            WindowBuffer::new(spec.left.schema.to_arrow(), spec.left_end),
            WindowBuffer::new(spec.right.schema.to_arrow(), spec.right_end),
        ];
        let output = spec.output.to_arrow();
        Ok(WindowJoin {
            spec,
            output,
            condition,
            buffers,
            closing: None,
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    fn left_only(&self) -> bool {
        matches!(self.spec.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Begins with the next window that the watermark closes.
    fn close_next(&mut self) -> Result<bool> {
        let next = self.buffers.iter().filter_map(|b| b.ends().next()).min();
        let Some(end) = next.filter(|end| end.saturating_sub(1) <= self.watermark) else { return Ok(false) };
        let [left, right] = &mut self.buffers;
        let (mut left, right) = (left.close(end)?, right.close(end)?);
        left.reverse();
        let types: Vec<DataType> = self.spec.right.schema.to_arrow().fields().iter().map(|f| f.data_type().clone()).collect();
        let mut keys = KeyIndex::new(&self.spec.right.keys.iter().map(|k| types[*k].clone()).collect::<Vec<_>>())?;
        let (mut rows, mut lists, mut slots) = (RowStore::new(types), KeyLists::new(false), Vec::new());
        for batch in right {
            slots.clear();
            rows.append(batch.columns(), batch.num_rows(), &mut slots)?;
            let key_slots = resolve(&mut keys, &self.spec.right.keys, batch.columns(), batch.num_rows())?;
            lists.grow(keys.slot_bound(), rows.slot_bound());
            for (key, row) in key_slots.iter().zip(&slots).filter(|(key, _)| **key != NO_SLOT) {
                lists.add(*key, *row);
            }
        }
        let matched = if preserved(self.spec.kind)[1] { vec![false; rows.slot_bound()] } else { Vec::new() };
        self.closing = Some(Closing { keys, rows, lists, matched, left, current: None, alone: 0 });
        Ok(true)
    }

    /// Puts out more of the window at hand; whether there is more to come. Adds to `steps` what was looked at.
    fn step(&mut self, closing: &mut Closing, steps: &mut usize, out: &mut Collector) -> Result<bool> {
        if closing.current.is_none() {
            let Some(batch) = closing.left.pop() else { return self.put_right_alone(closing, out) };
            let keys = find(&mut closing.keys, &self.spec.left.keys, batch.columns(), batch.num_rows())?;
            closing.current = Some((batch, keys, Cursor::default(), 0));
        }
        let Some((batch, keys, cursor, matches)) = &mut closing.current else { return Ok(false) };
        let [left_preserved, right_preserved] = preserved(self.spec.kind);
        let left_only = self.left_only();
        // Without a condition SEMI and ANTI need no pairs.
        let counted = left_only && self.condition.is_none();
        let (first_row, steps_before) = (cursor.row, cursor.steps);
        let mut pairs = collect(cursor, keys, &closing.lists, out.room(), usize::from(left_preserved), |_| counted);
        *steps += cursor.steps - steps_before;
        if let Some(condition) = &mut self.condition {
            retain(condition, &mut pairs, 0, batch.columns(), &mut closing.rows)?;
        }
        if right_preserved {
            pairs.other.iter().for_each(|row| closing.matched[*row as usize] = true);
        }
        let rows = if left_preserved {
            let mut rows = Assembly::default();
            let mut pair = 0;
            #[allow(clippy::needless_range_loop)] // rows are numbers in more lists than this one
            for row in first_row..=cursor.row.min(keys.len() - 1) {
                while pairs.own.get(pair) == Some(&(row as u32)) {
                    if !left_only {
                        rows.insert(row as u32, pairs.other[pair]);
                    }
                    pair += 1;
                    *matches += 1;
                }
                if row < cursor.row {
                    let matches = std::mem::take(matches);
                    let matched = if counted { closing.lists.count(keys[row]) > 0 } else { matches > 0 };
                    if matched == (self.spec.kind == JoinKind::Semi) {
                        rows.insert(row as u32, NO_ROW);
                    }
                }
            }
            rows
        } else {
            Assembly { own: pairs.own, other: pairs.other, kinds: Vec::new() }
        };
        if rows.len() > 0 {
            out.emit(rows.build(&self.output, 0, batch.columns(), &mut closing.rows, left_only)?);
        }
        if cursor.row == batch.num_rows() {
            closing.current = None;
        }
        Ok(true)
    }

    /// Puts out right rows without a match.
    fn put_right_alone(&mut self, closing: &mut Closing, out: &mut Collector) -> Result<bool> {
        let mut rows = Assembly::default();
        while (closing.alone as usize) < closing.matched.len() && rows.len() < out.room() {
            if !closing.matched[closing.alone as usize] {
                rows.insert(NO_ROW, closing.alone);
            }
            closing.alone += 1;
        }
        if rows.len() == 0 {
            return Ok(false);
        }
        let left: Vec<ArrayRef> = RecordBatch::new_empty(self.spec.left.schema.to_arrow()).columns().to_vec();
        out.emit(rows.build(&self.output, 0, &left, &mut closing.rows, false)?);
        Ok(true)
    }

    fn report(&self) {
        let [left, right] = &self.buffers;
        self.metrics.state_rows.set((left.rows() + right.rows()) as i64);
        let mut ends: Vec<TimestampMs> = left.ends().chain(right.ends()).collect();
        ends.sort_unstable();
        ends.dedup();
        self.metrics.open_windows.set(ends.len() as i64);
        self.metrics.next_close_ms.set(ends.first().map_or(TimestampMs::MAX, |end| end.saturating_sub(1)));
    }
}

impl Operator for WindowJoin {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.condition = self.condition.take().map(|c| c.with_env(context.env));
        let Some(restored) = restored else { return Ok(()) };
        for (buffer, name) in self.buffers.iter_mut().zip(SIDES) {
            buffer.restore(name, &restored, &self.metrics)?;
        }
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        self.buffers[port].add(&batch.into_columns()?, self.watermark, &self.metrics)?;
        self.report();
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        // After a restore the inputs may begin behind what was seen.
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let mut steps = 0;
        loop {
            let Some(mut closing) = self.closing.take() else {
                if self.close_next()? {
                    continue;
                }
                self.report();
                return Ok(Progress::Done);
            };
            loop {
                // A condition may reject all pairs, SEMI and ANTI only count them: nothing fills the collector then.
                if out.is_full() || steps >= MAX_STEPS {
                    self.closing = Some(closing);
                    return Ok(Progress::More);
                }
                if !self.step(&mut closing, &mut steps, out)? {
                    break;
                }
            }
        }
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        let WindowJoinSpec { left, right, left_end, right_end, .. } = &self.spec;
        for (buffer, (name, (side, end))) in self.buffers.iter().zip(SIDES.iter().zip([(left, left_end), (right, right_end)])) {
            // Without keys, rows are distributed by their window.
            let keys = if side.keys.is_empty() { std::slice::from_ref(end) } else { &side.keys };
            buffer.snapshot(name, keys, self.key_group_count, &mut taken)?;
        }
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
