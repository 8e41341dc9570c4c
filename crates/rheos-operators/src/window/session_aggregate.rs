//! `window-aggregate` over sessions. State: the open sessions of each key, with their accumulators.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::Slot;

use super::properties::Properties;
use super::sessions::{Assigned, SessionValues, Sessions};
use crate::aggregate::{Grouped, Rows};
use crate::records;
use crate::row_time::{restore_watermark, save_watermark};
use crate::spec::WindowAggregateSpec;

/// How many rows a batch of results has at most.
const MAX_BATCH_ROWS: usize = 8 * 1024;

pub(crate) struct SessionAggregate {
    spec: WindowAggregateSpec,
    time: usize,
    output: SchemaRef,
    properties: Properties,
    sessions: Sessions<Grouped>,
    watermark: TimestampMs,
    context: Option<OperatorContext>,
    assigned: Assigned,
}

impl SessionValues for Grouped {
    fn merge(&mut self, from: Slot, into: Slot) -> Result<()> {
        Grouped::merge(self, &[from], &[into])
    }
}

impl SessionAggregate {
    pub(crate) fn new(spec: WindowAggregateSpec, time: usize, gap_ms: i64) -> Result<Self> {
        let key_types: Vec<DataType> = spec.keys.iter().map(|k| spec.input.fields[*k].ty.to_arrow()).collect();
        let output = spec.output.to_arrow();
        Ok(SessionAggregate {
            time,
            properties: Properties::new(&spec.properties, output.fields().iter().map(AsRef::as_ref)),
            output,
            sessions: Sessions::new(&key_types, gap_ms, Grouped::new(&spec.aggregates, spec.input_retracts)?)?,
            watermark: MIN_WATERMARK,
            context: None,
            assigned: Assigned::default(),
            spec,
        })
    }

    fn report(&mut self) {
        if let Some(context) = &self.context {
            self.sessions.report(&context.metrics);
            context.metrics.state_rows.set(self.sessions.len() as i64);
        }
    }

    fn results(&self, sessions: &[Slot]) -> Result<ColumnBatch> {
        let mut columns = self.sessions.keys(sessions)?;
        columns.extend(self.sessions.values.aggregates.evaluate(sessions)?);
        columns.extend(self.properties.columns(sessions.iter().map(|s| self.sessions.window(*s)))?);
        Ok(ColumnBatch::inserts(records(&self.output, columns, sessions.len())?))
    }
}

impl Operator for SessionAggregate {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        if let Some(snapshot) = restored {
            self.watermark = restore_watermark(&snapshot)?;
            self.sessions.restore("sessions", &snapshot)?;
        }
        self.context = Some(context);
        self.report();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let input = batch.into_columns()?;
        let keys: Vec<&ArrayRef> = self.spec.keys.iter().map(|k| input.column(*k)).collect();
        let kinds = input.kinds().filter(|_| self.spec.input_retracts);
        let signs: Option<Vec<i8>> = kinds.map(|kinds| kinds.values().iter().map(|k| RowKind::from_byte(*k).sign() as i8).collect());
        self.sessions.assign(&keys, input.column(self.time), signs.as_deref(), self.watermark, &mut self.assigned)?;
        let Assigned { slots, rows, signs: kept_signs, late } = &self.assigned;
        let rows = Rows { slots, rows: (*late > 0).then_some(rows), signs: signs.map(|_| kept_signs.as_slice()) };
        self.sessions.values.update(&rows, input.columns())?;
        if let Some(context) = &self.context {
            context.metrics.late_rows.add(*late);
        }
        self.report();
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let mut progress = Progress::More;
        while !out.is_full() {
            let closed = self.sessions.closed(self.watermark, MAX_BATCH_ROWS.min(out.room()));
            if closed.is_empty() {
                progress = Progress::Done;
                break;
            }
            let with_rows: Vec<Slot> = closed.iter().copied().filter(|s| self.sessions.values.has_rows(*s)).collect();
            out.emit(self.results(&with_rows)?);
            self.sessions.remove(&closed);
        }
        self.report();
        Ok(progress)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let context = self.context.as_ref().ok_or_else(|| Error::bug("a snapshot of an operator that is not open"))?;
        let mut snapshot = OperatorSnapshot::new();
        self.sessions.snapshot("sessions", mode, context.subtask.key_group_count, &mut snapshot)?;
        save_watermark(self.watermark, &mut snapshot);
        Ok(snapshot)
    }
}
