//! Maps against a plain map of maps.

use proptest::prelude::*;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::OperatorSnapshot;

use super::fixtures::{Model, events, hash, play};
use crate::typed::{MapState, StateDescriptor, TimeDomain, Ttl};

#[derive(Debug, Clone)]
enum Op {
    Get(u8),
    Entries,
    Put(u8, i32),
    Add(u8),
    Remove(u8),
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0u8..6).prop_map(Op::Get),
        1 => Just(Op::Entries),
        4 => (0u8..6, any::<i32>()).prop_map(|(m, v)| Op::Put(m, v)),
        2 => (0u8..6).prop_map(Op::Add),
        2 => (0u8..6).prop_map(Op::Remove),
        1 => Just(Op::Clear),
    ]
}

fn ttl() -> Ttl {
    Ttl::new(10, TimeDomain::EventTime)
}

type Maps = MapState<u8, String, i32>;

fn step(state: &mut Maps, model: &mut Model<(String, i32)>, key: u8, op: Op) {
    let name = |m: u8| format!("m{m}");
    let h = hash(key);
    match op {
        Op::Get(m) => {
            model.read(key, |e| e.0 == name(m));
            let wanted = model.of(key).into_iter().find(|e| e.0 == name(m)).map(|e| &e.1);
            assert_eq!(state.get(h, &key, &name(m)).unwrap(), wanted);
        }
        Op::Entries => {
            model.read(key, |_| true);
            let mut found: Vec<(String, i32)> = state.entries(h, &key).unwrap().map(|(m, v)| (m.clone(), *v)).collect();
            let mut wanted: Vec<(String, i32)> = model.of(key).into_iter().cloned().collect();
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted);
        }
        Op::Put(m, value) => {
            state.put(h, &key, &name(m), value).unwrap();
            model.remove(key, |e| e.0 == name(m));
            model.push(key, (name(m), value));
        }
        Op::Add(m) => {
            let kept = state.get_or_insert_with(h, &key, &name(m), || 7).unwrap();
            *kept = kept.wrapping_add(1);
            let before = model.remove(key, |e| e.0 == name(m)).pop().map_or(7, |e| e.1);
            model.push(key, (name(m), before.wrapping_add(1)));
            let kept = *kept;
            assert_eq!(state.get_mut(h, &key, &name(m)).unwrap().copied(), Some(kept));
        }
        Op::Remove(m) => {
            let wanted = model.remove(key, |e| e.0 == name(m)).pop().map(|e| e.1);
            assert_eq!(state.remove(h, &key, &name(m)).unwrap(), wanted);
            assert!(!state.contains(h, &key, &name(m)).unwrap());
        }
        Op::Clear => {
            state.clear(h, &key).unwrap();
            model.remove(key, |_| true);
        }
    }
}

fn forever(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Maps {
    Maps::open(&StateDescriptor::new("s"), info, restored).unwrap()
}

fn expiring(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Maps {
    Maps::open(&StateDescriptor::new("s").with_ttl(ttl()), info, restored).unwrap()
}

fn expiring_unread(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Maps {
    Maps::open(&StateDescriptor::new("s").with_ttl(ttl().updated_on_read()), info, restored).unwrap()
}

fn all(state: &Maps) -> Vec<(u8, (String, i32))> {
    state.iter().map(|(k, m, v)| (*k, (m.clone(), *v))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn entries_are_those_of_a_plain_map_of_maps(events in events(op())) {
        play(Model::new(None), forever, events.clone(), step, all);
        play(Model::new(Some(ttl())), expiring, events.clone(), step, all);
        play(Model::new(Some(ttl().updated_on_read())), expiring_unread, events, step, all);
    }
}
