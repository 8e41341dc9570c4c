//! `window-table` over sessions: the rows of each session, when it closes. State: the rows of the open sessions, as bytes.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::{Slot, SlotColumns};

use super::properties::Properties;
use super::sessions::{Assigned, SessionValues, Sessions};
use super::table::PROPERTIES;
use crate::aggregate::{Accumulator, Bag, Rows};
use crate::records;
use crate::row_time::{restore_watermark, save_watermark};
use crate::spec::WindowTableSpec;

/// How many rows a batch of results has at most.
const MAX_BATCH_ROWS: usize = 8 * 1024;

pub(crate) struct SessionTable {
    spec: WindowTableSpec,
    output: SchemaRef,
    properties: Properties,
    sessions: Sessions<KeptRows>,
    watermark: TimestampMs,
    context: Option<OperatorContext>,
    assigned: Assigned,
    /// Rows of sessions that are closed, and not out yet.
    pending: Option<ColumnBatch>,
}

/// All columns of the rows of each session.
struct KeptRows(Bag);

impl SlotColumns for KeptRows {
    fn types(&self) -> Vec<DataType> {
        self.0.state_types()
    }

    fn grow(&mut self, bound: usize) {
        self.0.grow(bound);
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        self.0.save(slots)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        self.0.load(slots, columns)
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.0.clear(slots);
    }
}

impl SessionValues for KeptRows {
    fn merge(&mut self, from: Slot, into: Slot) -> Result<()> {
        self.0.merge(&[from], &[into])
    }
}

impl SessionTable {
    pub(crate) fn new(spec: WindowTableSpec, gap_ms: i64) -> Result<Self> {
        let types: Vec<DataType> = spec.input.fields.iter().map(|f| f.ty.to_arrow()).collect();
        let key_types: Vec<DataType> = spec.keys.iter().map(|k| types[*k].clone()).collect();
        let output = spec.output.to_arrow();
        Ok(SessionTable {
            properties: Properties::new(&PROPERTIES, output.fields().iter().map(AsRef::as_ref)),
            output,
            sessions: Sessions::new(&key_types, gap_ms, KeptRows(Bag::new(&types, None)?))?,
            watermark: MIN_WATERMARK,
            context: None,
            assigned: Assigned::default(),
            pending: None,
            spec,
        })
    }

    /// Some sessions that the watermark closes: about a batch of rows, at least one session.
    fn next_closed(&mut self) -> Vec<Slot> {
        let (mut closed, mut rows) = (Vec::new(), 0);
        while rows < MAX_BATCH_ROWS {
            let Some(slot) = self.sessions.closed(self.watermark, 1).pop() else { break };
            rows += self.sessions.values.0.count(slot);
            closed.push(slot);
        }
        closed
    }

    fn rows_of(&self, sessions: &[Slot]) -> Result<ColumnBatch> {
        let (offsets, mut columns) = self.sessions.values.0.rows(sessions)?;
        let counts = offsets.lengths().collect::<Vec<_>>();
        let windows = sessions.iter().zip(&counts).flat_map(|(s, count)| std::iter::repeat_n(self.sessions.window(*s), *count));
        columns.extend(self.properties.columns(windows)?);
        Ok(ColumnBatch::inserts(records(&self.output, columns, counts.iter().sum())?))
    }

    fn report(&mut self) {
        if let Some(context) = &self.context {
            self.sessions.report(&context.metrics);
            context.metrics.state_rows.set(self.sessions.values.0.len() as i64);
        }
    }
}

impl Operator for SessionTable {
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
        let signs: Option<Vec<i8>> =
            input.kinds().map(|kinds| kinds.values().iter().map(|k| RowKind::from_byte(*k).sign() as i8).collect());
        self.sessions.assign(&keys, input.column(self.spec.time), signs.as_deref(), self.watermark, &mut self.assigned)?;
        let Assigned { slots, rows, signs, late } = &self.assigned;
        let columns: Vec<&ArrayRef> = input.columns().iter().collect();
        self.sessions.values.0.update(&Rows { slots, rows: Some(rows), signs: Some(signs) }, &columns)?;
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
        loop {
            while let Some(rest) = self.pending.take() {
                if out.is_full() {
                    self.pending = Some(rest);
                    return Ok(Progress::More);
                }
                let count = rest.num_rows().min(MAX_BATCH_ROWS).min(out.room());
                out.emit(rest.slice(0, count));
                self.pending = Some(rest.slice(count, rest.num_rows() - count)).filter(|rest| rest.num_rows() > 0);
            }
            let closed = self.next_closed();
            if closed.is_empty() {
                self.report();
                return Ok(Progress::Done);
            }
            self.pending = Some(self.rows_of(&closed)?);
            self.sessions.remove(&closed);
        }
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let context = self.context.as_ref().ok_or_else(|| Error::bug("a snapshot of an operator that is not open"))?;
        let mut snapshot = OperatorSnapshot::new();
        self.sessions.snapshot("sessions", mode, context.subtask.key_group_count, &mut snapshot)?;
        save_watermark(self.watermark, &mut snapshot);
        Ok(snapshot)
    }
}
