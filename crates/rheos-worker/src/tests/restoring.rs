//! The order in which an attempt goes on from a snapshot: rows on their way, the furthest first, then watermarks, then input.

use rheos_core::rows::RowBatch;
use rheos_core::snapshot::{ListKind, OperatorSnapshot};
use serde_json::json;

use super::fixtures::{Act, JobEnd, World, event};
use crate::{RestoredRows, RestoredState, system_env};

#[tokio::test]
async fn rows_on_their_way_go_first_and_those_that_were_further_on_before_others() {
    // One chain at parallelism 1: source, first count, second count, sink.
    let mut world = World::new();
    let script = vec![Act::Rows(vec![event(1, 40)]), Act::Rows(vec![event(1, 50)])];
    let source = world.source(1, vec![script], World::watermark(None, false));
    let first = world.operator("count", json!(null), 1);
    let second = world.operator("count", json!(null), 1);
    let sink = world.sink(1);
    world.by_key(source, first);
    world.by_key(first, second);
    world.forward(second, sink);

    let uid = |node: usize| world.job.nodes[node].uid.clone();
    let mut splits = OperatorSnapshot::new();
    let split = json!({ "split": { "id": "000", "position": 1 }, "watermark_ms": 45 });
    splits.put_list("splits", ListKind::Split, serde_json::to_vec(&split).unwrap());
    let on_the_way = |from: usize, to: usize, at: u64| RestoredRows {
        from: uid(from),
        to: uid(to),
        port: 0,
        receiver: 0,
        batch: RowBatch::new(vec![event(1, at)]).into(),
    };
    let state = RestoredState {
        epoch: 3,
        operators: [(uid(source), vec![splits])].into(),
        in_flight: vec![on_the_way(source, first, 20), on_the_way(first, second, 10)],
    };
    let job = world.start_at(&system_env(), Some(state)).unwrap();
    assert_eq!(job.wait().await.unwrap(), JobEnd::Finished);
    // Key, how often the second count has seen it, time.
    assert_eq!(world.sunk.lines_of(0), ["1:1@10", "1:2@20", "W 45", "1:3@50", "W 50", "W end"]);
}
