//! Rows under construction: the columns that a projection needs, with a kind for each row.

use arrow::array::{RecordBatch, RecordBatchOptions, UInt8Array};
use arrow::datatypes::SchemaRef;
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::connector::TableSpec;

use super::column::Column;
use super::layout::Layout;

/// Complete rows, and at most one that has been begun.
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    layout: Layout,
    /// One for each built value of the layout.
    pub(crate) columns: Vec<Column>,
    kinds: Vec<u8>,
    changed: bool,
}

impl Rows {
    pub(crate) fn new(table: &TableSpec, layout: Layout) -> Self {
        let columns = layout.built.iter().map(|path| Column::new(&table.path_field(path).ty)).collect();
        Rows { schema: table.output_schema().to_arrow(), layout, columns, kinds: Vec::new(), changed: false }
    }

    /// How many rows are complete.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Completes the row that was begun; what it has no value for is NULL.
    pub(crate) fn complete(&mut self, kind: RowKind) {
        let rows = self.len();
        self.columns.iter_mut().filter(|c| c.len() == rows).for_each(Column::push_null);
        self.kinds.push(kind as u8);
        self.changed |= kind != RowKind::Insert;
    }

    /// Drops all rows from `rows` on, and the one that was begun.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.kinds.truncate(rows);
        self.columns.iter_mut().for_each(|c| c.truncate(rows));
    }

    /// The complete rows, where there are any; starts anew.
    pub(crate) fn finish(&mut self) -> Result<Option<ColumnBatch>> {
        let rows = self.len();
        self.truncate(rows);
        if rows == 0 {
            return Ok(None);
        }
        let built = self.columns.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let records = RecordBatch::try_new_with_options(self.schema.clone(), self.layout.project(&built)?, &options)?;
        let kinds = std::mem::take(&mut self.kinds);
        Ok(Some(if std::mem::take(&mut self.changed) {
            ColumnBatch::changes(records, UInt8Array::from(kinds))?
        } else {
            ColumnBatch::inserts(records)
        }))
    }
}
