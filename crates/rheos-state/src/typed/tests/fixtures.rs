//! The instances of one operator's state, and an expiring model of it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rheos_core::Result;
use rheos_core::key_group::key_group;
use rheos_core::operator::SubtaskInfo;
use rheos_core::routing::RoutingTable;
use rheos_core::snapshot::{OperatorSnapshot, Segment, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};

use crate::typed::{TimeDomain, Ttl, TtlUpdate};

const GROUPS: u32 = 16;

pub(super) fn hash(key: u8) -> u64 {
    u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

pub(super) fn subtask(index: usize, parallelism: usize) -> SubtaskInfo {
    SubtaskInfo {
        job: String::new(),
        uid: "op".into(),
        name: "Op".into(),
        index,
        parallelism,
        key_groups: RoutingTable::contiguous(GROUPS, parallelism).groups_of(index),
        key_group_count: GROUPS,
    }
}

/// As it comes back from storage.
fn stored(snapshot: OperatorSnapshot) -> OperatorSnapshot {
    let (keyed, lists) = snapshot.into_parts();
    let mut stored = OperatorSnapshot::new();
    for (name, chains) in keyed {
        for segment in chains.into_iter().flatten() {
            stored.put_keyed(&name, Segment::decode(segment.encode().unwrap()).unwrap());
        }
    }
    for (name, (kind, items)) in lists {
        items.into_iter().for_each(|item| stored.put_list(&name, kind, item));
    }
    stored
}

/// What the tests need of a state.
pub(super) trait Snapshotted {
    fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()>;
    fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs);
}

macro_rules! snapshotted {
    ($($state:ty [$($of:tt)*])*) => {$(
        impl<$($of)*> Snapshotted for $state {
            fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
                <$state>::snapshot(self, mode, into)
            }

            fn advance(&mut self, domain: TimeDomain, now_ms: TimestampMs) {
                <$state>::advance(self, domain, now_ms)
            }
        }
    )*};
}

use crate::typed::{Aggregate, AggregatingState, ListState, MapState, ReducingState, StateKey, StateValue, Timers, ValueState};
snapshotted! {
    ValueState<K, V> [K: StateKey, V: StateValue]
    ListState<K, V> [K: StateKey, V: StateValue]
    MapState<K, M, V> [K: StateKey, M: StateKey + std::hash::Hash, V: StateValue]
    ReducingState<K, V, F> [K: StateKey, V: StateValue, F: Fn(&mut V, V)]
    AggregatingState<K, A> [K: StateKey, A: Aggregate]
}

impl<K: StateKey, N: StateKey + Ord + std::hash::Hash> Snapshotted for Timers<K, N> {
    fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        Timers::snapshot(self, mode, into)
    }

    fn advance(&mut self, _: TimeDomain, _: TimestampMs) {}
}

/// All instances, each with what its snapshots make together.
pub(super) struct Instances<S> {
    pub(super) states: Vec<S>,
    pub(super) taken: Vec<OperatorSnapshot>,
    open: fn(&SubtaskInfo, Option<&OperatorSnapshot>) -> S,
}

impl<S: Snapshotted> Instances<S> {
    pub(super) fn new(parallelism: usize, open: fn(&SubtaskInfo, Option<&OperatorSnapshot>) -> S) -> Self {
        let states: Vec<S> = (0..parallelism).map(|index| open(&subtask(index, parallelism), None)).collect();
        let mut all = Instances { states, taken: vec![OperatorSnapshot::new(); parallelism], open };
        all.snapshot(SnapshotMode::Full);
        all
    }

    /// The instance that owns a key.
    pub(super) fn of(&mut self, key: u8) -> &mut S {
        let owner = RoutingTable::contiguous(GROUPS, self.states.len()).owner(key_group(hash(key), GROUPS));
        &mut self.states[owner as usize]
    }

    pub(super) fn advance(&mut self, now_ms: TimestampMs) {
        self.states.iter_mut().for_each(|state| state.advance(TimeDomain::EventTime, now_ms));
    }

    pub(super) fn snapshot(&mut self, mode: SnapshotMode) {
        for (state, taken) in self.states.iter_mut().zip(&mut self.taken) {
            let mut next = OperatorSnapshot::new();
            state.snapshot(mode, &mut next).unwrap();
            taken.follow(stored(next));
        }
    }

    /// All instances die, and others begin with the last snapshot.
    pub(super) fn crash(&mut self, parallelism: usize) {
        let open = |index| {
            let info = subtask(index, parallelism);
            let share = OperatorSnapshot::redistribute(&self.taken, index, parallelism, info.key_groups.clone());
            (self.open)(&info, Some(&share))
        };
        self.states = (0..parallelism).map(open).collect();
        self.taken = vec![OperatorSnapshot::new(); parallelism];
        self.snapshot(SnapshotMode::Full);
    }
}

