//! Rows in bulk: columns with optional row kinds, or typed rows of a program.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt8Array, UInt32Array};
use arrow::compute;
use arrow::datatypes::SchemaRef;

use crate::changelog::RowKind;
use crate::error::{Error, Result};
use crate::rows::RowBatch;

/// What flows on an edge. An edge carries one of the two forms; the runtime looks into neither.
#[derive(Debug, Clone)]
pub enum Batch {
    /// Columns, as SQL has them.
    Columns(ColumnBatch),
    /// Rows of a Rust type, as programs have them.
    Rows(RowBatch),
}

impl Batch {
    /// How many rows it has.
    pub fn num_rows(&self) -> usize {
        match self {
            Batch::Columns(b) => b.num_rows(),
            Batch::Rows(b) => b.len(),
        }
    }

    /// The memory that it keeps alive, in bytes: whole buffers, also where a slice uses a part of them.
    pub fn retained_bytes(&self) -> usize {
        match self {
            Batch::Columns(b) => b.retained_bytes(),
            Batch::Rows(b) => b.retained_bytes(),
        }
    }

    /// Splits the rows over `parts` outputs: row `i` goes to `targets[i]`. Order is kept within each part.
    pub fn split(self, targets: &[u32], parts: usize) -> Result<Vec<Option<Batch>>> {
        match self {
            Batch::Columns(b) => Ok(b.split(targets, parts)?.into_iter().map(|b| b.map(Batch::Columns)).collect()),
            Batch::Rows(b) => Ok(b.split(targets, parts).into_iter().map(|b| b.map(Batch::Rows)).collect()),
        }
    }

    /// One batch of all rows of `batches`, in order. They are of one edge, so of one form and schema; there is at least one.
    pub fn concat(mut batches: Vec<Batch>) -> Result<Batch> {
        if batches.len() == 1 {
            return batches.pop().ok_or_else(|| Error::bug("no batch to join"));
        }
        match batches.first() {
            None => Err(Error::bug("no batches to join")),
            Some(Batch::Columns(first)) => {
                let schema = first.schema();
                let batches: Vec<ColumnBatch> = batches.into_iter().map(Batch::into_columns).collect::<Result<_>>()?;
                Ok(Batch::Columns(ColumnBatch::concat(&schema, &batches)?))
            }
            Some(Batch::Rows(_)) => {
                let batches: Vec<RowBatch> = batches.into_iter().map(Batch::into_rows).collect::<Result<_>>()?;
                Ok(Batch::Rows(RowBatch::concat(batches)?))
            }
        }
    }

    /// Rows `offset .. offset + length`, without copying columns.
    pub fn slice(&self, offset: usize, length: usize) -> Batch {
        match self {
            Batch::Columns(b) => Batch::Columns(b.slice(offset, length)),
            Batch::Rows(b) => Batch::Rows(b.slice(offset, length)),
        }
    }

    /// The columns, where an operator of the SQL layer requires them.
    pub fn into_columns(self) -> Result<ColumnBatch> {
        match self {
            Batch::Columns(b) => Ok(b),
            Batch::Rows(b) => Err(Error::bug(format!("columns expected, got typed rows of {}", b.type_name()))),
        }
    }

    /// The typed rows, where an operator of a program requires them.
    pub fn into_rows(self) -> Result<RowBatch> {
        match self {
            Batch::Rows(b) => Ok(b),
            Batch::Columns(_) => Err(Error::bug("typed rows expected, got columns")),
        }
    }
}

impl From<ColumnBatch> for Batch {
    fn from(b: ColumnBatch) -> Self {
        Batch::Columns(b)
    }
}

impl From<RowBatch> for Batch {
    fn from(b: RowBatch) -> Self {
        Batch::Rows(b)
    }
}

/// Columns of equal length, and for each row what it does to the table. No kinds at all means all inserts.
#[derive(Debug, Clone)]
pub struct ColumnBatch {
    records: RecordBatch,
    /// One byte a row, [`RowKind`]'s value; never has NULLs.
    kinds: Option<UInt8Array>,
}

impl ColumnBatch {
    /// A batch of inserts.
    pub fn inserts(records: RecordBatch) -> Self {
        ColumnBatch { records, kinds: None }
    }

    /// A batch of changes; `kinds` has one byte for each row. Kinds that are all inserts are dropped.
    pub fn changes(records: RecordBatch, kinds: UInt8Array) -> Result<Self> {
        if kinds.len() != records.num_rows() || kinds.null_count() > 0 {
            return Err(Error::bug(format!("{} kinds for {} rows", kinds.len(), records.num_rows())));
        }
        let kinds = if kinds.values().iter().all(|k| *k == RowKind::Insert as u8) { None } else { Some(kinds) };
        Ok(ColumnBatch { records, kinds })
    }

    /// A batch of `columns` with the kinds of `self`: what a projection makes.
    pub fn with_columns(&self, schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<Self> {
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(self.num_rows()));
        Ok(ColumnBatch { records: RecordBatch::try_new_with_options(schema, columns, &options)?, kinds: self.kinds.clone() })
    }

    /// The rows, without their kinds.
    pub fn records(&self) -> &RecordBatch {
        &self.records
    }

