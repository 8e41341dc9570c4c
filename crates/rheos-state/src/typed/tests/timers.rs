//! Timers against a plain ordered set.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};

use super::fixtures::{Instances, hash};
use crate::typed::TimeDomain::{self, EventTime, ProcessingTime};
use crate::typed::{StateDescriptor, Timers};

#[derive(Debug, Clone)]
enum Op {
    Register(bool, u8, u8, i64),
    Delete(bool, u8, u8, i64),
    Fire(bool, i64, usize),
    Snapshot(bool),
    Crash(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let timer = || (any::<bool>(), 0u8..8, 0u8..3, -5i64..15);
    prop_oneof![
        12 => timer().prop_map(|(d, k, n, t)| Op::Register(d, k, n, t)),
        4 => timer().prop_map(|(d, k, n, t)| Op::Delete(d, k, n, t)),
        3 => (any::<bool>(), -5i64..15, 0usize..9).prop_map(|(d, t, max)| Op::Fire(d, t, max)),
        1 => any::<bool>().prop_map(Op::Snapshot),
        1 => (1usize..5).prop_map(Op::Crash),
    ]
}

fn domain(is_event_time: bool) -> TimeDomain {
    if is_event_time { EventTime } else { ProcessingTime }
}

type KeyTimers = Timers<u8, u8>;

fn open(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> KeyTimers {
    KeyTimers::open(&StateDescriptor::new("timers"), info, restored).unwrap()
}

/// (is event time, time, hash of the key, namespace, key): in the order in which they fire.
type Model = BTreeSet<(bool, i64, u64, u8, u8)>;

fn fire(timers: &mut KeyTimers, model: &mut Model, d: bool, until_ms: i64, max: usize) {
    let fired = timers.fire_until(domain(d), until_ms, max);
    let fired: Vec<_> = fired.into_iter().map(|t| (d, t.time_ms, t.hash, t.namespace, t.key)).collect();
    // The model has the timers of all instances: those of this one are among them, in order, and none is left out.
    for timer in &fired {
        assert!(model.remove(timer), "{timer:?} fired twice or was never registered");
    }
    assert!(fired.is_sorted());
    if fired.len() < max {
        assert!(timers.next_ms(domain(d)).is_none_or(|next_ms| next_ms > until_ms));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn timers_fire_once_and_in_order_also_across_restores(ops in proptest::collection::vec(op(), 0..200)) {
        let mut instances = Instances::new(2, open);
        let (mut model, mut saved) = (Model::new(), Model::new());
        for op in ops {
            match op {
                Op::Register(d, key, n, t) => {
                    let is_new = instances.of(key).register(domain(d), hash(key), &key, &n, t).unwrap();
                    assert_eq!(is_new, model.insert((d, t, hash(key), n, key)));
                }
                Op::Delete(d, key, n, t) => {
                    let was_there = instances.of(key).delete(domain(d), hash(key), &key, &n, t).unwrap();
                    assert_eq!(was_there, model.remove(&(d, t, hash(key), n, key)));
                }
                Op::Fire(d, t, max) => {
                    instances.states.iter_mut().for_each(|timers| fire(timers, &mut model, d, t, max));
                    if max == 8 {
                        instances.states.iter_mut().for_each(|timers| fire(timers, &mut model, d, t, usize::MAX));
                        assert!(model.iter().all(|timer| timer.0 != d || timer.1 > t));
                    }
                }
                Op::Snapshot(full) => {
                    instances.snapshot(if full { SnapshotMode::Full } else { SnapshotMode::Changes });
                    saved = model.clone();
                }
                Op::Crash(parallelism) => {
                    instances.crash(parallelism);
                    model = saved.clone();
                }
            }
            for d in [false, true] {
                let next_ms = instances.states.iter().filter_map(|timers| timers.next_ms(domain(d))).min();
                assert_eq!(next_ms, model.iter().find(|timer| timer.0 == d).map(|timer| timer.1));
            }
            assert_eq!(instances.states.iter().map(Timers::len).sum::<usize>(), model.len());
        }
    }
}

#[test]
fn a_timer_that_is_registered_while_others_fire_takes_its_turn() {
    let mut instances = Instances::new(1, open);
    let timers = &mut instances.states[0];
    for t in [30, 10, 20] {
        timers.register(EventTime, hash(1), &1, &0, t).unwrap();
    }
    assert!(!timers.register(EventTime, hash(1), &1, &0, 10).unwrap());
    let mut fired = Vec::new();
    while let Some(timer) = timers.fire_next(EventTime, 25) {
        if timer.time_ms == 10 {
            timers.register(EventTime, hash(1), &1, &7, 15).unwrap();
        }
        fired.push((timer.time_ms, timer.namespace));
    }
    assert_eq!(fired, [(10, 0), (15, 7), (20, 0)]);
    assert_eq!((timers.next_ms(EventTime), timers.next_ms(ProcessingTime)), (Some(30), None));
}
