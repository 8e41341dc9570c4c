//! `limit`: rows `offset .. offset + fetch` in order of arrival. Keeps the number of rows that came.

use rheos_core::batch::Batch;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{ListKind, OperatorSnapshot, SnapshotMode};

use crate::read_spec;
use crate::spec::LimitSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("limit", |spec| Ok(Box::new(Limit::new(&read_spec(spec)?))));
}

const PASSED: &str = "passed";

struct Limit {
    /// The first row that is put out, counted from 0.
    start: u64,
    /// The first row that is not put out any more.
    end: u64,
    /// How many rows came.
    passed: u64,
}

impl Limit {
    fn new(spec: &LimitSpec) -> Self {
        Limit { start: spec.offset, end: spec.fetch.map_or(u64::MAX, |fetch| spec.offset.saturating_add(fetch)), passed: 0 }
    }
}

impl Operator for Limit {
    /// Runs as one instance: the count is one item, and whoever restores it takes it.
    fn open(&mut self, _: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        if let Some(bytes) = restored.as_ref().and_then(|s| s.list(PASSED).first()) {
            let bytes = bytes.as_slice().try_into().map_err(|_| Error::corrupt(format!("a row count of {} bytes", bytes.len())))?;
            self.passed = u64::from_le_bytes(bytes);
        }
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        if let Batch::Columns(columns) = &batch
            && columns.kinds().is_some()
        {
            return Err(Error::bug("a limit over an input that takes rows back"));
        }
        let rows = batch.num_rows();
        let first = self.start.saturating_sub(self.passed).min(rows as u64) as usize;
        let last = self.end.saturating_sub(self.passed).min(rows as u64) as usize;
        self.passed += rows as u64;
        if first < last {
            out.emit(batch.slice(first, last - first));
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut snapshot = OperatorSnapshot::new();
        snapshot.put_list(PASSED, ListKind::Union, self.passed.to_le_bytes().to_vec());
        Ok(snapshot)
    }
}