    /// The rows and the kinds, apart.
    pub fn into_parts(self) -> (RecordBatch, Option<UInt8Array>) {
        (self.records, self.kinds)
    }

    /// The Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        self.records.schema()
    }

    /// One column.
    pub fn column(&self, index: usize) -> &ArrayRef {
        self.records.column(index)
    }

    /// All columns.
    pub fn columns(&self) -> &[ArrayRef] {
        self.records.columns()
    }

    /// How many rows it has.
    pub fn num_rows(&self) -> usize {
        self.records.num_rows()
    }

    /// The bytes of the kinds; `None` means all inserts.
    pub fn kinds(&self) -> Option<&UInt8Array> {
        self.kinds.as_ref()
    }

    /// What row `i` does.
    pub fn kind(&self, i: usize) -> RowKind {
        self.kinds.as_ref().map_or(RowKind::Insert, |k| RowKind::from_byte(k.value(i)))
    }

    /// The memory that it keeps alive, in bytes.
    pub fn retained_bytes(&self) -> usize {
        let kinds = self.kinds.as_ref().map_or(0, |k| k.get_buffer_memory_size());
        self.records.columns().iter().map(|c| c.get_buffer_memory_size()).sum::<usize>() + kinds
    }

    /// The rows where `mask` is true (NULL counts as false).
    pub fn filter(&self, mask: &BooleanArray) -> Result<Self> {
        let predicate = compute::FilterBuilder::new(mask).optimize().build();
        let records = predicate.filter_record_batch(&self.records)?;
        let kinds = match &self.kinds {
            Some(k) => Some(as_kinds(predicate.filter(k)?)?),
            None => None,
        };
        Ok(ColumnBatch { records, kinds })
    }

    /// The rows at `indices`, in that order.
    pub fn take(&self, indices: &UInt32Array) -> Result<Self> {
        let records = compute::take_record_batch(&self.records, indices)?;
        let kinds = match &self.kinds {
            Some(k) => Some(as_kinds(compute::take(k, indices, None)?)?),
            None => None,
        };
        Ok(ColumnBatch { records, kinds })
    }

    /// Rows `offset .. offset + length`, without copying.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        ColumnBatch { records: self.records.slice(offset, length), kinds: self.kinds.as_ref().map(|k| k.slice(offset, length)) }
    }

    /// One batch of all rows of `batches`, in order; their schemas must be equal.
    pub fn concat(schema: &SchemaRef, batches: &[ColumnBatch]) -> Result<Self> {
        if let [only] = batches {
            return Ok(only.clone());
        }
        let records = compute::concat_batches(schema, batches.iter().map(|b| &b.records))?;
        let kinds = if batches.iter().any(|b| b.kinds.is_some()) {
            let bytes = batches.iter().flat_map(|b| (0..b.num_rows()).map(|i| b.kind(i) as u8)).collect::<Vec<_>>();
            Some(UInt8Array::from(bytes))
        } else {
            None
        };
        Ok(ColumnBatch { records, kinds })
    }

    fn split(&self, targets: &[u32], parts: usize) -> Result<Vec<Option<ColumnBatch>>> {
        let mut counts = vec![0usize; parts];
        for t in targets {
            counts[*t as usize] += 1;
        }
        if let Some(all) = counts.iter().position(|c| *c == self.num_rows()) {
            let mut split = vec![None; parts];
            split[all] = Some(self.clone());
            return Ok(split);
        }
        let mut indices: Vec<Vec<u32>> = counts.iter().map(|c| Vec::with_capacity(*c)).collect();
        for (row, t) in targets.iter().enumerate() {
            indices[*t as usize].push(row as u32);
        }
        indices.into_iter().map(|rows| if rows.is_empty() { Ok(None) } else { self.take(&UInt32Array::from(rows)).map(Some) }).collect()
    }
}

fn as_kinds(array: ArrayRef) -> Result<UInt8Array> {
    array.as_any().downcast_ref::<UInt8Array>().cloned().ok_or_else(|| Error::bug("row kinds are not bytes"))
}

/// Collects rows of kinds for an output batch: rows of the same input column set by index, with a kind each.
#[derive(Debug, Default)]
pub struct KindsBuilder {
    bytes: Vec<u8>,
    changed: bool,
}

impl KindsBuilder {
    /// Adds the kind of the next row.
    pub fn push(&mut self, kind: RowKind) {
        self.changed |= kind != RowKind::Insert;
        self.bytes.push(kind as u8);
    }

    /// How many rows were added.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The kinds so far with `records`, whose rows they are; starts anew.
    pub fn finish(&mut self, records: RecordBatch) -> Result<ColumnBatch> {
        let bytes = std::mem::take(&mut self.bytes);
        if std::mem::take(&mut self.changed) {
            ColumnBatch::changes(records, UInt8Array::from(bytes))
        } else {
            Ok(ColumnBatch::inserts(records))
        }
    }
}

/// An empty batch of a schema.
pub fn empty(schema: &SchemaRef) -> ColumnBatch {
    ColumnBatch::inserts(RecordBatch::new_empty(Arc::clone(schema)))
}
