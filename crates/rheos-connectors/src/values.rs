//! A source of exactly one row without columns: what a SELECT without FROM reads.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use futures_util::future::BoxFuture;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use rheos_core::{Batch, Error, Result};

/// The connector. Its name is for the planner, not for people.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "values",
        doc: "internal: one row without columns",
        options: vec![],
        takes_format: false,
        source: Some(Arc::new(OneRow)),
        sink: None,
    }
}

#[derive(Debug)]
struct OneRow;

impl SourceFactory for OneRow {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        if !table.schema.is_empty() {
            return Err(Error::config(format!("table '{}': the connector 'values' has no columns", table.name)));
        }
        let predicates_applied = vec![false; table.predicates.len()];
        Ok(SourceDescription { changelog: ChangelogMode::InsertOnly, bounded: true, predicates_applied })
    }

    fn splits(&self, _table: &TableSpec, _parallelism: usize) -> Result<Vec<Split>> {
        Ok(vec![Split { id: "row".into(), position: false.into() }])
    }

    fn reader(&self, _table: &TableSpec, splits: Vec<Split>, _context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(OneRowReader { splits, current: 0 }))
    }
}

/// The position of a split is whether its row was given.
struct OneRowReader {
    splits: Vec<Split>,
    current: usize,
}

impl OneRowReader {
    fn read(&mut self) -> Result<SourceEvent> {
        let split = self.current;
        let Some(current) = self.splits.get_mut(split) else { return Ok(SourceEvent::End) };
        if current.position == true {
            self.current += 1;
            return Ok(SourceEvent::SplitEnd { split });
        }
        current.position = true.into();
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::new(arrow::datatypes::Schema::empty()), vec![], &options)?;
        Ok(SourceEvent::Rows { split, batch: Batch::Columns(ColumnBatch::inserts(row)) })
    }
}

impl SourceReader for OneRowReader {
    fn next(&mut self, _max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        Box::pin(async move { self.read() })
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(self.splits.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{context, next, table};

    #[test]
    fn there_is_one_row_and_no_second_after_a_restart() {
        let t = table(&[], &[]);
        let mut reader = OneRow.reader(&t, OneRow.splits(&t, 4).unwrap(), &context(0, 1)).unwrap();
        let SourceEvent::Rows { batch, .. } = next(reader.as_mut(), 10).unwrap() else { panic!("a row is wanted") };
        assert_eq!(batch.num_rows(), 1);
        let mut again = OneRow.reader(&t, reader.positions().unwrap(), &context(0, 1)).unwrap();
        for reader in [&mut reader, &mut again] {
            assert!(matches!(next(reader.as_mut(), 10).unwrap(), SourceEvent::SplitEnd { split: 0 }));
            assert!(matches!(next(reader.as_mut(), 10).unwrap(), SourceEvent::End));
        }
    }
}
