//! `window-aggregate` over aligned windows, and over windows that rows carry.
//!
//! State: accumulators by slice and key, the slice (or the window that a row carries) being the namespace of the key. A
//! batch is placed into slices, late rows are left out, and the accumulators take it in at once, whatever the number of
//! slices. How a window is put together from its slices is told in `close`.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyedTable, Slot};

use super::close::Closing;
use super::open_windows::OpenWindows;
use super::placement::Placement;
use super::properties::Properties;
use super::slicing::{Slicing, Window};
use crate::aggregate::{Grouped, Rows};
use crate::row_time::{restore_watermark, save_watermark};
use crate::spec::{WindowAggregateSpec, Windowing};

/// The input that takes states of a first phase: the keys, then what says the window, then the states.
const STATES: usize = 1;

pub(crate) struct WindowAggregate {
    pub(super) spec: WindowAggregateSpec,
    pub(super) slicing: Option<Slicing>,
    pub(super) output: SchemaRef,
    pub(super) properties: Properties,
    /// Keys are the namespace (the slice's end; or the window's end and start), then the key columns.
    pub(super) groups: KeyedTable<Grouped>,
    pub(super) open: OpenWindows,
    pub(super) watermark: TimestampMs,
    /// The window that is being put out.
    pub(super) closing: Option<Closing>,
    context: Option<OperatorContext>,
    placement: Placement,
    slots: Vec<Slot>,
    new_rows: Vec<u32>,
    signs: Vec<i8>,
}

impl WindowAggregate {
    pub(crate) fn new(spec: WindowAggregateSpec) -> Result<Self> {
        let slicing = match &spec.windowing {
            Windowing::Time { window, .. } => Some(Slicing::new(window)?),
            Windowing::Attached { .. } => None,
        };
        let namespace = if slicing.is_some() { 1 } else { 2 };
        let mut key_types = vec![DataType::Int64; namespace];
        key_types.extend(spec.keys.iter().map(|k| spec.input.fields[*k].ty.to_arrow()));
        let output = spec.output.to_arrow();
        Ok(WindowAggregate {
            slicing,
            properties: Properties::new(&spec.properties, output.fields().iter().map(AsRef::as_ref)),
            output,
            groups: KeyedTable::new(&key_types, namespace, Grouped::new(&spec.aggregates, spec.input_retracts)?)?,
            open: OpenWindows::new(slicing),
            watermark: MIN_WATERMARK,
            closing: None,
            context: None,
            placement: Placement::default(),
            slots: Vec::new(),
            new_rows: Vec::new(),
            signs: Vec::new(),
            spec,
        })
    }
}

impl Operator for WindowAggregate {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        if let Some(snapshot) = restored {
            self.watermark = restore_watermark(&snapshot)?;
            let slots = self.groups.restore("windows", &snapshot)?;
            let keys = self.groups.index().keys(&slots)?;
            let slices = slices(&keys, self.slicing.is_none());
            self.open.add(slots.iter().enumerate().map(|(row, slot)| (slices(row), *slot)), self.watermark);
        }
        self.context = Some(context);
        self.report();
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let mut input = batch.into_columns()?;
        let rows = input.num_rows();
        let width = self.spec.keys.len();
        match (&self.spec.windowing, &self.slicing) {
            (Windowing::Time { column, .. }, Some(slicing)) => {
                let time = if port == STATES { width } else { *column };
                self.placement.by_time(input.column(time), rows, slicing, self.watermark)?;
            }
            (Windowing::Attached { start, end }, _) => {
                let (start, end) = if port == STATES { (width, width + 1) } else { (*start, *end) };
                self.placement.by_window(input.column(start), input.column(end), rows, self.watermark)?;
            }
            (Windowing::Time { .. }, None) => return Err(Error::bug("aligned windows without slices")),
        }
        if self.placement.late > 0 {
            if let Some(context) = &self.context {
                context.metrics.late_rows.add(self.placement.late as u64);
            }
            input = input.take(&UInt32Array::from(std::mem::take(&mut self.placement.kept)))?;
        }
        if input.num_rows() > 0 {
            self.take_in(port, &input)?;
            self.report();
        }
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let progress = self.close_windows(out)?;
        self.report();
        Ok(progress)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let context = self.context.as_ref().ok_or_else(|| Error::bug("a snapshot of an operator that is not open"))?;
        let mut snapshot = OperatorSnapshot::new();
        self.groups.snapshot("windows", mode, context.subtask.key_group_count, &mut snapshot)?;
        save_watermark(self.watermark, &mut snapshot);
        Ok(snapshot)
    }
}

impl WindowAggregate {
    /// Takes in rows that have been placed.
    fn take_in(&mut self, port: usize, input: &ColumnBatch) -> Result<()> {
        let column = |times: &mut Vec<TimestampMs>| -> ArrayRef { Arc::new(Int64Array::from(std::mem::take(times))) };
        let mut keys = vec![column(&mut self.placement.ends)];
        if self.slicing.is_none() {
            keys.push(column(&mut self.placement.starts));
        }
        let in_input = |(i, k): (usize, &usize)| Arc::clone(input.column(if port == STATES { i } else { *k }));
        keys.extend(self.spec.keys.iter().enumerate().map(in_input));
        let references: Vec<&ArrayRef> = keys.iter().collect();
        self.groups.resolve(&references, input.num_rows(), &mut self.slots, &mut self.new_rows)?;
        let slices = slices(&keys, self.slicing.is_none());
        let new_groups = self.new_rows.iter().map(|row| (slices(*row as usize), self.slots[*row as usize]));
        self.open.add(new_groups, self.watermark);
        if port == STATES {
            // Behind the keys and what says the window: its row time, or its start and end.
            let states = &input.columns()[self.spec.keys.len() + if self.slicing.is_some() { 1 } else { 2 }..];
            let bound = self.groups.index().slot_bound();
            return self.groups.values.merge_states(bound, &self.slots, states);
        }
        let signs = match input.kinds().filter(|_| self.spec.input_retracts) {
            Some(kinds) => {
                self.signs.clear();
                self.signs.extend(kinds.values().iter().map(|k| RowKind::from_byte(*k).sign() as i8));
                Some(self.signs.as_slice())
            }
            None => None,
        };
        self.groups.values.update(&Rows { slots: &self.slots, rows: None, signs }, input.columns())
    }

    fn report(&self) {
        if let Some(context) = &self.context {
            self.open.report(self.watermark, &context.metrics);
            context.metrics.state_rows.set(self.groups.index().len() as i64);
        }
    }
}

/// The slice of each row of a key's columns: its end alone, or the window that the rows carry.
fn slices(keys: &[ArrayRef], carried: bool) -> impl Fn(usize) -> Window {
    let ends = keys[0].as_primitive::<Int64Type>();
    let starts = carried.then(|| keys[1].as_primitive::<Int64Type>());
    move |row| Window { end: ends.value(row), start: starts.map_or(0, |s| s.value(row)) }
}