/// Something that happens to any state.
#[derive(Debug, Clone)]
pub(super) enum Event<O> {
    /// An operation of the state, on a key.
    Op(u8, O),
    Advance(TimestampMs),
    Snapshot(SnapshotMode),
    Crash(usize),
}

pub(super) fn events<O: std::fmt::Debug + Clone + 'static>(op: impl Strategy<Value = O> + 'static) -> impl Strategy<Value = Vec<Event<O>>> {
    let event = prop_oneof![
        20 => (0u8..12, op).prop_map(|(key, op)| Event::Op(key, op)),
        4 => (0i64..8).prop_map(Event::Advance),
        2 => Just(Event::Snapshot(SnapshotMode::Changes)),
        1 => Just(Event::Snapshot(SnapshotMode::Full)),
        1 => (1usize..5).prop_map(Event::Crash),
    ];
    proptest::collection::vec(event, 0..200)
}

/// Entries with the times of their last use.
#[derive(Debug, Clone)]
pub(super) struct Model<E> {
    ttl: Option<Ttl>,
    now_ms: TimestampMs,
    pub(super) entries: BTreeMap<u8, Vec<(E, TimestampMs)>>,
}

impl<E> Model<E> {
    pub(super) fn new(ttl: Option<Ttl>) -> Self {
        Model { ttl, now_ms: MIN_WATERMARK, entries: BTreeMap::new() }
    }

    pub(super) fn advance(&mut self, by_ms: TimestampMs) -> TimestampMs {
        let first = self.now_ms == MIN_WATERMARK;
        self.now_ms = if first { 1000 } else { self.now_ms + by_ms };
        let (ttl, now_ms) = (self.ttl, self.now_ms);
        self.entries.values_mut().flatten().filter(|_| first).for_each(|(_, used_ms)| *used_ms = now_ms);
        let is_live = |used_ms: TimestampMs| ttl.is_none_or(|ttl| now_ms < used_ms + ttl.after_ms as i64);
        self.entries.values_mut().for_each(|entries| entries.retain(|(_, used_ms)| is_live(*used_ms)));
        self.entries.retain(|_, entries| !entries.is_empty());
        now_ms
    }

    /// Notes that a key's entries are read.
    pub(super) fn read(&mut self, key: u8, is_read: impl Fn(&E) -> bool) {
        if self.ttl.is_some_and(|ttl| ttl.update == TtlUpdate::OnReadAndWrite) {
            let now_ms = self.now_ms;
            self.entries.get_mut(&key).into_iter().flatten().filter(|(e, _)| is_read(e)).for_each(|(_, used_ms)| *used_ms = now_ms);
        }
    }

    pub(super) fn of(&self, key: u8) -> Vec<&E> {
        self.entries.get(&key).into_iter().flatten().map(|(e, _)| e).collect()
    }

    pub(super) fn push(&mut self, key: u8, entry: E) {
        let now_ms = self.now_ms;
        self.entries.entry(key).or_default().push((entry, now_ms));
    }

    pub(super) fn remove(&mut self, key: u8, is_meant: impl Fn(&E) -> bool) -> Vec<E> {
        let entries = self.entries.remove(&key).unwrap_or_default();
        let (removed, kept): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(e, _)| is_meant(e));
        if !kept.is_empty() {
            self.entries.insert(key, kept);
        }
        removed.into_iter().map(|(e, _)| e).collect()
    }
}

/// Plays events: `op` does each operation to both sides and compares what they answer, `all` gives everything of an instance.
pub(super) fn play<S: Snapshotted, E: Clone + Ord + std::fmt::Debug, O>(
    mut model: Model<E>,
    open: fn(&SubtaskInfo, Option<&OperatorSnapshot>) -> S,
    events: Vec<Event<O>>,
    mut op: impl FnMut(&mut S, &mut Model<E>, u8, O),
    all: impl Fn(&S) -> Vec<(u8, E)>,
) {
    let mut instances = Instances::new(2, open);
    let mut saved = model.clone();
    for event in events {
        match event {
            Event::Op(key, o) => op(instances.of(key), &mut model, key, o),
            Event::Advance(by_ms) => instances.advance(model.advance(by_ms)),
            Event::Snapshot(mode) => {
                instances.snapshot(mode);
                saved = model.clone();
            }
            Event::Crash(parallelism) => {
                instances.crash(parallelism);
                model = saved.clone();
            }
        }
        let mut found: Vec<(u8, E)> = instances.states.iter().flat_map(&all).collect();
        let wanted = model.entries.iter().flat_map(|(key, entries)| entries.iter().map(|(e, _)| (*key, e.clone())));
        let mut wanted: Vec<(u8, E)> = wanted.collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
