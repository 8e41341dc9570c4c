//! Segments, chains and how state is given out.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use super::*;
use crate::key_group::KeyGroup;
use crate::routing::RoutingTable;

const TYPES: [DataType; 1] = [DataType::Int64];

fn column(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn segment(kind: SegmentKind, removed: &[u32], rows: &[(u32, KeyGroup, i64)]) -> Segment {
    let numbers: Vec<u32> = rows.iter().map(|r| r.0).collect();
    let groups: Vec<KeyGroup> = rows.iter().map(|r| r.1).collect();
    let values: Vec<i64> = rows.iter().map(|r| r.2).collect();
    Segment::new(kind, removed.to_vec(), numbers, groups, vec![column(&values)]).unwrap()
}

fn values(snapshot: &OperatorSnapshot, name: &str) -> Vec<i64> {
    let batches = snapshot.rows(name, &TYPES).unwrap();
    let mut values: Vec<i64> = batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    values.sort_unstable();
    values
}

fn stored(segment: Segment) -> Segment {
    Segment::decode(segment.encode().unwrap()).unwrap()
}

#[test]
fn state_goes_where_its_kind_says() {
    let mut a = OperatorSnapshot::new();
    a.put_keyed("counts", segment(SegmentKind::Base, &[], &[(0, 1, 1), (1, 100, 100)]));
    a.put_list("positions", ListKind::Split, vec![0]);
    a.put_list("rules", ListKind::Broadcast, vec![7]);
    let mut b = OperatorSnapshot::new();
    b.put_keyed("counts", stored(segment(SegmentKind::Base, &[], &[(0, 70, 70)])));
    b.put_list("positions", ListKind::Split, vec![1]);
    b.put_list("rules", ListKind::Broadcast, vec![7]);
    b.put_list("all", ListKind::Union, vec![9]);
    let all = [a, b];
    let second = OperatorSnapshot::redistribute(&all, 1, 2, RoutingTable::contiguous(128, 2).groups_of(1));
    assert_eq!(values(&second, "counts"), [70, 100]);
    assert_eq!(second.list("positions"), &[vec![1]]);
    assert_eq!(second.list("rules"), &[vec![7]]);
    assert_eq!(second.list("all"), &[vec![9]]);
}

#[test]
fn deltas_replace_add_and_remove_rows_of_their_chain() {
    let chain = || {
        vec![
            stored(segment(SegmentKind::Base, &[], &[(0, 5, 10), (1, 90, 11), (2, 5, 12)])),
            segment(SegmentKind::Delta, &[2], &[(1, 90, 21), (3, 7, 23)]),
            // A number that was given back is used again, by a key of another group.
            stored(segment(SegmentKind::Delta, &[3, 9], &[(2, 91, 32)])),
        ]
    };
    let mut snapshot = OperatorSnapshot::new();
    snapshot.put_chain("s", chain());
    // Another instance's chain has row numbers of its own.
    snapshot.put_chain("s", vec![segment(SegmentKind::Base, &[], &[(0, 6, 99)])]);
    assert_eq!(values(&snapshot, "s"), [10, 21, 32, 99]);
    let halves = RoutingTable::contiguous(128, 2);
    let half = |i| OperatorSnapshot::redistribute(std::slice::from_ref(&snapshot), i, 2, halves.groups_of(i));
    assert_eq!(values(&half(0), "s"), [10, 99]);
    assert_eq!(values(&half(1), "s"), [21, 32]);

    let mut wrong = OperatorSnapshot::new();
    wrong.put_chain("s", chain().split_off(1));
    assert!(wrong.rows("s", &TYPES).unwrap_err().to_string().contains("not a base and its deltas"));
}

#[test]
fn bytes_that_are_no_segment_are_an_error_wherever_they_are_cut_or_changed() {
    let whole = segment(SegmentKind::Delta, &[4, 5], &[(0, 5, 10), (1, 90, 11)]).encode().unwrap();
    for end in 0..whole.len() {
        assert!(Segment::decode(whole.slice(..end)).is_err(), "cut at {end} of {}", whole.len());
    }
    for at in (0..whole.len()).filter(|at| !(6..8).contains(at)) {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 0xFF;
        assert!(Segment::decode(bytes.into()).is_err(), "changed at {at}");
    }
    let mut newer = whole.to_vec();
    newer[4] = 2;
    assert!(Segment::decode(newer.into()).unwrap_err().to_string().contains("version 2"));
}

#[test]
fn state_of_other_types_is_refused() {
    let mut snapshot = OperatorSnapshot::new();
    snapshot.put_keyed("s", segment(SegmentKind::Base, &[], &[(0, 1, 1)]));
    let error = snapshot.rows("s", &[DataType::Utf8]).unwrap_err().to_string();
    assert!(error.contains("(Int64) cannot become state of columns (Utf8)"), "{error}");
}
