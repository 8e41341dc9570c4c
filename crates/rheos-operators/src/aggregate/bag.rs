//! All values of a group in order of arrival: LISTAGG, ARRAY_AGG, the JSON aggregates, and FIRST_VALUE and LAST_VALUE where
//! rows are taken back. Taking a value back removes its first occurrence, for LAST_VALUE too.
//!
//! A group is one buffer of `length value length`, so that it can be read from both ends; removing searches it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray, StringBuilder};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};

use rheos_core::error::{Error, Result};
use rheos_state::{EncodedRows, RowCodec, Slot};

use super::accumulator::{Accumulator, Finish, Rows};
use super::function::Function;
use super::json;
use super::ordered::{list, list_type};

pub(crate) struct Bag {
    groups: Vec<Vec<u8>>,
    /// Of all arguments.
    codec: RowCodec,
    types: Vec<DataType>,
    /// The argument whose NULL makes a row be left out.
    required: Option<usize>,
    /// How many rows all groups have together.
    total: usize,
    encoded: EncodedRows,
}

const LENGTH: usize = size_of::<u32>();

/// Reads the values of a group from the first on.
fn values(group: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = length_at(group, at)?;
        let value = &group[at + LENGTH..at + LENGTH + length];
        at += length + 2 * LENGTH;
        Some(value)
    })
}

fn length_at(group: &[u8], at: usize) -> Option<usize> {
    let bytes = group.get(at..at + LENGTH)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
}

fn last(group: &[u8]) -> Option<&[u8]> {
    let end = group.len().checked_sub(LENGTH)?;
    let length = length_at(group, end)?;
    Some(&group[end - length..end])
}

fn push(group: &mut Vec<u8>, value: &[u8]) {
    let length = (value.len() as u32).to_le_bytes();
    group.extend_from_slice(&length);
    group.extend_from_slice(value);
    group.extend_from_slice(&length);
}

/// Whether the value was there.
fn remove(group: &mut Vec<u8>, value: &[u8]) -> bool {
    let mut at = 0;
    while let Some(length) = length_at(group, at) {
        let end = at + length + 2 * LENGTH;
        if group[at + LENGTH..at + LENGTH + length] == *value {
            group.drain(at..end);
            return true;
        }
        at = end;
    }
    false
}

impl Bag {
    /// A bag of rows of these arguments; rows where argument `required` is NULL are left out.
    pub(crate) fn new(args: &[DataType], required: Option<usize>) -> Result<Self> {
        if args.is_empty() {
            return Err(Error::bug("a collection without an argument"));
        }
        let codec = RowCodec::new(args)?;
        Ok(Bag { groups: Vec::new(), codec, types: args.to_vec(), required, total: 0, encoded: EncodedRows::default() })
    }

    /// How many rows all groups have together.
    pub(crate) fn len(&self) -> usize {
        self.total
    }

    /// How many rows a group has.
    pub(crate) fn count(&self, slot: Slot) -> usize {
        values(&self.groups[slot as usize]).count()
    }

    /// The arguments of all rows of these groups, one group after the other, and where each begins.
    pub(crate) fn rows(&self, slots: &[Slot]) -> Result<(OffsetBuffer<i32>, Vec<ArrayRef>)> {
        let mut rows = Vec::new();
        let lengths: Vec<usize> = slots
            .iter()
            .map(|slot| {
                let before = rows.len();
                rows.extend(values(&self.groups[*slot as usize]));
                rows.len() - before
            })
            .collect();
        Ok((OffsetBuffer::from_lengths(lengths), self.codec.decode(&rows)?))
    }

    /// One row a group: the first, or the last.
    fn ends(&self, slots: &[Slot], end: impl Fn(&[u8]) -> Option<&[u8]>) -> Result<ArrayRef> {
        // A row whose columns are all NULL.
        let null: &[u8] = &[0xFF];
        let rows: Vec<&[u8]> = slots.iter().map(|s| end(&self.groups[*s as usize]).unwrap_or(null)).collect();
        Ok(self.codec.decode(&rows)?.swap_remove(0))
    }
}

impl Accumulator for Bag {
    fn grow(&mut self, bound: usize) {
        self.groups.resize(bound, Vec::new());
    }

    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()> {
        let length = args[0].len();
        self.codec.encode(args, length, &mut self.encoded)?;
        let nulls = self.required.and_then(|arg| args[arg].logical_nulls());
        rows.for_each(nulls.as_ref(), |slot, row, sign| {
            let (group, value) = (&mut self.groups[slot], self.encoded.row(row));
            if sign > 0 {
                push(group, value);
                self.total += 1;
            } else if remove(group, value) {
                self.total -= 1;
            }
        });
        Ok(())
    }

    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()> {
        for (f, t) in from.iter().zip(into) {
            let mut group = std::mem::take(&mut self.groups[*t as usize]);
            group.extend_from_slice(&self.groups[*f as usize]);
            self.total += self.count(*f);
            self.groups[*t as usize] = group;
        }
        Ok(())
    }

    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef> {
        match finish.function {
            Function::First => return self.ends(slots, |group| values(group).next()),
            Function::Last => return self.ends(slots, last),
            _ => {}
        }
        let (offsets, columns) = self.rows(slots)?;
        Ok(match finish.function {
            Function::ListAgg => Arc::new(list_texts(&offsets, &columns)),
            Function::JsonArrayAbsent | Function::JsonArrayNull => Arc::new(json::arrays(&offsets, &columns[0])?),
            Function::JsonObjectAbsent | Function::JsonObjectNull => Arc::new(json::objects(&offsets, &columns[0], &columns[1])?),
            _ => {
                let full: NullBuffer = offsets.lengths().map(|length| length > 0).collect::<Vec<_>>().into();
                let item = Arc::new(Field::new("item", self.types[0].clone(), true));
                Arc::new(ListArray::try_new(item, offsets, Arc::clone(&columns[0]), Some(full))?)
            }
        })
    }

    fn clear(&mut self, slots: &[Slot]) {
        for slot in slots {
            self.total -= self.count(*slot);
            self.groups[*slot as usize] = Vec::new();
        }
    }

    fn state_types(&self) -> Vec<DataType> {
        self.types.iter().map(list_type).collect()
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let (offsets, columns) = self.rows(slots)?;
        columns.into_iter().map(|column| list(offsets.clone(), column)).collect()
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let lists: Vec<&ListArray> = columns.iter().map(|c| c.as_list::<i32>()).collect();
        for (i, slot) in slots.iter().enumerate() {
            let args: Vec<ArrayRef> = lists.iter().map(|l| l.value(i)).collect();
            self.codec.encode(&args.iter().collect::<Vec<_>>(), args[0].len(), &mut self.encoded)?;
            self.encoded.iter().for_each(|value| push(&mut self.groups[*slot as usize], value));
            self.total += self.encoded.len();
        }
        Ok(())
    }
}

/// Texts joined by the separator of each row after the first; a group without rows gives NULL.
fn list_texts(offsets: &OffsetBuffer<i32>, columns: &[ArrayRef]) -> StringArray {
    let texts = columns[0].as_string::<i32>();
    let separators = columns.get(1).map(|c| c.as_string::<i32>());
    let mut builder = StringBuilder::new();
    let mut joined = String::new();
    for range in offsets.windows(2).map(|w| w[0] as usize..w[1] as usize) {
        joined.clear();
        for row in range.clone() {
            if row > range.start {
                joined.push_str(separators.map_or(",", |s| s.value(row)));
            }
            joined.push_str(texts.value(row));
        }
        builder.append_option((!range.is_empty()).then_some(&joined));
    }
    builder.finish()
}
