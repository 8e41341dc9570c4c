//! PERCENTILE: exact, with linear interpolation between the two nearest values.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, UInt32Array, new_null_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};
use super::ordered::{self, Counts, OrderedNumber, add, add_all, list_type};

pub(super) struct Percentile {
    groups: Vec<Counts<OrderedNumber<Float64Type>>>,
    /// The second argument, a constant, as a column of one row; unknown before the first row.
    fractions: Option<ArrayRef>,
    fraction_type: DataType,
}

impl Percentile {
    pub(super) fn new(args: &[DataType]) -> Result<Self> {
        let fraction_type = args.get(1).ok_or_else(|| Error::bug("a percentile without a fraction"))?.clone();
        Ok(Percentile { groups: Vec::new(), fractions: None, fraction_type })
    }

    fn learn_fractions(&mut self, column: &ArrayRef) -> Result<()> {
        if let (None, Some(row)) = (&self.fractions, (0..column.len()).find(|row| column.is_valid(*row))) {
            let constant = column.slice(row, 1);
            if let Some(wrong) = fractions_of(&constant).into_iter().find(|f| !(0.0..=1.0).contains(f)) {
                return Err(Error::config(format!("the fraction {wrong} of PERCENTILE is not between 0 and 1")));
            }
            self.fractions = Some(constant);
        }
        Ok(())
    }
}

fn fractions_of(constant: &ArrayRef) -> Vec<f64> {
    let values = match constant.as_list_opt::<i32>() {
        Some(list) => list.value(0),
        None => Arc::clone(constant),
    };
    values.as_primitive::<Float64Type>().iter().flatten().collect()
}

fn interpolate(group: &BTreeMap<OrderedNumber<Float64Type>, i64>, fraction: f64) -> Option<f64> {
    let total: i64 = group.values().filter(|count| **count > 0).sum();
    if total == 0 {
        return None;
    }
    let position = (total - 1) as f64 * fraction;
    let (low, high) = (position.floor(), position.ceil());
    let at = |rank: i64| {
        let mut seen = 0;
        let mut present = group.iter().filter(|(_, count)| **count > 0);
        present.find(|(_, count)| {
            seen += **count;
            seen > rank
        })
    };
    let (a, b) = (at(low as i64)?.0.0, at(high as i64)?.0.0);
    Some(if low == high || a == b { a } else { (high - position) * a + (position - low) * b })
}

impl Accumulator for Percentile {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        self.learn_fractions(args[1])?;
        let column = args[0].as_primitive::<Float64Type>();
        let frequencies = args.get(2).map(|f| f.as_primitive::<Int64Type>());
        let nulls = NullBuffer::union(column.nulls(), frequencies.and_then(|f| f.nulls()));
        rows.for_each(nulls.as_ref(), |slot, row, sign| {
            let frequency = frequencies.map_or(1, |f| f.value(row).max(0));
            add(&mut self.groups[slot], &OrderedNumber(column.value(row)), sign * frequency);
        });
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        add_all(&mut self.groups, from, into);
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let Some(constant) = &self.fractions else { return Ok(new_null_array(&finish.ty.to_arrow(), slots.len())) };
        let fractions = fractions_of(constant);
        let results = slots.iter().flat_map(|slot| {
            let group = self.groups[*slot as usize].as_deref();
            fractions.iter().map(move |fraction| interpolate(group?, *fraction))
        });
        let values: ArrayRef = Arc::new(results.collect::<Float64Array>());
        if !matches!(self.fraction_type, DataType::List(_)) {
            return Ok(values);
        }
        let full = slots.iter().map(|s| self.groups[*s as usize].is_some()).collect::<Vec<_>>();
        let item = Arc::new(Field::new("item", DataType::Float64, true));
        let offsets = OffsetBuffer::from_lengths(slots.iter().map(|_| fractions.len()));
        Ok(Arc::new(ListArray::try_new(item, offsets, values, Some(NullBuffer::from(full)))?))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![list_type(&DataType::Float64), list_type(&DataType::Int64), self.fraction_type.clone()]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = ordered::save(&self.groups, &DataType::Float64, slots)?;
        columns.push(match &self.fractions {
            Some(constant) => compute::take(constant, &UInt32Array::from(vec![0; slots.len()]), None)?,
            None => new_null_array(&self.fraction_type, slots.len()),
        });
        Ok(columns)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        ordered::load(&mut self.groups, slots, columns);
        self.learn_fractions(&columns[2])
    }
}
