//! `constraint-enforcer`: what a sink's table declares of its columns holds for the rows that come to it. Keeps no state.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::NullBuffer;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};

use crate::read_spec;
use crate::spec::ConstraintSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry
        .add_operator("constraint-enforcer", |spec| Ok(Box::new(ConstraintEnforcer { spec: read_spec(spec)?, metrics: Arc::default() })));
}

struct ConstraintEnforcer {
    spec: ConstraintSpec,
    metrics: Arc<OperatorMetrics>,
}

impl ConstraintEnforcer {
    /// The rows without NULL in a column that must have none.
    fn without_nulls(&self, batch: ColumnBatch) -> Result<ColumnBatch> {
        let mut nulls: Option<NullBuffer> = None;
        for column in &self.spec.not_null {
            let of_column = batch.column(*column).logical_nulls().filter(|nulls| nulls.null_count() > 0);
            if of_column.is_some() && !self.spec.drops {
                let (table, name) = (&self.spec.table, &self.spec.names[*column]);
                return Err(Error::input(format!(
                    "column '{name}' of table '{table}' is NOT NULL, but a row to be written has NULL there: leave it out by WHERE {name} IS NOT NULL, \
                     give it a value by COALESCE, or SET 'table.exec.sink.not-null-enforcer' = 'DROP' to leave out all such rows"
                )));
            }
            nulls = NullBuffer::union(nulls.as_ref(), of_column.as_ref());
        }
        let Some(nulls) = nulls else { return Ok(batch) };
        self.metrics.bad_records.add(nulls.null_count() as u64);
        batch.filter(&BooleanArray::new(nulls.into_inner(), None))
    }

    /// An error where a text or bytes are longer than their column.
    fn check_lengths(&self, batch: &ColumnBatch) -> Result<()> {
        for (column, most) in &self.spec.lengths {
            let values = batch.column(*column);
            let longest = if let Some(texts) = values.as_string_opt::<i32>() {
                // Texts of no more bytes than characters are allowed need no counting.
                texts.iter().flatten().filter(|text| text.len() > *most).map(|text| text.chars().count()).max()
            } else {
                values.as_binary_opt::<i32>().and_then(|bytes| bytes.iter().flatten().map(<[u8]>::len).max())
            };
            if let Some(length) = longest.filter(|length| length > most) {
                let (table, name) = (&self.spec.table, &self.spec.names[*column]);
                return Err(Error::input(format!(
                    "column '{name}' of table '{table}' takes {most} characters or bytes, but a row to be written has {length}: \
                     cast it, or SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD'"
                )));
            }
        }
        Ok(())
    }
}

impl Operator for ConstraintEnforcer {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        self.metrics = context.metrics;
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let batch = self.without_nulls(batch.into_columns()?)?;
        self.check_lengths(&batch)?;
        if batch.num_rows() > 0 {
            out.emit(batch);
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
