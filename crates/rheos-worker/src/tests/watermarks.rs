//! Event time through real tasks: merging, idleness, per-row watermarks, processing-time timers.

use rheos_core::env::Env;
use serde_json::json;

use super::fixtures::{Act, World, event};
use crate::{JobEnd, system_env};

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
async fn the_slower_of_two_sources_leads_until_it_ends() {
    let mut world = World::new();
    let fast = world.source(1, vec![vec![rows(&[100])]], World::watermark(None, false));
    let slow = world.source(1, vec![vec![Act::Silent(5), rows(&[10]), rows(&[20])]], World::watermark(None, false));
    let sink = world.sink(2);
    world.rebalance(fast, sink);
    world.rebalance(slow, sink);
    world.run(&system_env()).await.unwrap();
    for subtask in 0..2 {
        let marks: Vec<String> = world.sunk.lines_of(subtask).into_iter().filter(|l| l.starts_with('W')).collect();
        // The faster one may have ended before the slower one speaks; then it no longer counts.
        assert_eq!(marks, ["W 10", "W 20", "W end"]);
    }
}

#[tokio::test]
async fn a_silent_source_becomes_idle_and_holds_nobody_back() {
    let mut world = World::new();
    // The clock moves when somebody sleeps: the silent split is idle as soon as its reader has nothing.
    let env = Env::manual(1);
    let live = world.source(1, vec![vec![rows(&[1]), Act::Silent(50), rows(&[2])]], World::watermark(None, false));
    let silent = world.source(1, vec![vec![Act::Silent(500), rows(&[3])]], World::watermark(Some(1000), false));
    let sink = world.sink(2);
    world.rebalance(live, sink);
    world.rebalance(silent, sink);
    world.run(&env).await.unwrap();
    let lines = world.sunk.lines_of(0);
    let at = |line: &str| lines.iter().position(|l| l == line);
    assert!(at("W 1") < at("W 2") && at("W 1").is_some(), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "W end");
    assert_eq!(lines.iter().filter(|l| *l == "W end").count(), 1);
}

#[tokio::test]
async fn without_a_time_out_a_silent_source_holds_all_back() {
    let mut world = World::new();
    let env = Env::manual(1);
    let live = world.source(1, vec![vec![rows(&[1]), rows(&[2])]], World::watermark(None, false));
    let silent = world.source(1, vec![vec![Act::Silent(500)]], World::watermark(None, false));
    let sink = world.sink(1);
    world.rebalance(live, sink);
    world.rebalance(silent, sink);
    world.run(&env).await.unwrap();
    assert_eq!(world.sunk.lines_of(0), ["0:1@1", "0:2@2", "W end"]);
}

#[tokio::test]
async fn timers_of_processing_time_fire_while_the_input_is_silent() {
    for parallelism in [1, 2] {
        let mut world = World::new();
        let env = Env::manual(1);
        let source = world.source(1, vec![vec![rows(&[1]), Act::Silent(200), rows(&[9])]], World::watermark(Some(5), false));
        let ticker = world.operator("ticker", json!(null), parallelism);
        let sink = world.sink(parallelism);
        world.by_key(source, ticker);
        world.forward(ticker, sink);
        assert_eq!(world.run(&env).await.unwrap(), JobEnd::Finished);
        for subtask in 0..parallelism {
            let ticks: Vec<String> = world
                .sunk
                .lines_of(subtask)
                .into_iter()
                .filter(|l| l.starts_with("0:") && !l.ends_with("@1") && !l.ends_with("@9"))
                .collect();
            assert_eq!(ticks.iter().map(|t| &t[..3]).collect::<Vec<_>>(), ["0:1", "0:2", "0:3"], "{:?}", world.sunk.lines_of(subtask));
        }
    }
}
