//! From a key to the subtask that owns it: key, hash, key group, subtask.
//!
//! The hash is over a canonical form of the key and is fixed for ever, since snapshots are cut by key group:
//!
//! ```text
//! hash(row)      := fold over the key columns, from K: h' = mix(h ^ value) * K
//! value(NULL)    := NULL_VALUE
//! value(integer, boolean, date, time, timestamp, interval) := mix(the number, sign-extended to 64 bits)
//! value(float)   := mix(bits of it as f64; -0.0 as 0.0, every NaN as one)
//! value(decimal) := mix(mix(low 64 bits) ^ high 64 bits), of the unscaled value
//! value(text, bytes) := XXH3-64, seed 0
//! value(nested)  := fold over its parts in the same way, the number of parts first
//! mix            := the 64-bit finaliser of MurmurHash3 (Appleby)
//! K              := 0x9E3779B97F4A7C15
//! key group      := (high 32 bits of the hash) * groups / 2^32
//! subtask        := what the routing table says
//! ```

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::batch::Batch;
use crate::error::{Error, Result};

/// The number of a key group.
pub type KeyGroup = u16;

/// How many key groups a job has unless it says otherwise.
pub const DEFAULT_KEY_GROUPS: u32 = 128;
/// How many key groups a job can have at most.
pub const MAX_KEY_GROUPS: u32 = 32_768;

const NULL_VALUE: u64 = 0xA076_1D64_78BD_642F;
const K: u64 = 0x9E37_79B9_7F4A_7C15;

/// The key group of a key's hash.
#[inline]
pub fn key_group(hash: u64, groups: u32) -> KeyGroup {
    (((hash >> 32) * u64::from(groups)) >> 32) as KeyGroup
}

/// Gives each row of a batch the hash of its key. A program's typed keys implement it too.
pub trait KeySelector: Send {
    /// Writes one hash for each row into `hashes`, which is cleared first.
    fn hashes(&mut self, batch: &Batch, hashes: &mut Vec<u64>) -> Result<()>;
}

/// The key is a list of columns.
#[derive(Debug, Clone)]
pub struct ColumnKey {
    columns: Vec<usize>,
}

impl ColumnKey {
    /// The key made of these columns, in this order.
    pub fn new(columns: Vec<usize>) -> Self {
        ColumnKey { columns }
    }
}

impl KeySelector for ColumnKey {
    fn hashes(&mut self, batch: &Batch, hashes: &mut Vec<u64>) -> Result<()> {
        match batch {
            Batch::Columns(b) => {
                let keys: Vec<&ArrayRef> = self.columns.iter().map(|c| b.column(*c)).collect();
                hash_columns(&keys, b.num_rows(), hashes)
            }
            Batch::Rows(b) => Err(Error::bug(format!("a column key for typed rows of {}", b.type_name()))),
        }
    }
}

/// Writes the hash of each row's key into `hashes`, which is cleared first.
pub fn hash_columns(columns: &[&ArrayRef], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
    hashes.clear();
    hashes.resize(rows, K);
    for column in columns {
        fold_column(column.as_ref(), hashes)?;
    }
    Ok(())
}

#[inline]
fn mix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k ^= k >> 33;
    k = k.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    k ^ (k >> 33)
}

#[inline]
fn fold(hash: u64, value: u64) -> u64 {
    mix(hash ^ value).wrapping_mul(K)
}

#[inline]
fn of_float(v: f64) -> u64 {
    let canonical = if v == 0.0 {
        0.0f64
    } else if v.is_nan() {
        f64::NAN
    } else {
        v
    };
    mix(canonical.to_bits())
}

