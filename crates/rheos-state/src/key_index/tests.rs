//! Keys of all kinds against a plain map of displayed rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    BooleanArray, Decimal128Array, Float64Array, Int16Array, Int32Array, Int64Array, ListArray, StringArray, TimestampMillisecondArray,
};
use arrow::datatypes::Int32Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;
use rheos_core::env::{Random, SplitMix64};

use super::*;

const ROWS: usize = 300;

/// Key columns of few distinct values, chosen by `picks`; NULL about once in eight where `nulls`.
fn columns(shape: usize, picks: &[u32], nulls: bool) -> Vec<ArrayRef> {
    let pick = |salt: u32| -> Vec<Option<i64>> {
        picks
            .iter()
            .map(|p| {
                let p = p.wrapping_mul(salt | 1) >> 7;
                (!nulls || p % 8 != 0).then_some(i64::from(p / 8 % 6) - 2)
            })
            .collect()
    };
    let ints: ArrayRef = Arc::new(Int64Array::from(pick(3)));
    let small: ArrayRef = Arc::new(Int16Array::from_iter(pick(5).into_iter().map(|v| v.map(|v| v as i16))));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter(pick(7).into_iter().map(|v| v.map(|v| "long ".repeat(v.unsigned_abs() as usize * 20)))));
    let flags: ArrayRef = Arc::new(BooleanArray::from_iter(pick(9).into_iter().map(|v| v.map(|v| v > 0))));
    let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(pick(11)));
    let decimals = Decimal128Array::from_iter(pick(13).into_iter().map(|v| v.map(|v| i128::from(v) << 90)));
    let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(38, 2).unwrap());
    let floats: ArrayRef = Arc::new(Float64Array::from_iter(pick(15).into_iter().map(|v| v.map(|v| v as f64 / 4.0))));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
        pick(17).into_iter().map(|v| v.map(|v| vec![Some(v as i32); v.unsigned_abs() as usize])),
    ));
    match shape {
        0 => vec![ints],
        1 => vec![small, flags],
        2 => vec![ints, times],
        3 => vec![decimals],
        4 => vec![ints, texts],
        5 => vec![decimals, floats, lists, flags],
        6 => vec![floats],
        _ => vec![],
    }
}

fn shown(columns: &[ArrayRef], rows: usize) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formats: Vec<_> = columns.iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
    (0..rows).map(|i| formats.iter().map(|f| f.value(i).to_string()).collect::<Vec<_>>().join("|")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_keys_have_equal_slots_and_come_back(
        shape in 0usize..8, nulls: bool, seed: u64, offset in 0usize..5,
    ) {
        let random = SplitMix64::new(seed);
        let picks: Vec<u32> = (0..ROWS * 3).map(|_| random.next_u64() as u32).collect();
        let types: Vec<DataType> = columns(shape, &picks[..1], nulls).iter().map(|c| c.data_type().clone()).collect();
        let mut index = KeyIndex::new(&types).unwrap();
        let mut model: HashMap<String, Slot> = HashMap::new();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        for part in picks.chunks(ROWS) {
            let rows = ROWS - offset;
            let batch: Vec<ArrayRef> = columns(shape, part, nulls).iter().map(|c| c.slice(offset, rows)).collect();
            let keys: Vec<&ArrayRef> = batch.iter().collect();
            let shown_keys = shown(&batch, rows);
            index.find(&keys, rows, &mut slots).unwrap();
            let expected: Vec<Slot> = shown_keys.iter().map(|k| model.get(k).copied().unwrap_or(NO_SLOT)).collect();
            prop_assert_eq!(&slots, &expected);
            index.resolve(&keys, rows, &mut slots, &mut new_rows).unwrap();
            for row in &new_rows {
                prop_assert_eq!(model.insert(shown_keys[*row as usize].clone(), slots[*row as usize]), None);
            }
            let expected: Vec<Slot> = shown_keys.iter().map(|k| model[k]).collect();
            prop_assert_eq!(&slots, &expected);
            prop_assert_eq!(shown(&index.keys(&slots).unwrap(), rows), shown_keys);
            let gone: Vec<Slot> = index.slots().into_iter().filter(|s| s % 3 == 0).collect();
            index.remove(&gone);
            model.retain(|_, slot| *slot % 3 != 0);
            prop_assert_eq!(index.len(), model.len());
        }
    }
}

#[test]
fn zeros_are_equal_and_so_are_nans() {
    let mut index = KeyIndex::new(&[DataType::Float64]).unwrap();
    let keys: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]));
    let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
    index.resolve(&[&keys], 5, &mut slots, &mut new_rows).unwrap();
    assert_eq!(slots, [0, 0, 1, 1, 2]);
    assert_eq!(new_rows, [0, 2, 4]);
}

#[test]
fn keys_of_other_types_are_refused() {
    let mut index = KeyIndex::new(&[DataType::Int64]).unwrap();
    let keys: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert!(index.find(&[&keys], 1, &mut Vec::new()).is_err());
}
