//! State that is not what it is opened as.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use rheos_core::ErrorKind;
use rheos_core::routing::KeyGroups;
use rheos_core::snapshot::{ListKind, OperatorSnapshot, Segment, SnapshotMode};

use super::fixtures::{hash, subtask};
use crate::typed::{ListState, MapState, OperatorList, StateDescriptor, Timers, ValueState};

fn written() -> OperatorSnapshot {
    let mut state: ValueState<u8, String> = ValueState::open(&StateDescriptor::new("names"), &subtask(0, 1), None).unwrap();
    state.put(hash(1), &1, "a long name".into()).unwrap();
    let mut snapshot = OperatorSnapshot::new();
    state.snapshot(SnapshotMode::Full, &mut snapshot).unwrap();
    snapshot
}

macro_rules! refusal {
    ($state:ty, $snapshot:expr) => {{
        let error = <$state>::open(&StateDescriptor::new("names"), &subtask(0, 1), Some(&$snapshot)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FixConfig);
        error.to_string()
    }};
}

#[test]
fn state_of_another_kind_is_refused_by_name() {
    let snapshot = written();
    let value = "it was written as rheos_state::typed::value::ValueState<u8, alloc::string::String>";
    for (error, kind) in [
        (refusal!(ListState<u8, String>, snapshot), "List"),
        (refusal!(MapState<u8, u8, String>, snapshot), "Map"),
        (refusal!(Timers<u8, ()>, snapshot), "Timers"),
    ] {
        assert_eq!(error, format!("state 'names': {value}, and cannot become {kind} state"));
    }
}

#[test]
fn values_and_keys_of_another_type_are_refused_by_name() {
    let snapshot = written();
    let error = refusal!(ValueState<u8, u64>, snapshot);
    assert!(error.starts_with("state 'names': written as rheos_state::typed::value::ValueState<u8, alloc"), "{error}");
    assert!(error.ends_with("what is stored is no u64: 11 bytes are left over"), "{error}");
    let error = refusal!(ValueState<String, String>, snapshot);
    assert!(error.contains("what is stored is no alloc::string::String"), "{error}");
}

#[test]
fn state_that_is_not_typed_is_refused() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let mut snapshot = OperatorSnapshot::new();
    snapshot.put_keyed("names", Segment::base(vec![1], vec![column]).unwrap());
    let error = refusal!(ValueState<u8, u64>, snapshot);
    assert_eq!(error, "state 'names': state of columns (Int64) cannot become state of columns (UInt64, LargeBinary, LargeBinary)");
    let mut snapshot = OperatorSnapshot::new();
    snapshot.put_list("names", ListKind::Split, b"RHOL\x01\x00".to_vec());
    let error = refusal!(ValueState<u8, u64>, snapshot);
    assert_eq!(error, "state 'names': it was written as an operator's list, and cannot become keyed state");
}

#[test]
fn a_newer_encoding_is_refused() {
    let mut snapshot = OperatorSnapshot::new();
    snapshot.put_list("names", ListKind::Union, b"RHKS\x02".to_vec());
    let error = refusal!(ValueState<u8, u64>, snapshot);
    assert_eq!(error, "state 'names': it was written in encoding 2; this Rheos reads encoding 1");
}

#[test]
fn operator_lists_are_shared_out_by_kind_and_refused_as_another() {
    let write = |kind, items: &[u32]| {
        let mut list: OperatorList<u32> = OperatorList::open("positions", kind, None).unwrap();
        list.items.extend(items);
        let mut snapshot = OperatorSnapshot::new();
        list.snapshot(&mut snapshot).unwrap();
        snapshot
    };
    for (kind, wanted) in [
        (ListKind::Split, [vec![1, 4], vec![2], vec![3]]),
        (ListKind::Union, [vec![1, 2, 3, 4], vec![1, 2, 3, 4], vec![1, 2, 3, 4]]),
        (ListKind::Broadcast, [vec![1, 2, 3], vec![1, 2, 3], vec![1, 2, 3]]),
    ] {
        let all = [write(kind, &[1, 2, 3]), write(kind, &[4])];
        for (index, wanted) in wanted.iter().enumerate() {
            let share = OperatorSnapshot::redistribute(&all, index, 3, KeyGroups::all(1));
            let list: OperatorList<u32> = OperatorList::open("positions", kind, Some(&share)).unwrap();
            assert_eq!(&list.items, wanted);
        }
    }
    let split = write(ListKind::Split, &[300]);
    let error = OperatorList::<u32>::open("positions", ListKind::Union, Some(&split)).unwrap_err().to_string();
    assert_eq!(error, "state 'positions': it was written as a list of kind Split, and cannot become one of kind Union");
    let error = OperatorList::<u8>::open("positions", ListKind::Split, Some(&split)).unwrap_err().to_string();
    assert!(error.starts_with("state 'positions': what is stored is no u8"), "{error}");
    let error = OperatorList::<u8>::open("names", ListKind::Split, Some(&written())).unwrap_err().to_string();
    assert_eq!(error, "state 'names': it was not written as an operator's list in an encoding that this Rheos reads");
}
