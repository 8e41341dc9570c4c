//! A slow consumer holds its producers back, and both account for it.

use rheos_exchange::{ChannelLimits, CoalesceLimits};
use serde_json::json;

use super::fixtures::{Act, JobEnd, World, event};
use rheos_graph::TaskReport;

use crate::system_env;

const ROW_BYTES: i64 = 24;
const BATCH_ROWS: u64 = 10;

#[tokio::test]
async fn a_slow_consumer_bounds_what_is_queued_and_its_producer_waits() {
    let mut world = World::new();
    world.options.channel = ChannelLimits { bytes: 3 * 10 * ROW_BYTES as usize, rows: 1000 };
    world.options.coalesce = CoalesceLimits { rows: 1, bytes: 1 };
    let batches: u64 = 50;
    let script = (0..batches).map(|b| Act::Rows((0..BATCH_ROWS).map(|i| event(i, b)).collect())).collect();
    let source = world.source(1, vec![script], None);
    let gate = world.operator("gate", json!(null), 2);
    let sink = world.sink(2);
    world.rebalance(source, gate);
    world.forward(gate, sink);
    let job = world.start(&system_env()).unwrap();

    let task = |name: &str| -> Vec<TaskReport> { job.metrics().tasks.into_iter().filter(|t| t.name.starts_with(name)).collect() };
    // Both consumers take one batch and stand still with it; three more fit in each channel.
    let mut most = 0;
    while task("script")[0].rows_in < 8 * BATCH_ROWS || task("gate").iter().any(|t| t.rows_in == 0) {
        most = most.max(task("gate").iter().map(|t| t.queued_bytes).max().unwrap());
        tokio::task::yield_now().await;
    }
    for _ in 0..1000 {
        std::thread::yield_now();
    }
    let read = task("script")[0].rows_in / BATCH_ROWS;
    assert!(read <= 2 + 2 * 3 + 1, "{read} batches were read, more than the channels hold");
    for _ in 0..batches {
        world.gate.add_permits(1);
        tokio::task::yield_now().await;
        most = most.max(task("gate").iter().map(|t| t.queued_bytes).max().unwrap());
    }
    assert_eq!(job.wait().await.unwrap(), JobEnd::Finished);
    assert!(most <= 3 * 10 * ROW_BYTES, "{most} bytes were queued");
    assert!(most >= 10 * ROW_BYTES);

    let source = &task("script")[0];
    assert!(source.wait_output_ns > 0);
    assert_eq!(source.rows_out, batches * BATCH_ROWS);
    assert_eq!(source.bytes_out, source.bytes_in);
    assert!(task("gate").iter().all(|t| t.queued_bytes == 0 && t.queue_capacity_bytes == 3 * 10 * ROW_BYTES));
    assert_eq!(world.sunk.seen().events.len() as u64, batches * BATCH_ROWS);
}
