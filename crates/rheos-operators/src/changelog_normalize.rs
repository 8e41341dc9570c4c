//! `changelog-normalize`: the last row of each key, so that each change knows the row that it replaces. Keeps that row.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, Slot};

use crate::idle_state::IdleState;
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::spec::ChangelogNormalizeSpec;
use crate::stored_changes::StoredChanges;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("changelog-normalize", |spec| Ok(Box::new(ChangelogNormalize::new(read_spec(spec)?)?)));
}

const ROWS: &str = "rows";

struct ChangelogNormalize {
    spec: ChangelogNormalizeSpec,
    schema: SchemaRef,
    keys: KeyIndex,
    rows: RowStore,
    /// By key: its row.
    last: Vec<u32>,
    pending: StoredChanges,
    /// Keys without a row after the batch at hand.
    gone: Vec<Slot>,
    idle: IdleState,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl ChangelogNormalize {
    fn new(spec: ChangelogNormalizeSpec) -> Result<Self> {
        let schema = spec.input.to_arrow();
        let types: Vec<DataType> = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<DataType> = spec.keys.iter().map(|k| types[*k].clone()).collect();
        Ok(ChangelogNormalize {
            schema,
            keys: KeyIndex::new(&key_types)?,
            rows: RowStore::new(types),
            last: Vec::new(),
            pending: StoredChanges::default(),
            gone: Vec::new(),
            idle: IdleState::new(spec.state_ttl_ms),
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    fn resolve(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<Slot>> {
        let keys: Vec<&ArrayRef> = self.spec.keys.iter().map(|k| &columns[*k]).collect();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.keys.resolve(&keys, rows, &mut slots, &mut new_rows)?;
        self.last.resize(self.keys.slot_bound(), NO_ROW);
        self.idle.touch(slots.iter().copied());
        Ok(slots)
    }

    /// Takes a batch in: of each key the last change counts.
    fn apply(&mut self, batch: &ColumnBatch) -> Result<()> {
        let columns = batch.columns();
        let slots = self.resolve(columns, batch.num_rows())?;
        // Keys in the order in which they come first, each with its last row: `None` where that is a deletion.
        let mut order: Vec<Slot> = Vec::new();
        let mut final_row: hashbrown::HashMap<Slot, Option<u32>> = hashbrown::HashMap::new();
        for (row, slot) in slots.iter().enumerate() {
            let kind = batch.kind(row);
            if kind == RowKind::UpdateBefore {
                continue;
            }
            if final_row.insert(*slot, kind.is_addition().then_some(row as u32)).is_none() {
                order.push(*slot);
            }
        }
        let mut kept = Vec::new();
        for slot in &order {
            let before = self.last[*slot as usize];
            if let Some(row) = final_row[slot]
                && (before == NO_ROW || !self.rows.equals(before, columns, row as usize))
            {
                kept.push((*slot, row));
            }
        }
        let mut stored = Vec::with_capacity(kept.len());
        let rows: Vec<u32> = kept.iter().map(|(_, row)| *row).collect();
        self.rows.append(&take_rows(columns, &rows)?, rows.len(), &mut stored)?;
        for ((slot, _), after) in kept.iter().zip(stored) {
            let before = std::mem::replace(&mut self.last[*slot as usize], after);
            if before != NO_ROW {
                self.rows.remove(before);
            }
            self.pending.replace(before, after, self.spec.emit_update_before);
        }
        for slot in order.iter().filter(|slot| final_row[*slot].is_none()) {
            let before = std::mem::replace(&mut self.last[*slot as usize], NO_ROW);
            if before != NO_ROW {
                self.rows.remove(before);
            }
            self.pending.replace(before, NO_ROW, self.spec.emit_update_before);
        }
        // A key of which only -U came is there without a row too.
        self.gone = slots;
        self.gone.sort_unstable();
        self.gone.dedup();
        let last = &self.last;
        self.gone.retain(|slot| last[*slot as usize] == NO_ROW);
        Ok(())
    }
}

impl Operator for ChangelogNormalize {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.idle.set_env(context.env);
        let types: Vec<DataType> = self.schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let Some(restored) = restored else { return Ok(()) };
        for batch in restored.rows(ROWS, &types)? {
            let slots = self.resolve(batch.columns(), batch.num_rows())?;
            let mut rows = Vec::with_capacity(slots.len());
            self.rows.append(batch.columns(), slots.len(), &mut rows)?;
            slots.iter().zip(rows).for_each(|(slot, row)| self.last[*slot as usize] = row);
            self.rows.settle()?;
        }
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.apply(&batch.into_columns()?)?;
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        if self.pending.emit(&mut self.rows, &self.schema, out)? == Progress::More {
            return Ok(Progress::More);
        }
        self.keys.remove(&std::mem::take(&mut self.gone));
        self.metrics.state_rows.set(self.rows.len() as i64);
        self.rows.settle()?;
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let idle = self.idle.take(now_ms, |key| self.keys.is_used(key));
        for key in &idle {
            let row = std::mem::replace(&mut self.last[*key as usize], NO_ROW);
            if row != NO_ROW {
                self.rows.remove(row);
            }
        }
        self.keys.remove(&idle);
        self.rows.settle()?;
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.rows.snapshot(ROWS, &self.spec.keys, &|_| Vec::new(), mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests;
