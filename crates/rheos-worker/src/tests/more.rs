//! An operator that emits without end in one call is taken in steps.

use rheos_exchange::ChannelLimits;
use serde_json::json;

use super::fixtures::{Act, JobEnd, World, event};
use crate::system_env;

#[tokio::test]
async fn a_million_rows_from_one_row_pass_in_small_steps() {
    let mut world = World::new();
    world.options.collector_rows = 1000;
    world.options.channel = ChannelLimits { bytes: usize::MAX, rows: 3000 };
    let source = world.source(1, vec![vec![Act::Rows(vec![event(1, 1)])]], None);
    let (first, second) = (world.operator("multiply", json!(1000), 1), world.operator("multiply", json!(1000), 1));
    let sink = world.sink(2);
    world.forward(source, first);
    world.forward(first, second);
    world.rebalance(second, sink);
    let job = world.start(&system_env()).unwrap();
    assert_eq!(job.wait().await.unwrap(), JobEnd::Finished);
    let seen = world.sunk.seen();
    assert_eq!(seen.events.len(), 1_000_000);
    let largest = seen.batches.iter().max().unwrap();
    assert!(*largest <= 1000 + 4096, "a batch of {largest} rows");
    let multiplied: Vec<u64> = job.metrics().tasks[0].operators.iter().map(|o| o.rows_out).collect();
    assert_eq!(multiplied, [1, 1000, 1_000_000]);
}
