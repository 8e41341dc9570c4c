//! Alignment, told as the steps that follow from what comes in.

use super::Step::{Abandon, Complete, HoldBack, ReleaseAll, Snapshot};
use super::*;
use crate::barrier::CheckpointKind;

fn never(epoch: Epoch) -> Barrier {
    Barrier { epoch, overtake_from_ms: None, kind: CheckpointKind::Checkpoint, full: false }
}

fn from(epoch: Epoch, ms: TimestampMs) -> Barrier {
    Barrier { epoch, overtake_from_ms: Some(ms), kind: CheckpointKind::Checkpoint, full: false }
}

fn recording(alignment: &Alignment) -> Vec<usize> {
    (0..alignment.inputs.len()).filter(|i| alignment.recording(*i)).collect()
}

#[test]
fn an_input_is_held_back_until_the_barrier_has_come_on_all() {
    let mut a = Alignment::new([true, true]);
    assert_eq!(a.barrier(1, never(1), 0), [HoldBack(1)]);
    assert!(a.held(1) && !a.held(0));
    assert_eq!(a.overtake(i64::MAX), [], "it may never overtake");
    assert_eq!(a.barrier(0, never(1), 9), [HoldBack(0), Snapshot(never(1)), ReleaseAll, Complete(1)]);
    assert!(!a.held(0) && !a.held(1));
    assert_eq!(a.current(), None);
}

#[test]
fn an_ended_input_counts_as_aligned() {
    let mut a = Alignment::new([true, true, true]);
    assert_eq!(a.end(2, 0), []);
    assert_eq!(a.barrier(0, never(1), 0), [HoldBack(0)]);
    assert_eq!(a.end(1, 0), [Snapshot(never(1)), ReleaseAll, Complete(1)]);
    assert_eq!(a.barrier(0, never(2), 0), [HoldBack(0), Snapshot(never(2)), ReleaseAll, Complete(2)]);
}

#[test]
fn from_its_deadline_on_a_barrier_overtakes_and_rows_are_recorded_until_it_comes() {
    let mut a = Alignment::new([true, true, true]);
    assert_eq!(a.barrier(0, from(1, 100), 50), [HoldBack(0)]);
    assert_eq!(a.deadline_ms(), Some(100));
    assert_eq!(a.overtake(99), []);
    assert!(recording(&a).is_empty());
    assert_eq!(a.overtake(100), [Snapshot(from(1, 100)), ReleaseAll]);
    assert_eq!(a.deadline_ms(), None);
    assert_eq!(recording(&a), [1, 2]);
    assert_eq!(a.barrier(1, from(1, 100), 110), []);
    assert_eq!(recording(&a), [2]);
    assert_eq!(a.end(2, 120), [Complete(1)]);
    assert!(recording(&a).is_empty());
}

#[test]
fn edges_that_cannot_be_overtaken_are_waited_for_after_the_deadline() {
    let mut a = Alignment::new([false, true, false]);
    assert_eq!(a.barrier(1, from(1, 0), 5), [HoldBack(1)]);
    assert_eq!(a.barrier(0, from(1, 0), 6), [HoldBack(0)]);
    assert_eq!(a.end(2, 7), [Snapshot(from(1, 0)), ReleaseAll, Complete(1)]);

    let mut a = Alignment::new([false, true]);
    assert_eq!(a.barrier(0, from(1, 0), 5), [HoldBack(0), Snapshot(from(1, 0)), ReleaseAll]);
    assert_eq!(recording(&a), [1]);
    assert_eq!(a.barrier(1, from(1, 0), 6), [Complete(1)]);
}

#[test]
fn a_barrier_that_is_taken_out_of_a_queue_overtakes_the_rows_before_it() {
    let mut a = Alignment::new([true, true, false]);
    assert!(a.awaits(0, from(1, 10)) && !a.awaits(2, from(1, 10)), "only where rows can be overtaken");
    assert_eq!(a.barrier(0, from(1, 10), 10), [HoldBack(0)], "an edge is waited for");
    assert_eq!(a.barrier(2, from(1, 10), 11), [HoldBack(2), Snapshot(from(1, 10)), ReleaseAll]);
    assert_eq!(recording(&a), [1]);
    assert!(a.awaits(1, from(1, 10)), "its rows are taken all at once, instead of one by one");
    assert_eq!(a.barrier(1, from(1, 10), 12), [Complete(1)]);
    assert!(!a.awaits(1, from(1, 10)), "it is over");
}

#[test]
fn a_higher_epoch_abandons_the_current_round() {
    let mut a = Alignment::new([true, true]);
    assert_eq!(a.barrier(0, never(1), 0), [HoldBack(0)]);
    assert_eq!(a.barrier(1, never(2), 0), [Abandon(1), ReleaseAll, HoldBack(1)]);
    assert_eq!(a.barrier(0, never(1), 0), [], "an older one means nothing");
    assert!(!a.held(0));
    assert_eq!(a.barrier(0, never(2), 0), [HoldBack(0), Snapshot(never(2)), ReleaseAll, Complete(2)]);
}

#[test]
fn a_higher_epoch_abandons_a_round_that_is_recording() {
    let mut a = Alignment::new([true, true]);
    a.barrier(0, from(1, 0), 0);
    assert_eq!(recording(&a), [1]);
    assert_eq!(a.barrier(0, never(2), 0), [Abandon(1), HoldBack(0)]);
    assert!(recording(&a).is_empty());
    assert_eq!(a.barrier(1, never(1), 0), [], "the late one of the abandoned round");
    assert_eq!(a.barrier(1, never(2), 0), [HoldBack(1), Snapshot(never(2)), ReleaseAll, Complete(2)]);
}

#[test]
fn an_aborted_snapshot_releases_and_its_late_barriers_mean_nothing() {
    let mut a = Alignment::new([true, true]);
    a.barrier(0, never(3), 0);
    assert_eq!(a.aborted(2), [], "an older one");
    assert_eq!(a.aborted(3), [Abandon(3), ReleaseAll]);
    assert_eq!(a.barrier(1, never(3), 0), []);
    assert_eq!(a.aborted(4), []);
    assert_eq!(a.barrier(0, never(4), 0), [], "aborted before its barrier came");
    assert_eq!(a.barrier(0, never(5), 0), [HoldBack(0)]);
}

#[test]
fn one_input_is_always_aligned() {
    let mut a = Alignment::new([false]);
    assert_eq!(a.barrier(0, never(1), 0), [HoldBack(0), Snapshot(never(1)), ReleaseAll, Complete(1)]);
    assert_eq!(a.barrier(0, never(1), 0), [], "a barrier that comes twice");
}
