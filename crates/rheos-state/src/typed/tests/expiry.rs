//! When entries expire, in live state and in snapshots.

use arrow::datatypes::DataType;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::MAX_WATERMARK;

use super::fixtures::{hash, subtask};
use crate::typed::TimeDomain::{EventTime, ProcessingTime};
use crate::typed::{StateDescriptor, Ttl, ValueState};

type Values = ValueState<u8, u8>;

const TIMED: [DataType; 4] = [DataType::UInt64, DataType::LargeBinary, DataType::LargeBinary, DataType::Int64];

fn open(ttl: Option<Ttl>, restored: Option<&OperatorSnapshot>) -> Values {
    let descriptor = StateDescriptor::new("s");
    Values::open(&ttl.map_or(descriptor.clone(), |ttl| descriptor.with_ttl(ttl)), &subtask(0, 1), restored).unwrap()
}

fn full(state: &mut Values) -> OperatorSnapshot {
    let mut snapshot = OperatorSnapshot::new();
    state.snapshot(SnapshotMode::Full, &mut snapshot).unwrap();
    snapshot
}

fn rows(snapshot: &OperatorSnapshot) -> usize {
    snapshot.rows("s", &TIMED).unwrap().iter().map(|b| b.num_rows()).sum()
}

/// All values, without a use of them.
fn all(state: &Values) -> Vec<u8> {
    let mut all: Vec<u8> = state.iter().map(|(_, v)| *v).collect();
    all.sort_unstable();
    all
}

#[test]
fn expired_entries_are_in_no_snapshot_and_cleaned_up_step_by_step() {
    let mut state = open(Some(Ttl::new(10, EventTime)), None);
    state.advance(EventTime, 100);
    (0..200).for_each(|key| state.put(hash(key), &key, key).unwrap());
    state.advance(EventTime, 109);
    state.put(hash(200), &200, 200).unwrap();
    assert_eq!((rows(&full(&mut state)), state.len()), (201, 201));
    state.advance(EventTime, 110);
    assert_eq!((all(&state), state.len()), (vec![200], 201), "time alone cleans nothing up");
    (0..50).for_each(|_| assert_eq!(state.get(hash(200), &200).unwrap(), Some(&200)));
    assert!((90..=110).contains(&state.len()), "{} are left", state.len());
    assert_eq!(rows(&full(&mut state)), 1);
    assert_eq!(state.len(), 1);
}

#[test]
fn changes_leave_out_what_expired_since() {
    let mut state = open(Some(Ttl::new(10, EventTime)), None);
    state.advance(EventTime, 100);
    let mut taken = full(&mut state);
    for (key, now_ms) in [(1, 101), (2, 108), (3, 112)] {
        state.advance(EventTime, now_ms);
        state.put(hash(key), &key, key).unwrap();
        let mut next = OperatorSnapshot::new();
        state.snapshot(SnapshotMode::Changes, &mut next).unwrap();
        taken.follow(next);
    }
    assert_eq!(rows(&taken), 2);
    assert_eq!(all(&open(Some(Ttl::new(10, EventTime)), Some(&taken))), [2, 3]);
}

#[test]
fn an_entry_is_as_old_after_a_restore_as_it_was() {
    let ttl = Some(Ttl::new(10, EventTime));
    let mut state = open(ttl, None);
    state.advance(EventTime, 100);
    state.put(hash(1), &1, 1).unwrap();
    state.advance(EventTime, 105);
    let mut again = open(ttl, Some(&full(&mut state)));
    // No watermark has come yet: time is where it was.
    again.put(hash(2), &2, 2).unwrap();
    again.advance(EventTime, 109);
    assert_eq!(all(&again), [1, 2]);
    again.advance(EventTime, 110);
    assert_eq!(all(&again), [2]);
    again.advance(EventTime, 108);
    assert_eq!(all(&again), [2], "time never goes back");
    again.advance(EventTime, 115);
    assert_eq!(all(&again), [0u8; 0]);
}

