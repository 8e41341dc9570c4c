//! All values of a group in order, with their counts: MIN and MAX where rows are taken back; PERCENTILE is made of it too.
//!
//! A count may be negative for a while, where a value is taken back before it is added; such a value does not count.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, AsArray, BooleanArray, Int64Array, ListArray, PrimitiveArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Int64Type};

use rheos_core::error::Result;
use rheos_state::Slot;

use super::accumulator::{Accumulator, Finish, Rows};
use super::extreme::bytes_array;
use super::function::Function;

/// A value that can be kept in order.
pub(super) trait OrderedValue: Ord + Clone + Send + Borrow<Self::View> + 'static {
    /// What a row of a column shows without copying.
    type View: Ord + ?Sized;
    fn with<R>(column: &ArrayRef, row: usize, f: impl FnOnce(&Self::View) -> R) -> R;
    fn of(view: &Self::View) -> Self;
    fn array<'a>(ty: &DataType, values: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef;
}

/// A number or a time. Floats are in total order.
pub(super) struct OrderedNumber<T: ArrowPrimitiveType>(pub(super) T::Native);

impl<T: ArrowPrimitiveType> Clone for OrderedNumber<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ArrowPrimitiveType> Copy for OrderedNumber<T> {}

impl<T: ArrowPrimitiveType> PartialEq for OrderedNumber<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: ArrowPrimitiveType> Eq for OrderedNumber<T> {}

impl<T: ArrowPrimitiveType> PartialOrd for OrderedNumber<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: ArrowPrimitiveType> Ord for OrderedNumber<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.compare(other.0)
    }
}

impl<T: ArrowPrimitiveType> OrderedValue for OrderedNumber<T> {
    type View = Self;

    fn with<R>(column: &ArrayRef, row: usize, f: impl FnOnce(&Self) -> R) -> R {
        f(&OrderedNumber(column.as_primitive::<T>().value(row)))
    }

    fn of(view: &Self) -> Self {
        *view
    }

    fn array<'a>(ty: &DataType, values: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef {
        let array: PrimitiveArray<T> = values.map(|v| v.map(|v| v.0)).collect();
        Arc::new(array.with_data_type(ty.clone()))
    }
}

impl OrderedValue for bool {
    type View = bool;

    fn with<R>(column: &ArrayRef, row: usize, f: impl FnOnce(&bool) -> R) -> R {
        f(&column.as_boolean().value(row))
    }

    fn of(view: &bool) -> Self {
        *view
    }

    fn array<'a>(_: &DataType, values: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef {
        Arc::new(values.map(|v| v.copied()).collect::<BooleanArray>())
    }
}

/// Text or bytes.
pub(super) type OrderedBytes = Box<[u8]>;

impl OrderedValue for OrderedBytes {
    type View = [u8];

    fn with<R>(column: &ArrayRef, row: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        match column.as_string_opt::<i32>() {
            Some(texts) => f(texts.value(row).as_bytes()),
            None => f(column.as_binary::<i32>().value(row)),
        }
    }

    fn of(view: &[u8]) -> Self {
        view.into()
    }

    fn array<'a>(ty: &DataType, values: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef {
        bytes_array(ty, values.map(|v| v.map(|v| &**v)))
    }
}

/// The ordered values of each group; a group without values has no map.
pub(super) type Counts<V> = Option<Box<BTreeMap<V, i64>>>;

pub(super) struct Ordered<V> {
    groups: Vec<Counts<V>>,
    ty: DataType,
}

impl<V: OrderedValue> Ordered<V> {
    pub(super) fn new(ty: &DataType) -> Self {
        Ordered { groups: Vec::new(), ty: ty.clone() }
    }
}

pub(super) fn add<V: OrderedValue>(group: &mut Counts<V>, value: &V::View, count: i64) {
    let values = group.get_or_insert_default();
    match values.get_mut(value) {
        Some(before) => {
            *before += count;
            if *before == 0 {
                values.remove(value);
            }
        }
        None if count != 0 => {
            values.insert(V::of(value), count);
        }
        None => {}
    }
    if values.is_empty() {
        *group = None;
    }
}

pub(super) fn add_all<V: OrderedValue>(groups: &mut [Counts<V>], from: &[Slot], into: &[Slot]) {
    for (f, t) in from.iter().zip(into) {
        let mut group = groups[*t as usize].take();
        for (value, count) in groups[*f as usize].iter().flat_map(|g| g.iter()) {
            add(&mut group, value.borrow(), *count);
        }
        groups[*t as usize] = group;
    }
}

/// Values and counts, as two columns of lists.
pub(super) fn save<V: OrderedValue>(groups: &[Counts<V>], ty: &DataType, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
    let entries = || slots.iter().filter_map(|s| groups[*s as usize].as_deref()).flatten();
    let offsets = OffsetBuffer::from_lengths(slots.iter().map(|s| groups[*s as usize].as_ref().map_or(0, |g| g.len())));
    let values = V::array(ty, entries().map(|(value, _)| Some(value)));
    let counts = Int64Array::from_iter_values(entries().map(|(_, count)| *count));
    Ok(vec![list(offsets.clone(), values)?, list(offsets, Arc::new(counts))?])
}

pub(super) fn load<V: OrderedValue>(groups: &mut [Counts<V>], slots: &[Slot], columns: &[ArrayRef]) {
    let (values, counts) = (columns[0].as_list::<i32>(), columns[1].as_list::<i32>());
    for (i, slot) in slots.iter().enumerate() {
        let (values, counts) = (values.value(i), counts.value(i));
        for (row, count) in counts.as_primitive::<Int64Type>().values().iter().enumerate() {
            V::with(&values, row, |value| add(&mut groups[*slot as usize], value, *count));
        }
    }
}

/// The type of a list as every column of the state and of results has it.
pub(super) fn list_type(item: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item.clone(), true)))
}

/// Lists of the given lengths.
pub(super) fn list(offsets: OffsetBuffer<i32>, values: ArrayRef) -> Result<ArrayRef> {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
}

impl<V: OrderedValue> Accumulator for Ordered<V> {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, None);
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let column = args[0];
        rows.for_each(column.nulls(), |slot, row, sign| V::with(column, row, |value| add(&mut self.groups[slot], value, sign)));
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        add_all(&mut self.groups, from, into);
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        let best = |slot: &Slot| {
            let mut present = self.groups[*slot as usize].as_ref()?.iter().filter(|(_, count)| **count > 0);
            if finish.function == Function::Max { present.next_back() } else { present.next() }.map(|(value, _)| value)
        };
        Ok(V::array(&self.ty, slots.iter().map(best)))
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|s| self.groups[*s as usize] = None);
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![list_type(&self.ty), list_type(&DataType::Int64)]
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        save(&self.groups, &self.ty, slots)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        load(&mut self.groups, slots, columns);
        Ok(())
    }
}
