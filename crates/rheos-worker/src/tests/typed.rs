//! A program of typed rows: the same at any parallelism, and its state moves with its keys.

use std::collections::BTreeMap;

use rheos_core::key_group::{DEFAULT_KEY_GROUPS, key_group};
use rheos_core::routing::RoutingTable;
use rheos_core::rows::RowBatch;
use rheos_core::testing::OperatorHarness;
use serde_json::json;

use super::fixtures::{Act, Event, JobEnd, RunningCount, World, event, hash};
use crate::system_env;

const KEYS: u64 = 37;

/// Four splits; `value` numbers the events of a split.
fn splits() -> Vec<Vec<Act>> {
    (0..4u64)
        .map(|split| {
            (0..20u64)
                .map(|batch| {
                    let size = (split * 7 + batch * 13) % 60 + 1;
                    Act::Rows((0..size).map(|i| event((split * 31 + batch * 17 + i * i) % KEYS, batch * 100 + i)).collect())
                })
                .collect()
        })
        .collect()
}

fn expected_counts() -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for act in splits().into_iter().flatten() {
        if let Act::Rows(rows) = act {
            rows.iter().for_each(|e| *counts.entry(e.key).or_default() += 1);
        }
    }
    counts
}

#[tokio::test]
async fn a_keyed_count_is_the_same_at_any_parallelism() {
    for parallelism in [1, 2, 4] {
        let mut world = World::new();
        let source = world.source(parallelism, splits(), None);
        let count = world.operator("count", json!(null), parallelism);
        let sink = world.sink(parallelism);
        world.by_key(source, count);
        world.forward(count, sink);
        let job = world.start(&system_env()).unwrap();
        assert_eq!(job.wait().await.unwrap(), JobEnd::Finished);

        let seen = world.sunk.seen();
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for event in &seen.events {
            let count = counts.entry(event.key).or_default();
            assert_eq!(event.value, *count + 1, "key {} counts up one by one at parallelism {parallelism}", event.key);
            *count = event.value;
        }
        assert_eq!(counts, expected_counts());
        assert_eq!(seen.commits, [(0..parallelism).map(Into::into).collect::<Vec<serde_json::Value>>()]);
        assert_eq!(seen.closed, parallelism);

        let metrics = job.metrics();
        let rows: u64 = expected_counts().values().sum();
        let counted: u64 = metrics.tasks.iter().flat_map(|t| &t.operators).filter(|o| o.name == "count").map(|o| o.rows_out).sum();
        assert_eq!(counted, rows);
        let read: u64 = metrics.tasks.iter().filter(|t| t.name.starts_with("script 0")).map(|t| t.rows_in).sum();
        assert_eq!(read, rows);
    }
}

/// The subtask that owns a key.
fn owner(key: u64, parallelism: usize) -> usize {
    RoutingTable::contiguous(DEFAULT_KEY_GROUPS, parallelism).owner(key_group(hash(key), DEFAULT_KEY_GROUPS)) as usize
}

#[test]
fn state_goes_on_at_another_parallelism() {
    let rows: Vec<Event> = (0..500).map(|i| event(i * i % KEYS, i)).collect();
    // Runs the first half at one parallelism and the second at another.
    let run = |before: usize, after: usize| {
        let mut snapshots = Vec::new();
        let mut seen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (rows, parallelism) in [(&rows[..250], before), (&rows[250..], after)] {
            let restored = std::mem::take(&mut snapshots);
            for index in 0..parallelism {
                let mut count = OperatorHarness::open_at(Box::<RunningCount>::default(), index, parallelism, &restored).unwrap();
                let mine: Vec<Event> = rows.iter().filter(|e| owner(e.key, parallelism) == index).copied().collect();
                for batch in count.push(RowBatch::new(mine)).unwrap() {
                    for event in batch.into_rows().unwrap().downcast::<Event>().unwrap() {
                        seen.entry(event.key).or_default().push(event.value);
                    }
                }
                snapshots.push(count.snapshot().unwrap());
            }
        }
        seen
    };
    let undisturbed = run(1, 1);
    assert!(undisturbed.values().all(|counts| counts.iter().copied().eq(1..=counts.len() as u64)));
    for (before, after) in [(1, 4), (4, 1), (2, 3), (3, 2)] {
        assert_eq!(run(before, after), undisturbed, "from {before} to {after}");
    }
}