fn fold_column(column: &dyn Array, hashes: &mut [u64]) -> Result<()> {
    match column.data_type() {
        DataType::Boolean => fold_with(column, hashes, |a: &arrow::array::BooleanArray, i| mix(u64::from(a.value(i)))),
        DataType::Int8 => fold_numbers::<Int8Type>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Int16 => fold_numbers::<Int16Type>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Int32 => fold_numbers::<Int32Type>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Int64 => fold_numbers::<Int64Type>(column, hashes, |v| mix(v as u64)),
        DataType::Date32 => fold_numbers::<Date32Type>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Time32(_) => fold_numbers::<Time32MillisecondType>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => fold_numbers::<TimestampMillisecondType>(column, hashes, |v| mix(v as u64)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => fold_numbers::<TimestampMicrosecondType>(column, hashes, |v| mix(v as u64)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => fold_numbers::<TimestampNanosecondType>(column, hashes, |v| mix(v as u64)),
        DataType::Interval(_) => fold_numbers::<IntervalYearMonthType>(column, hashes, |v| mix(i64::from(v) as u64)),
        DataType::Duration(_) => fold_numbers::<DurationMillisecondType>(column, hashes, |v| mix(v as u64)),
        DataType::Float32 => fold_numbers::<Float32Type>(column, hashes, |v| of_float(f64::from(v))),
        DataType::Float64 => fold_numbers::<Float64Type>(column, hashes, of_float),
        DataType::Decimal128(..) => fold_numbers::<Decimal128Type>(column, hashes, |v| mix(mix(v as u64) ^ (v >> 64) as u64)),
        DataType::Utf8 => fold_with(column, hashes, |a: &arrow::array::StringArray, i| xxh3_64(a.value(i).as_bytes())),
        DataType::Binary => fold_with(column, hashes, |a: &arrow::array::BinaryArray, i| xxh3_64(a.value(i))),
        DataType::Null => {
            hashes.iter_mut().for_each(|h| *h = fold(*h, NULL_VALUE));
            Ok(())
        }
        DataType::Struct(_) => {
            let parts = column.as_struct();
            let mut nested = vec![fold(0, parts.num_columns() as u64); column.len()];
            for part in parts.columns() {
                fold_column(part.as_ref(), &mut nested)?;
            }
            fold_nested(column, hashes, &nested);
            Ok(())
        }
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            fold_ranges(column, list.offsets(), list.values().as_ref(), hashes)
        }
        DataType::Map(..) => {
            let map = column.as_map();
            fold_ranges(column, map.offsets(), map.entries(), hashes)
        }
        other => Err(Error::bug(format!("no key hash for {other}"))),
    }
}

fn fold_nested(column: &dyn Array, hashes: &mut [u64], nested: &[u64]) {
    for (i, hash) in hashes.iter_mut().enumerate() {
        *hash = fold(*hash, if column.is_null(i) { NULL_VALUE } else { nested[i] });
    }
}

fn fold_ranges(column: &dyn Array, offsets: &[i32], items: &dyn Array, hashes: &mut [u64]) -> Result<()> {
    let mut item_hashes = vec![0u64; items.len()];
    fold_column(items, &mut item_hashes)?;
    let nested: Vec<u64> = offsets
        .windows(2)
        .map(|w| item_hashes[w[0] as usize..w[1] as usize].iter().fold(fold(0, (w[1] - w[0]) as u64), |h, v| fold(h, *v)))
        .collect();
    fold_nested(column, hashes, &nested);
    Ok(())
}

fn fold_numbers<T: ArrowPrimitiveType>(column: &dyn Array, hashes: &mut [u64], value: impl Fn(T::Native) -> u64) -> Result<()> {
    let array = column.as_primitive_opt::<T>().ok_or_else(|| Error::bug(format!("no key hash for {}", column.data_type())))?;
    if array.null_count() == 0 {
        for (hash, v) in hashes.iter_mut().zip(array.values()) {
            *hash = fold(*hash, value(*v));
        }
    } else {
        for (i, hash) in hashes.iter_mut().enumerate() {
            *hash = fold(*hash, if array.is_null(i) { NULL_VALUE } else { value(array.value(i)) });
        }
    }
    Ok(())
}

fn fold_with<A: Array + 'static>(column: &dyn Array, hashes: &mut [u64], value: impl Fn(&A, usize) -> u64) -> Result<()> {
    let array = column.as_any().downcast_ref::<A>().ok_or_else(|| Error::bug(format!("no key hash for {}", column.data_type())))?;
    for (i, hash) in hashes.iter_mut().enumerate() {
        *hash = fold(*hash, if array.is_null(i) { NULL_VALUE } else { value(array, i) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int32Array, Int64Array, ListArray, StringArray};

    use super::*;

    fn hashes(columns: &[ArrayRef]) -> Vec<u64> {
        let mut out = Vec::new();
        hash_columns(&columns.iter().collect::<Vec<_>>(), columns[0].len(), &mut out).unwrap();
        out
    }

    /// These values are in snapshots: a change of them loses state.
    #[test]
    fn the_hash_is_pinned() {
        let int: ArrayRef = Arc::new(Int64Array::from(vec![Some(0), Some(1), Some(-1), None]));
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some(""), Some("a"), Some("rheos"), None]));
        assert_eq!(hashes(&[Arc::clone(&int)]), PINNED_INTS);
        assert_eq!(hashes(&[Arc::clone(&text)]), PINNED_TEXTS);
        assert_eq!(hashes(&[int, text]), PINNED_PAIRS);
    }

    #[test]
    fn integers_of_any_width_and_equal_floats_hash_alike() {
        assert_eq!(hashes(&[Arc::new(Int32Array::from(vec![7]))]), hashes(&[Arc::new(Int64Array::from(vec![7]))]));
        assert_eq!(hashes(&[Arc::new(Float64Array::from(vec![0.0]))]), hashes(&[Arc::new(Float64Array::from(vec![-0.0]))]));
    }

    #[test]
    fn lists_hash_by_content_also_when_sliced() {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(9)]), Some(vec![Some(1), None]), None]);
        let same = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None]), None]);
        assert_eq!(hashes(&[Arc::new(list.slice(1, 2))]), hashes(&[Arc::new(same)]));
    }

    const PINNED_INTS: [u64; 4] = [10860294647602229554, 1741904620250811315, 17644122326044152426, 911511469082868448];
    const PINNED_TEXTS: [u64; 4] = [5176492577143233426, 12305454882663487727, 4297980965112032575, 911511469082868448];
    const PINNED_PAIRS: [u64; 4] = [13106849909412620926, 15381628271671091527, 8147564792665406094, 5411312499976359889];
}