#[test]
fn only_the_declared_clock_counts_and_the_end_of_the_stream_is_no_time() {
    let mut state = open(Some(Ttl::new(10, ProcessingTime)), None);
    state.advance(ProcessingTime, 100);
    state.put(hash(1), &1, 1).unwrap();
    state.advance(EventTime, 1_000_000);
    assert_eq!(all(&state), [1]);
    state.advance(ProcessingTime, 110);
    assert_eq!(all(&state), [0u8; 0]);
    let mut state = open(Some(Ttl::new(10, EventTime)), None);
    state.put(hash(1), &1, 1).unwrap();
    state.advance(EventTime, MAX_WATERMARK);
    assert_eq!(all(&state), [1]);
}

#[test]
fn reads_count_where_they_are_said_to() {
    for (ttl, left) in [(Ttl::new(10, EventTime), vec![]), (Ttl::new(10, EventTime).updated_on_read(), vec![1])] {
        let mut state = open(Some(ttl), None);
        state.advance(EventTime, 100);
        state.put(hash(1), &1, 1).unwrap();
        state.advance(EventTime, 105);
        state.get(hash(1), &1).unwrap();
        let mut state = open(Some(ttl), Some(&full(&mut state)));
        state.advance(EventTime, 112);
        assert_eq!(all(&state), left);
    }
}

#[test]
fn expired_entries_are_seen_until_cleaned_up_where_they_may_but_not_stored() {
    let ttl = Ttl::new(10, EventTime).updated_on_read().seen_until_cleaned_up();
    let mut state = open(Some(ttl), None);
    state.advance(EventTime, 100);
    (0..100).for_each(|key| state.put(hash(key), &key, key).unwrap());
    state.advance(EventTime, 110);
    // Two are cleaned up before each look; a look does not make what it sees young again.
    assert_eq!(state.get(hash(99), &99).unwrap(), Some(&99));
    assert_eq!(state.get(hash(99), &99).unwrap(), Some(&99));
    assert_eq!((state.len(), all(&state).len()), (96, 96));
    // A write does.
    *state.get_mut(hash(98), &98).unwrap().unwrap() = 7;
    assert_eq!(rows(&full(&mut state)), 1);
    assert_eq!(all(&state), [7]);
}

#[test]
fn a_ttl_can_come_go_and_change_its_clock_between_runs() {
    let ttl = Ttl::new(10, EventTime);
    let mut state = open(None, None);
    state.put(hash(1), &1, 1).unwrap();
    let mut state = open(Some(ttl), Some(&full(&mut state)));
    state.advance(EventTime, 5000);
    assert_eq!(all(&state), [1], "as old as the first watermark");
    state.advance(EventTime, 5009);
    let snapshot = full(&mut state);
    let mut on_another_clock = open(Some(Ttl::new(10, ProcessingTime)), Some(&snapshot));
    on_another_clock.advance(ProcessingTime, 77);
    on_another_clock.advance(ProcessingTime, 86);
    assert_eq!(all(&on_another_clock), [1]);
    on_another_clock.advance(ProcessingTime, 87);
    assert_eq!(all(&on_another_clock), [0u8; 0]);
    assert_eq!(all(&open(None, Some(&snapshot))), [1]);
    let error = Values::open(&StateDescriptor::new("s").with_ttl(Ttl::new(0, EventTime)), &subtask(0, 1), None).unwrap_err();
    assert_eq!(error.to_string(), "state 's': entries that expire after 0 ms: at least 1 is needed");
}

#[test]
fn what_changed_and_expired_before_it_was_cleaned_up_is_not_stored() {
    let descriptor = StateDescriptor::new("s").with_ttl(Ttl::new(10, EventTime));
    let mut state: ValueState<u32, ()> = ValueState::open(&descriptor, &subtask(0, 1), None).unwrap();
    state.advance(EventTime, 100);
    let mut snapshot = OperatorSnapshot::new();
    state.snapshot(SnapshotMode::Full, &mut snapshot).unwrap();
    (0..5000).for_each(|key| state.put(u64::from(key), &key, ()).unwrap());
    state.advance(EventTime, 110);
    let mut next = OperatorSnapshot::new();
    state.snapshot(SnapshotMode::Changes, &mut next).unwrap();
    assert!(state.len() > 3000);
    snapshot.follow(next);
    assert_eq!(rows(&snapshot), 0);
}
