//! From the key columns of a batch to slots, all rows at once.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_empty_array};
use arrow::buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow::compute;
use arrow::datatypes::DataType;

use rheos_core::error::{Error, Result};

use crate::bytes_table::{self, BytesTable};
use crate::fixed::{self, FixedBytes};
use crate::row_codec::{EncodedRows, RowCodec};
use crate::slots::{NO_SLOT, Slot, Slots};
use crate::words_table::{Word, WordsTable};

/// A set of keys, each with its slot. NULL is a value like others; floats are equal as SQL has it (-0.0 is 0.0, NaN is
/// NaN). Keys of fixed width that fit in 128 bits are kept as such, all others (and those with a NULL) as bytes.
#[derive(Debug)]
pub struct KeyIndex {
    types: Vec<DataType>,
    words: Words,
    bytes: BytesTable,
    codec: RowCodec,
    slots: Slots,
    scratch: Scratch,
}

/// Keys without a NULL that fit in words.
#[derive(Debug)]
enum Words {
    One(WordsTable<u64>),
    Two(WordsTable<u128>),
    /// The types do not fit.
    Unfit,
}

/// Memory that is used again for every batch.
#[derive(Debug, Default)]
struct Scratch {
    one: Vec<u64>,
    two: Vec<u128>,
    encoded: EncodedRows,
}

/// What to do with a key that is not there.
trait OnMissing {
    fn slot(&mut self, row: usize, slots: &mut Slots) -> Slot;
}

struct Insert<'a>(&'a mut Vec<u32>);

impl OnMissing for Insert<'_> {
    #[inline]
    fn slot(&mut self, row: usize, slots: &mut Slots) -> Slot {
        self.0.push(row as u32);
        slots.take()
    }
}

struct Leave;

impl OnMissing for Leave {
    #[inline]
    fn slot(&mut self, _: usize, _: &mut Slots) -> Slot {
        NO_SLOT
    }
}

impl KeyIndex {
    /// An empty index of keys of these types. No types at all: there is one key.
    pub fn new(types: &[DataType]) -> Result<Self> {
        let bits: Option<usize> = types.iter().map(bits).sum();
        let words = match bits {
            Some(0..=64) => Words::One(WordsTable::default()),
            Some(65..=128) => Words::Two(WordsTable::default()),
            _ => Words::Unfit,
        };
        let codec = RowCodec::new(types)?;
        let (bytes, slots, scratch) = (BytesTable::default(), Slots::default(), Scratch::default());
        Ok(KeyIndex { types: types.to_vec(), words, bytes, codec, slots, scratch })
    }

    /// The types of the key columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All slots are below this: how long columns indexed by slot must be.
    pub fn slot_bound(&self) -> usize {
        self.slots.bound()
    }

    /// The slots of all keys, ascending.
    pub fn slots(&self) -> Vec<Slot> {
        self.slots.iter().collect()
    }

    /// Whether a slot has a key.
    pub fn is_used(&self, slot: Slot) -> bool {
        self.slots.is_used(slot)
    }

    /// Writes the slot of each row's key into `slots`; keys that were not there are added, and the first row of each goes
    /// into `new_rows`. Both are cleared first.
    pub fn resolve(&mut self, keys: &[&ArrayRef], rows: usize, slots: &mut Vec<Slot>, new_rows: &mut Vec<u32>) -> Result<()> {
        new_rows.clear();
        self.each(keys, rows, slots, Insert(new_rows))
    }

    /// Writes the slot of each row's key into `slots`, which is cleared first; [`NO_SLOT`] where the key is not there.
    pub fn find(&mut self, keys: &[&ArrayRef], rows: usize, slots: &mut Vec<Slot>) -> Result<()> {
        self.each(keys, rows, slots, Leave)
    }

    /// Forgets the keys of these slots, which are given out again for others.
    pub fn remove(&mut self, slots: &[Slot]) {
        for slot in slots {
            match &mut self.words {
                _ if self.bytes.contains(*slot) => self.bytes.remove(*slot),
                Words::One(table) => table.remove(*slot),
                Words::Two(table) => table.remove(*slot),
                Words::Unfit => {}
            }
            self.slots.give_back(*slot);
        }
    }

