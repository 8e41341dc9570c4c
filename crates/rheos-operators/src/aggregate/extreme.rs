//! MIN and MAX where no row is taken back: one value a group.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, AsArray, BinaryArray, BooleanArray, PrimitiveArray, StringArray, StringBuilder};
use arrow::datatypes::{ArrowPrimitiveType, BinaryType, ByteArrayType, DataType, Utf8Type};

use rheos_core::error::Result;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};

/// Numbers and times. Floats are in total order, NaN above all.
pub(super) struct Extreme<T: ArrowPrimitiveType, const MAX: bool> {
    groups: Vec<Option<T::Native>>,
    ty: DataType,
}

impl<T: ArrowPrimitiveType, const MAX: bool> Extreme<T, MAX> {
    pub(super) fn new(ty: &DataType) -> Self {
        Extreme { groups: Vec::new(), ty: ty.clone() }
    }

    #[inline]
    fn take(&mut self, slot: usize, value: T::Native) {
        match &mut self.groups[slot] {
            Some(best) if (MAX && value.is_gt(*best)) || (!MAX && value.is_lt(*best)) => *best = value,
            Some(_) => {}
            empty => *empty = Some(value),
        }
    }

    fn array(&self, slots: &[Slot]) -> ArrayRef {
        let array: PrimitiveArray<T> = slots.iter().map(|s| self.groups[*s as usize]).collect();
        Arc::new(array.with_data_type(self.ty.clone()))
    }
}

impl<T: ArrowPrimitiveType, const MAX: bool> Accumulator for Extreme<T, MAX> {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let column = args[0].as_primitive::<T>();
        let values = column.values();
        rows.for_each(column.nulls(), |slot, row, _| self.take(slot, values[row]));
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            if let Some(value) = self.groups[*f as usize] {
                self.take(*t as usize, value);
            }
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        Ok(self.array(slots))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.ty.clone()]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.array(slots)])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        for (slot, value) in slots.iter().zip(columns[0].as_primitive::<T>()) {
            self.groups[*slot as usize] = value;
        }
        Ok(())
    }
}

/// FALSE is below TRUE.
#[derive(Debug, Default)]
pub(super) struct BooleanExtreme<const MAX: bool> {
    groups: Vec<Option<bool>>,
}

impl<const MAX: bool> BooleanExtreme<MAX> {
    fn take(&mut self, slot: usize, value: bool) {
        if self.groups[slot] != Some(MAX) {
            self.groups[slot] = Some(value);
        }
    }

    fn array(&self, slots: &[Slot]) -> ArrayRef {
        Arc::new(slots.iter().map(|s| self.groups[*s as usize]).collect::<BooleanArray>())
    }
}

impl<const MAX: bool> Accumulator for BooleanExtreme<MAX> {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let column = args[0].as_boolean();
        rows.for_each(column.nulls(), |slot, row, _| self.take(slot, column.value(row)));
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            if let Some(value) = self.groups[*f as usize] {
                self.take(*t as usize, value);
            }
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        Ok(self.array(slots))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![DataType::Boolean]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.array(slots)])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        for (slot, value) in slots.iter().zip(columns[0].as_boolean()) {
            self.groups[*slot as usize] = value;
        }
        Ok(())
    }
}

/// Text by the order of its UTF-8 bytes, and bytes.
pub(super) struct BytesExtreme<const MAX: bool> {
    groups: Vec<Option<Vec<u8>>>,
    ty: DataType,
}

impl<const MAX: bool> BytesExtreme<MAX> {
    pub(super) fn new(ty: &DataType) -> Self {
        BytesExtreme { groups: Vec::new(), ty: ty.clone() }
    }

    fn take_all<T: ByteArrayType>(&mut self, rows: &Rows<'_>, column: &ArrayRef) {
        let column = column.as_bytes::<T>();
        rows.for_each(column.nulls(), |slot, row, _| {
            let value: &[u8] = column.value(row).as_ref();
            take_bytes::<MAX>(&mut self.groups[slot], value);
        });
    }
}

fn take_bytes<const MAX: bool>(group: &mut Option<Vec<u8>>, value: &[u8]) {
    match group {
        Some(best) if (MAX && value > best.as_slice()) || (!MAX && value < best.as_slice()) => {
            best.clear();
            best.extend_from_slice(value);
        }
        Some(_) => {}
        empty => *empty = Some(value.to_vec()),
    }
}

/// Texts (which must be UTF-8) or bytes as a column of `ty`.
pub(super) fn bytes_array<'a>(ty: &DataType, values: impl Iterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    match ty {
        DataType::Utf8 => {
            let mut builder = StringBuilder::new();
            values.for_each(|v| builder.append_option(v.map(String::from_utf8_lossy)));
            Arc::new(builder.finish()) as Arc<StringArray>
        }
        _ => Arc::new(values.collect::<BinaryArray>()),
    }
}

impl<const MAX: bool> Accumulator for BytesExtreme<MAX> {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        match self.ty {
            DataType::Utf8 => self.take_all::<Utf8Type>(rows, args[0]),
            _ => self.take_all::<BinaryType>(rows, args[0]),
        }
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            let mut group = self.groups[*t as usize].take();
            if let Some(value) = &self.groups[*f as usize] {
                take_bytes::<MAX>(&mut group, value);
            }
            self.groups[*t as usize] = group;
        }
        Ok(())
    }

    fn evaluate(&self, _: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        Ok(bytes_array(&self.ty, slots.iter().map(|s| self.groups[*s as usize].as_deref())))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![self.ty.clone()]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        Ok(vec![bytes_array(&self.ty, slots.iter().map(|s| self.groups[*s as usize].as_deref()))])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let rows = Rows { slots, rows: None, signs: None };
        match self.ty {
            DataType::Utf8 => self.take_all::<Utf8Type>(&rows, &columns[0]),
            _ => self.take_all::<BinaryType>(&rows, &columns[0]),
        }
        Ok(())
    }
}
