//! FIRST_VALUE and LAST_VALUE where no row is taken back, and SINGLE_VALUE: one value of any type a group, as bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, UInt32Array};
use arrow::compute;
use arrow::datatypes::{DataType, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_state::{EncodedRows, RowCodec, Slot};

use super::accumulator::{Accumulator, Finish, Rows};

/// One value a group; `None` where there is none yet.
pub(super) struct Values {
    groups: Vec<Option<Box<[u8]>>>,
    codec: RowCodec,
    ty: DataType,
    encoded: EncodedRows,
}

impl Values {
    fn new(ty: &DataType) -> Result<Self> {
        let codec = RowCodec::new(std::slice::from_ref(ty))?;
        Ok(Values { groups: Vec::new(), codec, ty: ty.clone(), encoded: EncodedRows::default() })
    }

    /// Sets the values of groups from rows of a column.
    fn set(&mut self, slots: &[Slot], rows: Vec<u32>, column: &ArrayRef) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let chosen = compute::take(column, &UInt32Array::from(rows), None)?;
        self.codec.encode(&[&chosen], chosen.len(), &mut self.encoded)?;
        for (slot, bytes) in slots.iter().zip(self.encoded.iter()) {
            self.groups[*slot as usize] = Some(bytes.into());
        }
        Ok(())
    }

    /// The values; NULL where there is none.
    fn array(&self, slots: &[Slot]) -> Result<ArrayRef> {
        // A row whose only column is NULL.
        let null: &[u8] = &[1];
        let rows: Vec<&[u8]> = slots.iter().map(|s| self.groups[*s as usize].as_deref().unwrap_or(null)).collect();
        Ok(self.codec.decode(&rows)?.swap_remove(0))
    }

    fn load(&mut self, slots: &[Slot], column: &ArrayRef, present: impl Fn(usize) -> bool) -> Result<()> {
        let rows: Vec<u32> = (0..slots.len()).filter(|i| present(*i)).map(|i| i as u32).collect();
        let slots: Vec<Slot> = rows.iter().map(|i| slots[*i as usize]).collect();
        self.set(&slots, rows, column)
    }

    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }
}

/// FIRST_VALUE: the first that is not NULL.
pub(super) struct First(Values);

impl First {
    pub(super) fn new(ty: &DataType) -> Result<Self> {
        Ok(First(Values::new(ty)?))
    }
}

impl Accumulator for First {
    fn grow(&mut self, bound: usize) {
        self.0.grow(bound);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let (mut slots, mut chosen) = (Vec::new(), Vec::new());
        let groups = &mut self.0.groups;
        rows.for_each(args[0].logical_nulls().as_ref(), |slot, row, _| {
            if groups[slot].is_none() {
                // Taken: later rows of this batch see it.
                groups[slot] = Some(Box::default());
                slots.push(slot as Slot);
                chosen.push(row as u32);
            }
        });
        self.0.set(&slots, chosen, args[0])
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            if self.0.groups[*t as usize].is_none() {
                self.0.groups[*t as usize] = self.0.groups[*f as usize].clone();
            }
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        self.0.array(slots)
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.0.clear(slots);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.0.ty.clone()]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.0.array(slots)?])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        self.0.load(slots, &columns[0], |i| columns[0].is_valid(i))
    }
}

/// LAST_VALUE: the last that is not NULL.
pub(super) struct Last {
    values: Values,
    /// For each slot, one more than the row of this batch that is the last so far; 0 outside of an update.
    last_row: Vec<u32>,
}

impl Last {
    pub(super) fn new(ty: &DataType) -> Result<Self> {
        Ok(Last { values: Values::new(ty)?, last_row: Vec::new() })
    }
}

impl Accumulator for Last {
    fn grow(&mut self, bound: usize) {
        self.values.grow(bound);
        self.last_row.resize(bound, 0);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let mut slots = Vec::new();
        rows.for_each(args[0].logical_nulls().as_ref(), |slot, row, _| {
            if self.last_row[slot] == 0 {
                slots.push(slot as Slot);
            }
            self.last_row[slot] = row as u32 + 1;
        });
        let chosen = slots.iter().map(|s| std::mem::take(&mut self.last_row[*s as usize]) - 1).collect();
        self.values.set(&slots, chosen, args[0])
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            if let Some(value) = self.values.groups[*f as usize].clone() {
                self.values.groups[*t as usize] = Some(value);
            }
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        self.values.array(slots)
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.values.clear(slots);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.values.ty.clone()]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.values.array(slots)?])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        self.values.load(slots, &columns[0], |i| columns[0].is_valid(i))
    }
}

/// SINGLE_VALUE: the value of the only row of a scalar subquery; a second row is an error.
pub(super) struct Single {
    values: Values,
    counts: Vec<i64>,
}

impl Single {
    pub(super) fn new(ty: &DataType) -> Result<Self> {
        Ok(Single { values: Values::new(ty)?, counts: Vec::new() })
    }

    fn check(&self, slots: &[Slot]) -> Result<()> {
        if slots.iter().any(|s| self.counts[*s as usize] > 1) {
            return Err(Error::input("a subquery used as a value gives more than one row"));
        }
        Ok(())
    }
}

impl Accumulator for Single {
    fn grow(&mut self, bound: usize) {
        self.values.grow(bound);
        self.counts.resize(bound, 0);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let (mut slots, mut chosen) = (Vec::new(), Vec::new());
        rows.for_each(None, |slot, row, sign| {
            self.counts[slot] += sign;
            if sign > 0 {
                slots.push(slot as Slot);
                chosen.push(row as u32);
            }
        });
        self.values.set(&slots, chosen, args[0])?;
        self.check(rows.slots)
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            if self.counts[*f as usize] > 0 {
                self.values.groups[*t as usize] = self.values.groups[*f as usize].clone();
            }
            self.counts[*t as usize] += self.counts[*f as usize];
        }
        self.check(into)
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let values = self.values.array(slots)?;
        let empty: BooleanArray = slots.iter().map(|s| Some(self.counts[*s as usize] <= 0)).collect();
        Ok(compute::nullif(&values, &empty)?)
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.values.clear(slots);
        slots.iter().for_each(|s| self.counts[*s as usize] = 0);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.values.ty.clone(), DataType::Int64]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let counts = Int64Array::from_iter_values(slots.iter().map(|s| self.counts[*s as usize]));
        Ok(vec![self.values.array(slots)?, Arc::new(counts)])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let counts = columns[1].as_primitive::<Int64Type>().values();
        slots.iter().zip(counts).for_each(|(s, c)| self.counts[*s as usize] = *c);
        self.values.load(slots, &columns[0], |i| counts[i] > 0)
    }
}