    /// The key columns of these slots.
    pub fn keys(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let in_bytes = if self.bytes.len() == 0 { 0 } else { slots.iter().filter(|s| self.bytes.contains(**s)).count() };
        if in_bytes == slots.len() && !slots.is_empty() {
            return self.codec.decode(&slots.iter().map(|s| self.bytes.key(*s)).collect::<Vec<_>>());
        }
        let fit = match &self.words {
            Words::One(table) => self.unpack(slots.iter().map(|s| table.key(*s)))?,
            Words::Two(table) => self.unpack(slots.iter().map(|s| table.key(*s)))?,
            Words::Unfit => return Ok(self.types.iter().map(new_empty_array).collect()),
        };
        if in_bytes == 0 {
            return Ok(fit);
        }
        let encoded: Vec<&[u8]> = slots.iter().filter(|s| self.bytes.contains(**s)).map(|s| self.bytes.key(*s)).collect();
        let decoded = self.codec.decode(&encoded)?;
        let mut next = 0;
        let places: Vec<(usize, usize)> = slots
            .iter()
            .enumerate()
            .map(|(i, s)| {
                let bytes = self.bytes.contains(*s);
                next += usize::from(bytes);
                if bytes { (1, next - 1) } else { (0, i) }
            })
            .collect();
        fit.iter().zip(&decoded).map(|(a, b)| Ok(compute::interleave(&[a.as_ref(), b.as_ref()], &places)?)).collect()
    }

    fn each(&mut self, keys: &[&ArrayRef], rows: usize, slots: &mut Vec<Slot>, missing: impl OnMissing) -> Result<()> {
        if keys.len() != self.types.len() || keys.iter().zip(&self.types).any(|(a, t)| a.data_type() != t) {
            let given: Vec<String> = keys.iter().map(|a| a.data_type().to_string()).collect();
            return Err(Error::bug(format!("keys of {} given to an index of other types", given.join(", "))));
        }
        slots.clear();
        slots.reserve(rows);
        let canonical: Vec<Option<ArrayRef>> = keys.iter().map(|a| fixed::canonical_floats(a)).collect();
        let keys: Vec<&ArrayRef> = keys.iter().zip(&canonical).map(|(a, c)| c.as_ref().unwrap_or(*a)).collect();
        let mut nulls = None;
        for key in &keys {
            nulls = NullBuffer::union(nulls.as_ref(), key.logical_nulls().as_ref());
        }
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let (bytes, used) = (&mut self.bytes, &mut self.slots);
        if nulls.is_some() || matches!(self.words, Words::Unfit) {
            self.codec.encode(&keys, rows, &mut self.scratch.encoded)?;
        }
        let encoded = &self.scratch.encoded;
        match &mut self.words {
            Words::One(table) => {
                pack(&keys, rows, &mut self.scratch.one);
                resolve(table, &self.scratch.one, nulls.as_ref(), bytes, encoded, used, slots, missing);
            }
            Words::Two(table) => {
                pack(&keys, rows, &mut self.scratch.two);
                resolve(table, &self.scratch.two, nulls.as_ref(), bytes, encoded, used, slots, missing);
            }
            Words::Unfit => {
                let mut missing = missing;
                slots.extend((0..rows).map(|row| resolve_bytes(bytes, encoded.row(row), row, used, &mut missing)));
            }
        }
        Ok(())
    }

    fn unpack<W: Word>(&self, words: impl ExactSizeIterator<Item = W> + Clone) -> Result<Vec<ArrayRef>> {
        let mut shift = 0;
        let mut arrays = Vec::with_capacity(self.types.len());
        for ty in &self.types {
            arrays.push(unpack_column(ty, words.clone(), shift)?);
            shift += bits(ty).unwrap_or(0) as u32;
        }
        Ok(arrays)
    }
}

