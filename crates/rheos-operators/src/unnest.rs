//! `unnest`: each row several times, with the elements of a collection or as often as a number says. Keeps no state.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, UInt32Array};
use arrow::compute::{nullif, take};
use arrow::datatypes::{DataType, Int32Type, Int64Type, SchemaRef};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};

use crate::read_spec;
use crate::spec::{UnnestSpec, Unnesting};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("unnest", |spec| Ok(Box::new(Unnest::new(read_spec(spec)?))));
}

struct Unnest {
    unnesting: Unnesting,
    output: SchemaRef,
    pending: Option<Pending>,
}

/// What of a batch is still to be put out.
struct Pending {
    batch: ColumnBatch,
    /// The columns of the elements, indexed by element.
    elements: Vec<ArrayRef>,
    /// For each output row the row of the batch, its element (`None`: NULLs), and its position from 1.
    rows: Vec<u32>,
    picks: Vec<Option<u32>>,
    positions: Vec<Option<i32>>,
    done: usize,
}

impl Unnest {
    fn new(spec: UnnestSpec) -> Self {
        Unnest { unnesting: spec.unnesting, output: spec.output.to_arrow(), pending: None }
    }

    fn expand(&self, batch: ColumnBatch) -> Result<Pending> {
        let mut pending = Pending { elements: vec![], rows: vec![], picks: vec![], positions: vec![], done: 0, batch };
        match self.unnesting {
            Unnesting::Times { column } => {
                let counts = pending.batch.column(column).as_primitive::<Int64Type>().clone();
                for (row, count) in counts.iter().enumerate() {
                    pending.rows.extend(std::iter::repeat_n(row as u32, count.unwrap_or(0).max(0) as usize));
                }
            }
            Unnesting::Elements { column, counted, outer, .. } => {
                let collection = pending.batch.column(column).clone();
                let elements = Elements::of(&collection, counted)?;
                for row in 0..collection.len() {
                    let before = pending.rows.len();
                    if collection.is_valid(row) {
                        for element in elements.range(row) {
                            for _ in 0..elements.times(element) {
                                pending.positions.push(Some((pending.rows.len() - before + 1) as i32));
                                pending.rows.push(row as u32);
                                pending.picks.push(Some(element as u32));
                            }
                        }
                    }
                    if outer && pending.rows.len() == before {
                        pending.rows.push(row as u32);
                        pending.picks.push(None);
                        pending.positions.push(None);
                    }
                }
                pending.elements = elements.columns;
            }
        }
        Ok(pending)
    }
}

/// The elements of all collections of a column.
struct Elements {
    columns: Vec<ArrayRef>,
    offsets: Vec<i32>,
    /// How often each element is there (MULTISET).
    counts: Option<Int32Array>,
}

impl Elements {
    fn of(collection: &ArrayRef, counted: bool) -> Result<Self> {
        match collection.data_type() {
            DataType::List(field) => {
                let list = collection.as_list::<i32>();
                let columns = match field.data_type() {
                    DataType::Struct(_) => fields_of(list.values())?,
                    _ => vec![list.values().clone()],
                };
                Ok(Elements { columns, offsets: list.value_offsets().to_vec(), counts: None })
            }
            DataType::Map(..) => {
                let map = collection.as_map();
                let offsets = map.value_offsets().to_vec();
                if counted {
                    let columns = match map.keys().data_type() {
                        DataType::Struct(_) => fields_of(map.keys())?,
                        _ => vec![map.keys().clone()],
                    };
                    return Ok(Elements { columns, offsets, counts: Some(map.values().as_primitive::<Int32Type>().clone()) });
                }
                Ok(Elements { columns: vec![map.keys().clone(), map.values().clone()], offsets, counts: None })
            }
            other => Err(Error::bug(format!("the elements of {other}"))),
        }
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    fn times(&self, element: usize) -> i32 {
        self.counts.as_ref().map_or(1, |c| c.value(element))
    }
}

/// The fields of ROWs; those of a ROW that is NULL are NULL.
fn fields_of(rows: &ArrayRef) -> Result<Vec<ArrayRef>> {
    let rows = rows.as_struct();
    let Some(nulls) = rows.nulls().filter(|n| n.null_count() > 0) else { return Ok(rows.columns().to_vec()) };
    let is_null = BooleanArray::new(!nulls.inner(), None);
    rows.columns().iter().map(|field| Ok(nullif(field.as_ref(), &is_null)?)).collect()
}

impl Operator for Unnest {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.pending = Some(self.expand(batch.into_columns()?)?);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some(pending) = &mut self.pending else { return Ok(Progress::Done) };
        while pending.done < pending.rows.len() {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let part = pending.done..pending.rows.len().min(pending.done + out.room());
            let rows = pending.batch.take(&UInt32Array::from(pending.rows[part.clone()].to_vec()))?;
            let mut columns = rows.columns().to_vec();
            if let Unnesting::Elements { ordinality, .. } = self.unnesting {
                let picks = UInt32Array::from(pending.picks[part.clone()].to_vec());
                for elements in &pending.elements {
                    columns.push(take(elements.as_ref(), &picks, None)?);
                }
                if ordinality {
                    columns.push(Arc::new(Int32Array::from(pending.positions[part.clone()].to_vec())));
                }
            }
            out.emit(rows.with_columns(self.output.clone(), columns)?);
            pending.done = part.end;
        }
        self.pending = None;
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
