//! COLLECT: the values of a group that are not NULL, as a MULTISET.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, MapArray, StructArray};
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};
use super::multiset::{Changes, Multiset};

pub(super) struct Collect {
    values: Multiset,
    changes: Changes,
}

impl Collect {
    pub(super) fn new(ty: &DataType) -> Result<Self> {
        Ok(Collect { values: Multiset::new(std::slice::from_ref(ty), 1)?, changes: Changes::default() })
    }
}

impl Accumulator for Collect {
    fn grow(&mut self, bound: usize) {
        self.values.grow(bound);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        match args[0].logical_nulls().filter(|n| n.null_count() > 0) {
            None => self.values.update(0, rows, args, &mut self.changes)?,
            Some(nulls) => {
                let (mut slots, mut kept, mut signs) = (Vec::new(), Vec::new(), Vec::new());
                rows.for_each(Some(&nulls), |slot, row, sign| {
                    slots.push(slot as Slot);
                    kept.push(row as u32);
                    signs.push(sign as i8);
                });
                let rows = Rows { slots: &slots, rows: Some(&kept), signs: Some(&signs) };
                self.values.update(0, &rows, args, &mut self.changes)?;
            }
        }
        self.values.sweep()
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        self.values.merge(from, into, |_, _, _| Ok(()))
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let (offsets, values, counts) = self.values.counted(0, slots)?;
        let ty = finish.ty.to_arrow();
        let DataType::Map(entries, _) = &ty else { return Err(Error::bug(format!("COLLECT does not give {ty}"))) };
        let DataType::Struct(fields) = entries.data_type() else { return Err(Error::bug(format!("COLLECT does not give {ty}"))) };
        let counts = Int32Array::from_iter_values(counts.iter().map(|c| i32::try_from(*c).unwrap_or(i32::MAX)));
        let pairs = StructArray::try_new(fields.clone(), vec![Arc::clone(&values[0]), Arc::new(counts)], None)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, None, false)?))
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.values.clear(slots);
    }

    fn state_types(&self) -> Vec<DataType> {
        self.values.state_types()
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        self.values.save(slots)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        self.values.load(slots, columns)
    }
}
