//! Values, reductions and aggregates against a plain map.

use proptest::prelude::*;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::OperatorSnapshot;

use super::fixtures::{Model, events, hash, play};
use crate::typed::{Aggregate, AggregatingState, ReducingState, StateDescriptor, TimeDomain, Ttl, ValueState};

#[derive(Debug, Clone)]
enum Op {
    Get,
    Put(i32),
    Add(i32),
    Touch(i32),
    Remove,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::Get),
        3 => any::<i32>().prop_map(Op::Put),
        3 => (0..100).prop_map(Op::Add),
        1 => any::<i32>().prop_map(Op::Touch),
        2 => Just(Op::Remove),
    ]
}

fn ttl() -> Ttl {
    Ttl::new(10, TimeDomain::EventTime)
}

type Values = ValueState<u8, i32>;

fn step(state: &mut Values, model: &mut Model<i32>, key: u8, op: Op) {
    match op {
        Op::Get => {
            model.read(key, |_| true);
            assert_eq!(state.get(hash(key), &key).unwrap(), model.of(key).pop());
        }
        Op::Put(value) => {
            state.put(hash(key), &key, value).unwrap();
            model.remove(key, |_| true);
            model.push(key, value);
        }
        Op::Add(value) => {
            *state.get_or_default(hash(key), &key).unwrap() += value;
            let before = model.remove(key, |_| true).pop().unwrap_or(0);
            model.push(key, before.wrapping_add(value));
        }
        Op::Touch(value) => {
            let found = state.get_mut(hash(key), &key).unwrap().map(|kept| *kept = value);
            assert_eq!(found.is_some(), model.remove(key, |_| true).pop().map(|_| model.push(key, value)).is_some());
        }
        Op::Remove => assert_eq!(state.remove(hash(key), &key).unwrap(), model.remove(key, |_| true).pop()),
    }
}

fn all(state: &Values) -> Vec<(u8, i32)> {
    state.iter().map(|(k, v)| (*k, *v)).collect()
}

fn forever(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Values {
    Values::open(&StateDescriptor::new("s"), info, restored).unwrap()
}

fn expiring(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Values {
    Values::open(&StateDescriptor::new("s").with_ttl(ttl()), info, restored).unwrap()
}

fn expiring_unread(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Values {
    Values::open(&StateDescriptor::new("s").with_ttl(ttl().updated_on_read()), info, restored).unwrap()
}

/// The sum of what is added, and how often it was.
struct Sums;

impl Aggregate for Sums {
    type Input = i32;
    type Accumulator = (i64, u32);
    type Output = String;

    fn create(&self) -> (i64, u32) {
        (0, 0)
    }

    fn add(&self, accumulator: &mut (i64, u32), input: i32) {
        self.merge(accumulator, (i64::from(input), 1));
    }

    fn result(&self, accumulator: &(i64, u32)) -> String {
        format!("{accumulator:?}")
    }

    fn merge(&self, accumulator: &mut (i64, u32), other: (i64, u32)) {
        accumulator.0 += other.0;
        accumulator.1 += other.1;
    }
}

type Reducing = ReducingState<u8, Vec<i32>, fn(&mut Vec<i32>, Vec<i32>)>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn values_are_those_of_a_plain_map(events in events(op())) {
        play(Model::new(None), forever, events.clone(), step, all);
        play(Model::new(Some(ttl())), expiring, events.clone(), step, all);
        play(Model::new(Some(ttl().updated_on_read())), expiring_unread, events, step, all);
    }

    #[test]
    fn values_are_reduced_in_the_order_in_which_they_come(events in events(op())) {
        let open = |info: &SubtaskInfo, restored: Option<&OperatorSnapshot>| {
            let append: fn(&mut Vec<i32>, Vec<i32>) = |kept, more| kept.extend(more);
            Reducing::open(&StateDescriptor::new("s").with_ttl(ttl()), append, info, restored).unwrap()
        };
        let step = |state: &mut Reducing, model: &mut Model<Vec<i32>>, key: u8, op: Op| match op {
            Op::Remove => assert_eq!(state.remove(hash(key), &key).unwrap(), model.remove(key, |_| true).pop()),
            Op::Get => assert_eq!(state.get(hash(key), &key).unwrap(), model.of(key).pop()),
            Op::Put(value) | Op::Add(value) | Op::Touch(value) => {
                state.add(hash(key), &key, vec![value]).unwrap();
                let mut kept = model.remove(key, |_| true).pop().unwrap_or_default();
                kept.push(value);
                model.push(key, kept);
            }
        };
        play(Model::new(Some(ttl())), open, events, step, |state| state.iter().map(|(k, v)| (*k, v.clone())).collect());
    }

    #[test]
    fn inputs_are_aggregated_and_accumulators_merged(events in events(op())) {
        let open = |info: &SubtaskInfo, restored: Option<&OperatorSnapshot>| {
            AggregatingState::open(&StateDescriptor::new("s").with_ttl(ttl()), Sums, info, restored).unwrap()
        };
        let step = |state: &mut AggregatingState<u8, Sums>, model: &mut Model<(i64, u32)>, key: u8, op: Op| {
            let mut add = |value: i32, count| {
                let kept = model.remove(key, |_| true).pop().unwrap_or_default();
                model.push(key, (kept.0 + i64::from(value), kept.1 + count));
            };
            match op {
                Op::Remove => assert_eq!(state.remove(hash(key), &key).unwrap(), model.remove(key, |_| true).pop()),
                Op::Get => assert_eq!(state.get(hash(key), &key).unwrap(), model.of(key).pop().map(|a| Sums.result(a))),
                Op::Put(value) | Op::Add(value) => {
                    state.add(hash(key), &key, value).unwrap();
                    add(value, 1);
                }
                Op::Touch(value) => {
                    state.merge(hash(key), &key, (i64::from(value), 3)).unwrap();
                    add(value, 3);
                }
            }
        };
        play(Model::new(Some(ttl())), open, events, step, |state| state.iter().map(|(k, v)| (*k, *v)).collect());
    }
}
