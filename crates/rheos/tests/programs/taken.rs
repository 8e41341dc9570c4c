//! The connector that keeps what sinks get.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rheos::{ChangelogMode, Result, RowKind};
use rheos_core::Batch;
use rheos_core::connector::TableSpec;
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};

use super::line::value;

/// A change that a sink got: what it does, and its values as Flink's tests print them.
pub(crate) type Line = (RowKind, Vec<String>);

/// What one sink got.
#[derive(Debug, Clone, Default)]
pub(crate) struct Got {
    /// The columns of its primary key.
    pub(crate) key: Vec<usize>,
    /// The changes, those of one subtask in order.
    pub(crate) lines: Vec<Line>,
}

/// What all sinks of a program got, by their names.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<BTreeMap<String, Got>>>);

impl Taken {
    /// What they have got by now.
    pub(crate) fn so_far(&self) -> BTreeMap<String, Got> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl SinkFactory for Taken {
    fn takes_partitions(&self) -> bool {
        // Where its rows lie is nothing to it.
        true
    }

    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(table.name.clone()).or_default().key.clone_from(&table.primary_key);
        Ok(SinkDescription { accepts: if table.primary_key.is_empty() { ChangelogMode::Retract } else { ChangelogMode::Upsert } })
    }

    fn writer(&self, table: &TableSpec, _: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Writer { taken: self.clone(), table: table.clone() }))
    }
}

struct Writer {
    taken: Taken,
    table: TableSpec,
}

impl Sink for Writer {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        let mut lines = Vec::new();
        for row in 0..batch.num_rows() {
            let fields = self.table.schema.fields.iter().zip(batch.columns());
            lines.push((batch.kind(row), fields.map(|(f, column)| value(column.as_ref(), row, &f.ty)).collect::<Result<_>>()?));
        }
        let mut all = self.taken.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(self.table.name.clone()).or_default().lines.extend(lines);
        Ok(())
    }

    fn prepare(&mut self, _: Epoch) -> Result<Vec<CommitToken>> {
        Ok(vec![])
    }
}
