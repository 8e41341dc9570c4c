//! What an update of `ValueState` costs beside one of a plain hash map, in one run: `cargo run --release --example typed_speed`.
//!
//! Arguments: how many keys, how many updates.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use rheos_core::env::system_monotonic_ns;
use rheos_core::operator::SubtaskInfo;
use rheos_core::routing::KeyGroups;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_state::typed::{StateDescriptor, StateKey, TimeDomain, Ttl, ValueState};

fn subtask() -> SubtaskInfo {
    SubtaskInfo {
        job: String::new(),
        uid: "speed".into(),
        name: "Speed".into(),
        index: 0,
        parallelism: 1,
        key_groups: KeyGroups::all(128),
        key_group_count: 128,
    }
}

/// The nanoseconds of each of `updates` calls of `update`, in the best of five runs.
fn ns_each(updates: usize, mut update: impl FnMut(usize)) -> f64 {
    let run = |_| {
        let start_ns = system_monotonic_ns();
        (0..updates).for_each(&mut update);
        (system_monotonic_ns() - start_ns) as f64 / updates as f64
    };
    (0..5).map(run).fold(f64::MAX, f64::min)
}

fn compare<K: StateKey + Hash>(what: &str, keys: &[K], updates: usize) -> rheos_core::Result<()> {
    let hasher = foldhash::fast::FixedState::default();
    // Rows come with the hash by which they were routed.
    let rows: Vec<(u64, K)> = keys.iter().map(|key| (hasher.hash_one(key), key.clone())).collect();
    let row = |i: usize| &rows[(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % rows.len()];
    let mut std_map: HashMap<K, u64> = HashMap::new();
    let mut fast_map: hashbrown::HashMap<K, u64, foldhash::fast::RandomState> = hashbrown::HashMap::default();
    let open = |descriptor| ValueState::open(&descriptor, &subtask(), None);
    let mut plain: ValueState<K, u64> = open(StateDescriptor::new("s"))?;
    let mut recorded: ValueState<K, u64> = open(StateDescriptor::new("s"))?;
    let mut expiring: ValueState<K, u64> = open(StateDescriptor::new("s").with_ttl(Ttl::new(1000, TimeDomain::EventTime)))?;
    recorded.snapshot(SnapshotMode::Full, &mut OperatorSnapshot::new())?;
    expiring.advance(TimeDomain::EventTime, 1);
    let update = |state: &mut ValueState<K, u64>, i: usize| {
        let (hash, key) = row(i);
        *state.get_or_default(*hash, key).expect("all keys are this subtask's") += 1;
    };
    let std_ns = ns_each(updates, |i| *std_map.entry(row(i).1.clone()).or_default() += 1);
    let fast_ns = ns_each(updates, |i| *fast_map.entry_ref(&row(i).1).or_insert(0) += 1);
    let plain_ns = ns_each(updates, |i| update(&mut plain, i));
    let recorded_ns = ns_each(updates, |i| update(&mut recorded, i));
    let expiring_ns = ns_each(updates, |i| update(&mut expiring, i));
    println!(
        "{what:>8} {:>9} keys: std {std_ns:5.1} ns, hashbrown+foldhash {fast_ns:5.1}; state {plain_ns:5.1} ({:.2}x), recording changes \
         {recorded_ns:5.1}, with TTL {expiring_ns:5.1}",
        keys.len(),
        plain_ns / fast_ns
    );
    Ok(())
}

fn main() -> rheos_core::Result<()> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let updates = arguments.get(1).copied().unwrap_or(2_000_000);
    for count in arguments.first().map_or(vec![1_000, 1_000_000], |count| vec![*count]) {
        let numbers: Vec<u64> = (0..count as u64).collect();
        compare("numbers", &numbers, updates)?;
        let names: Vec<String> = numbers.iter().map(|n| format!("a name of some length {n}")).collect();
        compare("names", &names, updates)?;
    }
    Ok(())
}
