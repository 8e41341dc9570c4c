//! `relation-to-stream`: a relation that changes as a stream of rows that are only added. ISTREAM and DSTREAM keep nothing, RSTREAM
//! keeps the relation.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, SchemaRef};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::key_group::hash_columns;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;

use crate::row_store::{RowIndex, RowStore, take_rows};
use crate::spec::{RelationToStreamSpec, StreamMode};
use crate::{read_spec, records};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("relation-to-stream", |spec| {
        let spec: RelationToStreamSpec = read_spec(spec)?;
        let schema = spec.input.to_arrow();
        Ok(match spec.mode {
            StreamMode::Inserted => Box::new(Changes { schema, added: true }) as Box<dyn Operator>,
            StreamMode::Removed => Box::new(Changes { schema, added: false }),
            StreamMode::Whole => Box::new(Relation::new(schema)),
        })
    });
}

/// The rows that were added, or those that were removed.
struct Changes {
    schema: SchemaRef,
    added: bool,
}

impl Operator for Changes {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        let wanted: BooleanArray = (0..batch.num_rows()).map(|row| Some(batch.kind(row).is_addition() == self.added)).collect();
        let (rows, _) = batch.filter(&wanted)?.into_parts();
        let count = rows.num_rows();
        out.emit(ColumnBatch::inserts(records(&self.schema, rows.columns().to_vec(), count)?));
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

const ROWS: &str = "rows";

/// The whole relation, each time that event time goes on and it has changed.
struct Relation {
    schema: SchemaRef,
    rows: RowStore,
    index: RowIndex,
    changed: bool,
    /// The rows that are being put out, in reverse.
    pending: Vec<u32>,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

impl Relation {
    fn new(schema: SchemaRef) -> Self {
        let types = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        Relation {
            schema,
            rows: RowStore::new(types),
            index: RowIndex::default(),
            changed: false,
            pending: Vec::new(),
            key_group_count: 1,
            metrics: Arc::default(),
        }
    }

    fn add(&mut self, columns: &[ArrayRef], hashes: &[u64], rows: &[u32]) -> Result<()> {
        let mut slots = Vec::with_capacity(rows.len());
        self.rows.append(&take_rows(columns, rows)?, rows.len(), &mut slots)?;
        let store = &self.rows;
        for (row, slot) in rows.iter().zip(slots) {
            self.index.add(hashes[*row as usize], slot, |other| store.equals(other, columns, *row as usize));
        }
        Ok(())
    }

    fn hashes(columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
        let mut hashes = Vec::new();
        hash_columns(&columns.iter().collect::<Vec<_>>(), rows, &mut hashes)?;
        Ok(hashes)
    }
}

impl Operator for Relation {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        let types: Vec<DataType> = self.schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let Some(restored) = restored else { return Ok(()) };
        for batch in restored.rows(ROWS, &types)? {
            let hashes = Self::hashes(batch.columns(), batch.num_rows())?;
            self.add(batch.columns(), &hashes, &(0..batch.num_rows() as u32).collect::<Vec<_>>())?;
            self.rows.settle()?;
        }
        // It may have changed since it was put out last: once too often is better than once too few.
        self.changed = self.rows.len() > 0;
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        let (columns, hashes) = (batch.columns(), Self::hashes(batch.columns(), batch.num_rows())?);
        // In their order: a row may be added and removed in one batch.
        let mut run: Vec<u32> = Vec::new();
        for row in 0..batch.num_rows() {
            if batch.kind(row).is_addition() {
                run.push(row as u32);
                continue;
            }
            self.add(columns, &hashes, &std::mem::take(&mut run))?;
            let store = &self.rows;
            match self.index.remove(hashes[row], |other| store.equals(other, columns, row)) {
                Some(slot) => self.rows.remove(slot),
                None => self.metrics.bad_records.add(1),
            }
        }
        self.add(columns, &hashes, &run)?;
        self.rows.settle()?;
        self.changed = true;
        self.metrics.state_rows.set(self.rows.len() as i64);
        Ok(Progress::Done)
    }

    fn watermark(&mut self, _: TimestampMs, out: &mut Collector) -> Result<Progress> {
        if std::mem::take(&mut self.changed) {
            self.pending = self.rows.slots();
            self.pending.reverse();
        }
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        while !self.pending.is_empty() {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let mut part = self.pending.split_off(self.pending.len().saturating_sub(out.room()));
            part.reverse();
            let columns = self.rows.gather_all(&part)?;
            out.emit(ColumnBatch::inserts(records(&self.schema, columns, part.len())?));
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        let all: Vec<usize> = (0..self.rows.width()).collect();
        self.rows.snapshot(ROWS, &all, &|_| Vec::new(), mode, self.key_group_count, &mut taken)?;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::changelog::RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
    use rheos_core::schema::{Field, Schema};
    use rheos_core::time::MAX_WATERMARK;
    use rheos_core::types::TypeKind;

    use super::*;
    use crate::testing::{Change, Instances, Row, Value, batch};

    fn instances(mode: StreamMode) -> (Schema, Instances) {
        let input = Schema::new(vec![Field::new("v", TypeKind::BigInt.nullable())]);
        let spec = serde_json::to_value(RelationToStreamSpec { input: input.clone(), mode }).unwrap();
        let make = move || {
            let mut registry = Registry::new();
            register(&mut registry);
            registry.make_operator("relation-to-stream", &spec).unwrap()
        };
        (input, Instances::new(make, &[&[0]], 4))
    }

    fn row(value: i64) -> Row {
        vec![Value::Int(value)]
    }

    fn changes() -> Vec<Change> {
        vec![(Insert, row(1)), (Insert, row(2)), (UpdateBefore, row(1)), (UpdateAfter, row(3)), (Delete, row(2))]
    }

    #[test]
    fn what_is_added_and_what_is_removed_are_streams() {
        let (schema, mut added) = instances(StreamMode::Inserted);
        assert_eq!(added.push(0, batch(&schema, &changes())), [(Insert, row(1)), (Insert, row(2)), (Insert, row(3))]);
        let (schema, mut removed) = instances(StreamMode::Removed);
        assert_eq!(removed.push(0, batch(&schema, &changes())), [(Insert, row(1)), (Insert, row(2))]);
    }

    #[test]
    fn the_whole_relation_comes_at_each_instant_that_has_changed_it() {
        let (schema, mut whole) = instances(StreamMode::Whole);
        assert!(whole.push(0, batch(&schema, &[(Insert, row(1)), (Insert, row(2)), (Insert, row(2))])).is_empty());
        let sorted = |mut rows: Vec<Change>| {
            rows.sort_by(|a, b| a.1.cmp(&b.1));
            rows
        };
        assert_eq!(sorted(whole.watermark(10)), [(Insert, row(1)), (Insert, row(2)), (Insert, row(2))]);
        assert!(whole.watermark(20).is_empty());
        whole.restart(2);
        whole.push(0, batch(&schema, &[(Delete, row(2)), (Insert, row(5))]));
        assert_eq!(sorted(whole.watermark(MAX_WATERMARK)), [(Insert, row(1)), (Insert, row(2)), (Insert, row(5))]);
        assert_eq!(whole.state_rows(), 3);
    }
}