#[allow(clippy::too_many_arguments)]
fn resolve<W: Word>(
    table: &mut WordsTable<W>,
    keys: &[W],
    nulls: Option<&NullBuffer>,
    bytes: &mut BytesTable,
    encoded: &EncodedRows,
    used: &mut Slots,
    slots: &mut Vec<Slot>,
    mut missing: impl OnMissing,
) {
    slots.extend(keys.iter().enumerate().map(|(row, key)| {
        if nulls.is_some_and(|n| n.is_null(row)) {
            return resolve_bytes(bytes, encoded.row(row), row, used, &mut missing);
        }
        let mut slot = table.find(*key);
        if slot == NO_SLOT {
            slot = missing.slot(row, used);
            if slot != NO_SLOT {
                table.insert(*key, slot);
            }
        }
        slot
    }));
}

#[inline]
fn resolve_bytes(bytes: &mut BytesTable, key: &[u8], row: usize, used: &mut Slots, missing: &mut impl OnMissing) -> Slot {
    let hash = bytes_table::hash(key);
    let mut slot = bytes.find(hash, key);
    if slot == NO_SLOT {
        slot = missing.slot(row, used);
        if slot != NO_SLOT {
            bytes.insert(hash, key, slot);
        }
    }
    slot
}

/// How many bits of a word the values of a type take.
fn bits(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Boolean => Some(1),
        ty => fixed::width(ty).map(|w| w * 8),
    }
}

/// Writes the columns of each row side by side into one word, the first column lowest.
fn pack<W: Word + std::ops::BitOr<Output = W>>(columns: &[&ArrayRef], rows: usize, out: &mut Vec<W>) {
    out.clear();
    out.resize(rows, W::default());
    let mut shift = 0;
    for column in columns {
        let width = match column.data_type() {
            DataType::Boolean => {
                let values = column.as_boolean();
                out.iter_mut().enumerate().for_each(|(i, w)| *w = *w | W::shifted(u64::from(values.value(i)), shift));
                shift += 1;
                continue;
            }
            ty => fixed::width(ty).unwrap_or(0),
        };
        let bytes = FixedBytes::of(column.as_ref(), width);
        match width {
            1 => pack_column::<W, 1>(bytes.as_slice(), shift, out),
            2 => pack_column::<W, 2>(bytes.as_slice(), shift, out),
            4 => pack_column::<W, 4>(bytes.as_slice(), shift, out),
            8 => pack_column::<W, 8>(bytes.as_slice(), shift, out),
            _ => {
                // A decimal takes both words of its key, which has no other column.
                for (w, value) in out.iter_mut().zip(bytes.as_slice().as_chunks::<16>().0) {
                    let value = u128::from_le_bytes(*value);
                    *w = W::shifted(value as u64, 0) | W::shifted((value >> 64) as u64, 64);
                }
            }
        }
        shift += width as u32 * 8;
    }
}

#[inline]
fn pack_column<W: Word + std::ops::BitOr<Output = W>, const N: usize>(bytes: &[u8], shift: u32, out: &mut [W]) {
    for (w, value) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
        let mut part = [0u8; 8];
        part[..N].copy_from_slice(value);
        *w = *w | W::shifted(u64::from_le_bytes(part), shift);
    }
}

fn unpack_column<W: Word>(ty: &DataType, words: impl ExactSizeIterator<Item = W>, shift: u32) -> Result<ArrayRef> {
    let len = words.len();
    let width = match ty {
        DataType::Boolean => {
            let values: BooleanBuffer = words.map(|w| w.part(shift) & 1 == 1).collect();
            return Ok(std::sync::Arc::new(BooleanArray::new(values, None)));
        }
        ty => fixed::width(ty).unwrap_or(0),
    };
    let mut bytes = MutableBuffer::with_capacity(len * width);
    match width {
        8 => words.for_each(|w| bytes.push(w.part(shift).to_le())),
        16 => words.for_each(|w| {
            bytes.push(w.part(0).to_le());
            bytes.push(w.part(64).to_le());
        }),
        width => words.for_each(|w| bytes.extend_from_slice(&w.part(shift).to_le_bytes()[..width])),
    }
    fixed::from_bytes(ty, bytes, len, None)
}

#[cfg(test)]
mod tests;
