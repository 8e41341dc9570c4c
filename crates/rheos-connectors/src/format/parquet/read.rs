//! Reads a file, from any row on.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{and, filter};
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::{ColumnPath, Predicate, TableSpec};
use rheos_core::{Error, Result};

use super::leaves::{Leaf, check, mask};
use super::prune::{candidates, row_groups};
use super::ranges::Ranges;
use crate::format::Layout;
use crate::format::predicates::{holds, is_applied};

/// What comes next in a file.
#[derive(Debug)]
pub(crate) struct Next {
    /// The rows that satisfy the conditions; absent where none of those that were read does.
    pub(crate) batch: Option<ColumnBatch>,
    /// The row of the file behind them, counted from its beginning: where to go on.
    pub(crate) row: u64,
}

/// An open file.
pub(crate) struct FileReader {
    rows: ParquetRecordBatchReader,
    /// What has been read and not handed over.
    rest: Option<RecordBatch>,
    /// The rows that are to be handed over.
    left: Ranges,
    total_rows: u64,
    /// The values of the layout, then those that only conditions need.
    leaves: Vec<Leaf>,
    layout: Layout,
    /// Each with the leaf that it is about.
    predicates: Vec<(usize, Predicate)>,
    schema: SchemaRef,
}

impl FileReader {
    /// Opens a file to be read from `row` on, in batches of `batch_rows`. It gives the columns of the table's projection, and no row
    /// that a condition of the table which [`is_applied`] rejects.
    pub(crate) fn open(path: &Path, table: &TableSpec, row: u64, batch_rows: usize) -> Result<Self> {
        let file = File::open(path).map_err(opening)?;
        let index =
            if table.predicates.is_empty() && table.alternatives.is_empty() { PageIndexPolicy::Skip } else { PageIndexPolicy::Optional };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_page_index_policy(index);
        let metadata = ArrowReaderMetadata::load(&file, options).map_err(unreadable)?;

        let layout = Layout::new(table, true);
        let mut leaves: Vec<Leaf> = layout.built.iter().map(|path| Leaf::new(table, path)).collect();
        let mut predicates = Vec::new();
        for predicate in table.predicates.iter().filter(|p| is_applied(&table.schema, p)) {
            let at = leaves.iter().position(|leaf| leaf.path == predicate.path).unwrap_or_else(|| {
                let path = ColumnPath { column: predicate.path.column, fields: Vec::new() };
                leaves.push(Leaf::new(table, &path));
                leaves.len() - 1
            });
            predicates.push((at, predicate.clone()));
        }
        check(metadata.schema(), &leaves)?;

        let groups = row_groups(metadata.metadata());
        let total_rows = groups.last().map_or(0, |group| group.end);
        if row > total_rows {
            return Err(Error::input(format!("it has {total_rows} rows, but was read up to row {row} before: it has been changed")));
        }
        let left = candidates(metadata.schema(), metadata.metadata(), table, row)?;
        let (indices, groups): (Vec<usize>, Vec<_>) = groups.into_iter().enumerate().filter(|(_, rows)| left.touches(rows)).unzip();
        let projection = mask(metadata.parquet_schema(), &leaves);
        let selection = left.selection(&groups);
        let rows = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_projection(projection)
            .with_row_groups(indices)
            .with_row_selection(selection)
            .with_batch_size(batch_rows.max(1))
            .build()
            .map_err(unreadable)?;
        let schema = table.output_schema().to_arrow();
        Ok(FileReader { rows, rest: None, left, total_rows, leaves, layout, predicates, schema })
    }

    /// Reads on, at most `max_rows`; `None` at the end.
    pub(crate) fn next(&mut self, max_rows: usize) -> Result<Option<Next>> {
        let read = match self.rest.take() {
            Some(rest) => rest,
            None => match self.rows.next() {
                Some(read) => read.map_err(|e| Error::input(format!("it cannot be read: {e}")).caused_by(e))?,
                None => return Ok(None),
            },
        };
        let count = read.num_rows().min(max_rows.max(1));
        if count < read.num_rows() {
            self.rest = Some(read.slice(count, read.num_rows() - count));
        }
        let batch = self.columns(&read.slice(0, count))?;
        let row = self.left.take(count as u64).unwrap_or(self.total_rows);
        Ok(Some(Next { batch, row }))
    }

    /// The rows that satisfy all conditions, as the projection wants them.
    fn columns(&self, read: &RecordBatch) -> Result<Option<ColumnBatch>> {
        let mut values = self.leaves.iter().map(|leaf| leaf.values(read)).collect::<Result<Vec<_>>>()?;
        let mut mask: Option<BooleanArray> = None;
        for (leaf, predicate) in &self.predicates {
            let holds = holds(&values[*leaf], predicate)?;
            mask = Some(mask.map_or(Ok(holds.clone()), |mask| and(&mask, &holds))?);
        }
        values.truncate(self.layout.built.len());
        let rows = mask.as_ref().map_or(read.num_rows(), BooleanArray::true_count);
        if rows == 0 {
            return Ok(None);
        }
        if let Some(mask) = mask.filter(|_| rows < read.num_rows()) {
            values = values.iter().map(|column| filter(column, &mask)).collect::<Result<_, _>>()?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let records = RecordBatch::try_new_with_options(Arc::clone(&self.schema), self.layout.project(&values)?, &options)?;
        Ok(Some(ColumnBatch::inserts(records)))
    }
}

/// How many rows a file has.
pub(crate) fn rows_of(path: &Path) -> Result<u64> {
    let file = File::open(path).map_err(opening)?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new().with_skip_arrow_metadata(true)).map_err(unreadable)?;
    Ok(row_groups(metadata.metadata()).last().map_or(0, |group| group.end))
}

fn opening(e: std::io::Error) -> Error {
    let message = format!("it cannot be opened: {e}");
    match e.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => Error::config(message),
        _ => Error::restart(message),
    }
    .caused_by(e)
}

fn unreadable(e: ParquetError) -> Error {
    Error::input(format!("it is no Parquet file that can be read: {e}")).caused_by(e)
}
