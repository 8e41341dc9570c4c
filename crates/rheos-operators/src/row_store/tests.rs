//! The store keeps rows under their slots whatever happens to pieces below.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use rheos_core::env::{Random, SplitMix64};

use super::*;

fn columns(values: &[i64]) -> Vec<ArrayRef> {
    let texts = StringArray::from_iter(values.iter().map(|v| (v % 3 != 0).then(|| format!("text {v}"))));
    vec![Arc::new(Int64Array::from(values.to_vec())), Arc::new(texts)]
}

fn store() -> RowStore {
    RowStore::new(vec![DataType::Int64, DataType::Utf8])
}

#[test]
fn rows_are_found_under_their_slots_after_many_additions_and_removals() {
    for (max_batch, settle_each) in [(1, 1), (40, 3), (9000, 1)] {
        let random = SplitMix64::new(max_batch);
        let (mut store, mut live, mut value) = (store(), BTreeMap::new(), 0i64);
        for round in 0..if max_batch > 1000 { 12 } else { 150 } {
            let batch: Vec<i64> = (0..1 + random.next_u64() % max_batch).map(|i| value + i as i64).collect();
            value += batch.len() as i64;
            let mut slots = Vec::new();
            store.append(&columns(&batch), batch.len(), &mut slots).unwrap();
            for (slot, value) in slots.into_iter().zip(batch) {
                assert_eq!(live.insert(slot, value), None, "slot {slot} was given twice");
            }
            let keep = 30 + random.next_u64() % 60;
            let gone: Vec<u32> = live.keys().copied().filter(|_| random.next_u64() % 100 > keep).collect();
            gone.iter().for_each(|slot| store.remove(*slot));
            let read = store.gather(&[0], &gone).unwrap();
            assert!(
                gone.iter().zip(read[0].as_primitive::<Int64Type>().values()).all(|(slot, v)| live[slot] == *v),
                "removed rows are read"
            );
            live.retain(|slot, _| gone.binary_search(slot).is_err());
            if round % settle_each == 0 {
                store.settle().unwrap();
            }
            assert_eq!(store.len(), live.len());
            let slots: Vec<u32> = live.keys().copied().chain([NO_ROW]).collect();
            let read = store.gather_all(&slots).unwrap();
            let wanted = columns(&live.values().copied().collect::<Vec<_>>());
            assert_eq!(read.iter().map(|c| c.slice(0, live.len())).collect::<Vec<_>>(), wanted);
            assert!(read.iter().all(|c| c.is_null(live.len())), "no row gives NULLs");
        }
        store.settle().unwrap();
        assert!(store.pieces.len() < 60, "{} pieces", store.pieces.len());
        let held: usize = store.pieces.iter().map(Piece::len).sum();
        assert!(held <= 2 * live.len() + 2, "{held} rows held for {}", live.len());
    }
}

#[test]
fn equal_rows_are_found_and_taken_out_one_by_one() {
    let (mut store, mut index) = (store(), RowIndex::default());
    let rows = columns(&[4, 5, 4, 3, 4]);
    let mut slots = Vec::new();
    store.append(&rows, 5, &mut slots).unwrap();
    for (row, slot) in slots.iter().enumerate() {
        // One hash for all: only the values tell them apart.
        index.add(1, *slot, |other| store.equals(other, &rows, row));
    }
    let wanted = columns(&[4, 3]);
    let mut taken: Vec<u32> = (0..3).filter_map(|_| index.remove(1, |other| store.equals(other, &wanted, 0))).collect();
    taken.sort_unstable();
    assert_eq!(taken, [slots[0], slots[2], slots[4]]);
    assert_eq!(index.remove(1, |other| store.equals(other, &wanted, 0)), None);
    assert_eq!(index.remove(1, |other| store.equals(other, &wanted, 1)), Some(slots[3]));
}
