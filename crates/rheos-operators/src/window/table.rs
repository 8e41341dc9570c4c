//! `window-table` over aligned windows: each row once for each of its windows, at once. Stateless; kinds are kept.

use arrow::array::UInt32Array;
use arrow::datatypes::SchemaRef;

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::{Operator, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::MIN_WATERMARK;

use super::placement::null_time;
use super::properties::Properties;
use super::slicing::{Slicing, Window, WindowEnds};
use crate::row_time::RowTimes;
use crate::spec::{WindowProperty, WindowTableSpec};

/// How many rows a batch of results has at most.
const MAX_BATCH_ROWS: usize = 8 * 1024;

pub(crate) struct WindowTable {
    spec: WindowTableSpec,
    slicing: Slicing,
    output: SchemaRef,
    properties: Properties,
    /// A batch of which not all rows are out.
    pending: Option<Pending>,
}

struct Pending {
    input: ColumnBatch,
    /// The row that is next, and the windows that it still needs where it has had some.
    row: usize,
    windows: Option<WindowEnds>,
}

/// The three columns that a window table function adds.
pub(super) const PROPERTIES: [WindowProperty; 3] = [WindowProperty::Start, WindowProperty::End, WindowProperty::Time];

impl WindowTable {
    pub(crate) fn new(spec: WindowTableSpec) -> Result<Self> {
        let output = spec.output.to_arrow();
        Ok(WindowTable {
            slicing: Slicing::new(&spec.window)?,
            properties: Properties::new(&PROPERTIES, output.fields().iter().map(AsRef::as_ref)),
            output,
            pending: None,
            spec,
        })
    }

    /// Puts out at most `limit` rows; returns what is left.
    fn put_out(&self, mut pending: Pending, limit: usize, out: &mut Collector) -> Result<Option<Pending>> {
        let times = RowTimes::of(pending.input.column(self.spec.time))?;
        let (mut rows, mut windows): (Vec<u32>, Vec<Window>) = (Vec::new(), Vec::new());
        while pending.row < pending.input.num_rows() && rows.len() < limit {
            let time = times.get_ms(pending.row).ok_or_else(null_time)?;
            let mut ends = pending.windows.take().unwrap_or_else(|| self.slicing.windows_of(self.slicing.slice_of(time).end));
            while let Some(end) = ends.first_open(MIN_WATERMARK).filter(|_| rows.len() < limit) {
                rows.push(pending.row as u32);
                windows.push(self.slicing.window(end));
                ends.first = end.saturating_add(ends.step_ms);
            }
            if ends.first <= ends.last {
                pending.windows = Some(ends);
            } else {
                pending.row += 1;
            }
        }
        let each_once = rows.len() == pending.input.num_rows() && rows.iter().enumerate().all(|(i, row)| i == *row as usize);
        let batch = if each_once { pending.input.clone() } else { pending.input.take(&UInt32Array::from(rows))? };
        let mut columns = batch.columns().to_vec();
        columns.extend(self.properties.columns(windows.iter().copied())?);
        out.emit(batch.with_columns(self.output.clone(), columns)?);
        Ok((pending.row < pending.input.num_rows()).then_some(pending))
    }
}

impl Operator for WindowTable {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.pending = Some(Pending { input: batch.into_columns()?, row: 0, windows: None });
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        while let Some(pending) = self.pending.take() {
            if out.is_full() {
                self.pending = Some(pending);
                return Ok(Progress::More);
            }
            let limit = out.room().min(MAX_BATCH_ROWS);
            self.pending = self.put_out(pending, limit, out)?;
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
