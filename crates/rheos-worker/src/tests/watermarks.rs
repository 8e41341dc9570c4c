//! Event time through real tasks: merging, idleness, per-row watermarks, processing-time timers.

use rheos_core::env::Env;
use serde_json::json;

use super::fixtures::{Act, JobEnd, World, event};
use crate::system_env;

fn rows(values: &[u64]) -> Act {
    Act::Rows(values.iter().map(|v| event(0, *v)).collect())
}

#[tokio::test]
async fn a_watermark_follows_each_row_that_advances_it_and_none_other() {
    let mut world = World::new();
    let source = world.source(1, vec![vec![rows(&[4, 2, 4, 6]), rows(&[5])]], World::watermark(None, true));
    let sink = world.sink(1);
    world.forward(source, sink);
    world.run(&system_env()).await.unwrap();
    assert_eq!(world.sunk.lines_of(0), ["0:4@4", "W 4", "0:2@2", "0:4@4", "0:6@6", "W 6", "0:5@5", "W end"]);
}

#[tokio::test]
async fn a_watermark_follows_each_batch_that_advances_it() {
    let mut world = World::new();
    let source = world.source(1, vec![vec![rows(&[4, 2]), rows(&[3]), rows(&[7])]], World::watermark(None, false));
    let sink = world.sink(1);
    world.forward(source, sink);
    world.run(&system_env()).await.unwrap();
    assert_eq!(world.sunk.lines_of(0), ["0:4@4", "0:2@2", "W 4", "0:3@3", "0:7@7", "W 7", "W end"]);
}

#[tokio::test]
async fn the_slower_of_two_sources_leads() {
    let mut world = World::new();
    // The second batch of the fast one is there: so was its first watermark.
    let fast = world.source(1, vec![vec![rows(&[100]), rows(&[101])]], World::watermark(None, false));
    let slow = vec![Act::Until("0:101", 1), rows(&[10]), rows(&[20])];
    let slow = world.source(1, vec![slow], World::watermark(None, false));
    let sink = world.sink(1);
    world.rebalance(fast, sink);
    world.rebalance(slow, sink);
    world.run(&system_env()).await.unwrap();
    let marks: Vec<String> = world.sunk.lines_of(0).into_iter().filter(|l| l.starts_with('W')).collect();
    // The fast one may end after the slow one: then it leads for a moment.
    let marks: Vec<&str> = marks.iter().map(String::as_str).filter(|m| !m.starts_with("W 10") || *m == "W 10").collect();
    assert_eq!(marks, ["W 10", "W 20", "W end"]);
}

#[tokio::test]
async fn a_silent_source_becomes_idle_and_holds_nobody_back() {
    let mut world = World::new();
    // The clock moves when somebody sleeps: the silent split is idle as soon as its reader has nothing.
    let env = Env::manual(1);
    let live = vec![rows(&[1]), Act::Until("W 1", 1), rows(&[2]), Act::Until("W 2", 1)];
    let live = world.source(1, vec![live], World::watermark(None, false));
    let silent = world.source(1, vec![vec![Act::Until("W 2", 1), rows(&[3])]], World::watermark(Some(1000), false));
    let sink = world.sink(1);
    world.rebalance(live, sink);
    world.rebalance(silent, sink);
    world.run(&env).await.unwrap();
    let lines = world.sunk.lines_of(0);
    assert_eq!(lines[..4], ["0:1@1", "W 1", "0:2@2", "W 2"]);
    assert_eq!(lines.iter().filter(|l| *l == "W end").count(), 1);
    assert_eq!(lines.last().unwrap(), "W end");
}

#[tokio::test]
async fn without_a_time_out_a_silent_source_holds_all_back() {
    let mut world = World::new();
    let env = Env::manual(1);
    let live = world.source(1, vec![vec![rows(&[1]), rows(&[2])]], World::watermark(None, false));
    let silent = world.source(1, vec![vec![Act::Until("0:2", 1)]], World::watermark(None, false));
    let sink = world.sink(1);
    world.rebalance(live, sink);
    world.rebalance(silent, sink);
    world.run(&env).await.unwrap();
    let lines = world.sunk.lines_of(0);
    assert_eq!(lines[..2], ["0:1@1", "0:2@2"]);
    assert_eq!(lines.last().unwrap(), "W end");
}

#[tokio::test]
async fn timers_of_processing_time_fire_while_the_input_is_silent() {
    for parallelism in [1, 2] {
        let mut world = World::new();
        let script = vec![rows(&[7]), Act::Until("0:3@", parallelism), rows(&[9])];
        let source = world.source(1, vec![script], World::watermark(Some(5), false));
        let ticker = world.operator("ticker", json!(null), parallelism);
        let sink = world.sink(parallelism);
        world.by_key(source, ticker);
        world.forward(ticker, sink);
        assert_eq!(world.run(&Env::manual(1)).await.unwrap(), JobEnd::Finished);
        for subtask in 0..parallelism {
            let lines = world.sunk.lines_of(subtask);
            let ticks: Vec<&str> = lines.iter().map(|l| &l[..3]).filter(|l| ["0:1", "0:2", "0:3"].contains(l)).collect();
            assert_eq!(ticks, ["0:1", "0:2", "0:3"], "{lines:?}");
        }
    }
}

#[tokio::test]
async fn rows_of_a_split_that_waited_for_its_turn_are_not_late() {
    let mut world = World::new();
    // The clock moves by the time-out whenever the reader has nothing.
    let first = vec![rows(&[10]), Act::Silent(5), rows(&[20])];
    let second = vec![Act::After(0), rows(&[5]), rows(&[6])];
    let source = world.source(1, vec![first, second], World::watermark(Some(1000), false));
    let sink = world.sink(1);
    world.forward(source, sink);
    world.run(&Env::manual(1)).await.unwrap();
    assert_eq!(world.sunk.lines_of(0), ["0:10@10", "0:20@20", "0:5@5", "W 5", "0:6@6", "W 6", "W end"]);
}
