//! Lists against a plain list.

use proptest::prelude::*;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};

use super::fixtures::{Instances, Model, events, hash, play, subtask};
use crate::typed::{ListState, StateDescriptor, TimeDomain, Ttl};

#[derive(Debug, Clone)]
enum Op {
    Get,
    Add(u16),
    AddMany(u16),
    Put(Vec<u16>),
    Take,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => Just(Op::Get),
        6 => any::<u16>().prop_map(Op::Add),
        1 => (0u16..200).prop_map(Op::AddMany),
        1 => proptest::collection::vec(any::<u16>(), 0..4).prop_map(Op::Put),
        1 => Just(Op::Take),
    ]
}

fn ttl() -> Ttl {
    Ttl::new(10, TimeDomain::EventTime)
}

type Lists = ListState<u8, u16>;

fn step(state: &mut Lists, model: &mut Model<u16>, key: u8, op: Op) {
    match op {
        Op::Get => model.read(key, |_| true),
        Op::Add(item) => {
            state.add(hash(key), &key, item).unwrap();
            model.push(key, item);
        }
        Op::AddMany(count) => {
            state.add_all(hash(key), &key, 0..count).unwrap();
            (0..count).for_each(|item| model.push(key, item));
        }
        Op::Put(items) => {
            state.put(hash(key), &key, items.clone()).unwrap();
            model.remove(key, |_| true);
            items.into_iter().for_each(|item| model.push(key, item));
        }
        Op::Take => assert_eq!(state.take(hash(key), &key).unwrap(), model.remove(key, |_| true)),
    }
    model.read(key, |_| true);
    assert_eq!(state.get(hash(key), &key).unwrap().collect::<Vec<_>>(), model.of(key));
}

fn forever(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Lists {
    Lists::open(&StateDescriptor::new("s"), info, restored).unwrap()
}

fn expiring(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Lists {
    Lists::open(&StateDescriptor::new("s").with_ttl(ttl()), info, restored).unwrap()
}

fn expiring_unread(info: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Lists {
    Lists::open(&StateDescriptor::new("s").with_ttl(ttl().updated_on_read()), info, restored).unwrap()
}

fn all(state: &Lists) -> Vec<(u8, u16)> {
    state.iter().map(|(k, v)| (*k, *v)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn items_are_those_of_a_plain_list_in_their_order(events in events(op())) {
        play(Model::new(None), forever, events.clone(), step, all);
        play(Model::new(Some(ttl())), expiring, events.clone(), step, all);
        play(Model::new(Some(ttl().updated_on_read())), expiring_unread, events, step, all);
    }
}

#[test]
fn a_snapshot_after_an_append_has_the_last_chunk_alone() {
    let mut lists = Instances::new(1, forever);
    lists.of(3).add_all(hash(3), &3, 0..1000).unwrap();
    lists.snapshot(SnapshotMode::Changes);
    lists.of(3).add(hash(3), &3, 1000).unwrap();
    let mut next = OperatorSnapshot::new();
    lists.of(3).snapshot(SnapshotMode::Changes, &mut next).unwrap();
    let segment = next.into_parts().0.remove("s").unwrap().remove(0).remove(0);
    assert_eq!(segment.num_rows(), 1);
    assert_eq!(lists.of(3).len(), 1001);
    let foreign = forever(&subtask(0, 2), None).add(u64::MAX, &9, 1).unwrap_err().to_string();
    assert_eq!(foreign, "state 's': key group 15 belongs to another subtask");
}
