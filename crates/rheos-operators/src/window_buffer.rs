//! Rows of open windows, as they came.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt8Array, UInt32Array};
use arrow::datatypes::{DataType, SchemaRef, UInt8Type};
use rheos_core::batch::ColumnBatch;
use rheos_core::error::Result;
use rheos_core::key_group::hash_columns;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::snapshot::{OperatorSnapshot, Segment};
use rheos_core::time::TimestampMs;
use rheos_state::snapshot;

use crate::row_store::{RowIndex, RowStore};
use crate::row_time::RowTimes;

/// Batches below this many rows are merged.
const SMALL_BATCH_ROWS: usize = 4096;

/// The batches of each open window, by the window's end, which is a column of the rows.
pub(crate) struct WindowBuffer {
    schema: SchemaRef,
    window_end: usize,
    windows: BTreeMap<TimestampMs, Vec<ColumnBatch>>,
    rows: usize,
}

impl WindowBuffer {
    /// An empty buffer of rows of a schema.
    pub(crate) fn new(schema: SchemaRef, window_end: usize) -> Self {
        WindowBuffer { schema, window_end, windows: BTreeMap::new(), rows: 0 }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The ends of the open windows, ascending.
    pub(crate) fn ends(&self) -> impl Iterator<Item = TimestampMs> {
        self.windows.keys().copied()
    }

    /// Keeps the rows whose window is still open at `watermark`; the others are counted as late.
    pub(crate) fn add(&mut self, batch: &ColumnBatch, watermark: TimestampMs, metrics: &OperatorMetrics) -> Result<()> {
        let ends = RowTimes::of(batch.column(self.window_end))?;
        let mut by_end: BTreeMap<TimestampMs, Vec<u32>> = BTreeMap::new();
        let mut late = 0;
        for row in 0..batch.num_rows() {
            match ends.get_ms(row).filter(|end| end.saturating_sub(1) > watermark) {
                Some(end) => by_end.entry(end).or_default().push(row as u32),
                None => late += 1,
            }
        }
        metrics.late_rows.add(late);
        for (end, rows) in by_end {
            let part = if rows.len() == batch.num_rows() { batch.clone() } else { batch.take(&UInt32Array::from(rows))? };
            self.rows += part.num_rows();
            let batches = self.windows.entry(end).or_default();
            batches.push(part);
            merge_small(&self.schema, batches)?;
        }
        Ok(())
    }

    /// Takes out the window that ends at `end`: its rows, what was taken back left out. No batch is empty.
    pub(crate) fn close(&mut self, end: TimestampMs) -> Result<Vec<RecordBatch>> {
        let batches = self.windows.remove(&end).unwrap_or_default();
        self.rows -= batches.iter().map(ColumnBatch::num_rows).sum::<usize>();
        if batches.iter().all(|b| b.kinds().is_none()) {
            return Ok(batches.into_iter().map(|b| b.into_parts().0).collect());
        }
        net(&self.schema, &batches)
    }

    /// Writes all rows under `name`, by the key group of the columns `keys`.
    pub(crate) fn snapshot(&self, name: &str, keys: &[usize], key_group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let all: Vec<ColumnBatch> = self.windows.values().flatten().cloned().collect();
        if all.is_empty() {
            return Ok(());
        }
        let all = ColumnBatch::concat(&self.schema, &all)?;
        let key_columns: Vec<ArrayRef> = keys.iter().map(|k| all.column(*k).clone()).collect();
        let groups = snapshot::key_groups(&key_columns, all.num_rows(), key_group_count)?;
        let mut columns = all.columns().to_vec();
        columns.push(Arc::new(all.kinds().cloned().unwrap_or_else(|| UInt8Array::from(vec![0; all.num_rows()]))));
        into.put_keyed(name, Segment::base(groups, columns)?);
        Ok(())
    }

    /// Takes in what [`WindowBuffer::snapshot`] wrote.
    pub(crate) fn restore(&mut self, name: &str, from: &OperatorSnapshot, metrics: &OperatorMetrics) -> Result<()> {
        let mut types: Vec<DataType> = self.schema.fields().iter().map(|f| f.data_type().clone()).collect();
        types.push(DataType::UInt8);
        for batch in from.rows(name, &types)? {
            let (columns, kinds) = batch.columns().split_at(types.len() - 1);
            let records = RecordBatch::try_new(self.schema.clone(), columns.to_vec())?;
            let batch = ColumnBatch::changes(records, kinds[0].as_primitive::<UInt8Type>().clone())?;
            self.add(&batch, TimestampMs::MIN, metrics)?;
        }
        Ok(())
    }
}

/// Merges the last batches while they are small, in sizes that double.
fn merge_small(schema: &SchemaRef, batches: &mut Vec<ColumnBatch>) -> Result<()> {
    while let [.., a, b] = batches.as_slice()
        && a.num_rows() < SMALL_BATCH_ROWS
        && a.num_rows() < 2 * b.num_rows()
    {
        let merged = ColumnBatch::concat(schema, &[a.clone(), b.clone()])?;
        batches.truncate(batches.len() - 2);
        batches.push(merged);
    }
    Ok(())
}

/// The rows that remain of a changelog, in order of arrival.
fn net(schema: &SchemaRef, batches: &[ColumnBatch]) -> Result<Vec<RecordBatch>> {
    let mut store = RowStore::new(schema.fields().iter().map(|f| f.data_type().clone()).collect());
    let (mut index, mut all, mut hashes) = (RowIndex::default(), Vec::new(), Vec::new());
    let mut gone = Vec::new();
    for batch in batches {
        let columns = batch.columns();
        hash_columns(&columns.iter().collect::<Vec<_>>(), batch.num_rows(), &mut hashes)?;
        let first = all.len();
        store.append(columns, batch.num_rows(), &mut all)?;
        gone.resize(store.slot_bound(), false);
        for (row, slot) in all[first..].iter().enumerate() {
            let is_equal = |other| store.equals(other, columns, row);
            if batch.kind(row).is_addition() {
                index.add(hashes[row], *slot, is_equal);
            } else {
                gone[*slot as usize] = true;
                if let Some(removed) = index.remove(hashes[row], is_equal) {
                    gone[removed as usize] = true;
                }
            }
        }
    }
    all.retain(|slot| !gone[*slot as usize]);
    if all.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![crate::records(schema, store.gather_all(&all)?, all.len())?])
}
