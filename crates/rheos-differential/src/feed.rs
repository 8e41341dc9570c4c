//! The connector by which Rheos reads a case's tables.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt8Array};
use rheos::{ChangelogMode, ColumnBatch, ConnectorInfo, Error, Result, RowKind};
use rheos_core::connector::{OptionInfo, TableSpec};
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};

use crate::table::{Mode, Table};
use crate::value::{Value, array};

/// The connector `feed` over some tables.
pub(crate) fn connector(tables: &[Table]) -> ConnectorInfo {
    let tables = tables.iter().map(|table| (table.name.clone(), table.clone())).collect();
    ConnectorInfo {
        name: "feed",
        doc: "the tables of a random query",
        options: vec![OptionInfo::required("mode", "how changes are said")],
        takes_format: false,
        source: Some(Arc::new(Feed { tables })),
        sink: None,
    }
}

struct Feed {
    tables: BTreeMap<String, Table>,
}

impl Feed {
    fn table(&self, spec: &TableSpec) -> Result<&Table> {
        self.tables.get(&spec.name).ok_or_else(|| Error::config(format!("there is no table '{}'", spec.name)))
    }
}

impl SourceFactory for Feed {
    fn describe(&self, spec: &TableSpec) -> Result<SourceDescription> {
        let changelog = match self.table(spec)?.mode {
            Mode::Inserts => ChangelogMode::InsertOnly,
            Mode::Retractions => ChangelogMode::Retract,
            Mode::Upserts => ChangelogMode::Upsert,
        };
        Ok(SourceDescription { changelog, bounded: true, predicates_applied: vec![false; spec.predicates.len()] })
    }

    fn splits(&self, spec: &TableSpec, _: usize) -> Result<Vec<Split>> {
        let count = if self.table(spec)?.mode == Mode::Inserts { 2 } else { 1 };
        Ok((0..count).map(|i| Split { id: i.to_string(), position: count.into() }).collect())
    }

    fn reader(&self, spec: &TableSpec, splits: Vec<Split>, _: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        let table = self.table(spec)?;
        let mut batches = Vec::new();
        for (number, split) in splits.iter().enumerate() {
            // Of several splits each has every so manieth row.
            let count = split.position.as_u64().unwrap_or(1) as usize;
            let own: usize = split.id.parse().unwrap_or(0);
            let changes: Vec<_> = table.changes().into_iter().skip(own).step_by(count).collect();
            for changes in changes.chunks(table.batch_rows.max(1)) {
                batches.push((number, batch(spec, changes)?));
            }
        }
        batches.reverse();
        Ok(Box::new(Reader { splits, batches }))
    }
}

fn batch(spec: &TableSpec, changes: &[(RowKind, &Vec<Value>)]) -> Result<ColumnBatch> {
    let schema = spec.output_schema().to_arrow();
    let whole = || (0..spec.schema.len()).collect::<Vec<_>>();
    let columns = spec.projection.as_ref().map_or_else(whole, |paths| paths.iter().map(|path| path.column).collect());
    let array_of = |(field, column): (&usize, &usize)| {
        let values = changes.iter().map(|(_, row)| &row[*column]);
        array(schema.field(*field).data_type(), values).map_err(|e| Error::bug(e.to_string()))
    };
    let fields: Vec<usize> = (0..columns.len()).collect();
    let arrays = fields.iter().zip(&columns).map(array_of).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(changes.len()));
    let records = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?;
    if changes.iter().all(|(kind, _)| *kind == RowKind::Insert) {
        return Ok(ColumnBatch::inserts(records));
    }
    ColumnBatch::changes(records, UInt8Array::from_iter_values(changes.iter().map(|(kind, _)| *kind as u8)))
}

struct Reader {
    splits: Vec<Split>,
    /// With the number of the split, the next one last.
    batches: Vec<(usize, ColumnBatch)>,
}

impl SourceReader for Reader {
    fn next(&mut self, _: usize) -> Pin<Box<dyn Future<Output = Result<SourceEvent>> + Send + '_>> {
        let event = match self.batches.pop() {
            Some((split, batch)) => SourceEvent::Rows { split, batch: batch.into() },
            None => SourceEvent::End,
        };
        Box::pin(std::future::ready(Ok(event)))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(self.splits.clone())
    }
}
