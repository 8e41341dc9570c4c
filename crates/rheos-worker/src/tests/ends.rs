//! The ways in which a job ends: finished, failed, panicked, cancelled.

use std::sync::atomic::Ordering;

use rheos_core::ErrorKind;
use serde_json::{Value, json};

use super::fixtures::{Act, JobEnd, World, event};
use crate::system_env;

/// Source -> hash -> fail -> sink at parallelism 2, with a second source that never ends.
fn world(acts: Vec<Act>, fail: Value) -> World {
    let mut world = World::new();
    let source = world.source(1, vec![acts], None);
    let stuck = world.source(1, vec![vec![Act::Stuck]], None);
    let fail = world.operator("fail", fail, 2);
    let sink = world.sink(2);
    world.by_key(source, fail);
    world.by_key(stuck, fail);
    world.forward(fail, sink);
    world
}

fn rows() -> Act {
    Act::Rows((0..100).map(|i| event(i, i)).collect())
}

/// Nothing was published, and all was closed.
fn assert_nothing_remains(world: &World) {
    let seen = world.sunk.seen();
    assert_eq!(seen.commits, Vec::<Vec<Value>>::new());
    assert_eq!(seen.prepared, [0usize; 0]);
    assert_eq!((seen.closed, world.closed.load(Ordering::Relaxed)), (2, 2));
}

#[tokio::test]
async fn the_failure_of_one_subtask_ends_all_and_publishes_nothing() {
    let world = world(vec![rows()], json!({ "at": 50 }));
    let job = world.start(&system_env()).unwrap();
    let error = job.wait().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FixInput);
    let text = error.to_string();
    assert!(text.starts_with("fail (") && text.ends_with("of 2): value 50 is bad"), "{text}");
    assert_eq!(job.wait().await.unwrap_err().to_string(), text, "asked again");
    assert_nothing_remains(&world);
}

#[tokio::test]
async fn a_panic_becomes_an_error_that_names_the_operator() {
    let world = world(vec![rows()], json!({ "at": 50, "panic": true }));
    let error = world.run(&system_env()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Bug);
    assert!(error.to_string().contains("of 2): panicked: no value 50 please"), "{error}");
    assert!(error.to_string().starts_with("fail ("), "{error}");
    assert_nothing_remains(&world);
}

#[tokio::test]
async fn a_reader_that_fails_or_panics_is_named() {
    let world = self::world(vec![rows(), Act::Fail("a.csv, line 3: no number")], json!({}));
    assert_eq!(world.run(&system_env()).await.unwrap_err().to_string(), "script 0: a.csv, line 3: no number");
    assert_nothing_remains(&world);
    let world = self::world(vec![rows(), Act::Panic], json!({}));
    assert_eq!(world.run(&system_env()).await.unwrap_err().to_string(), "script 0: panicked: the script says so");
    assert_nothing_remains(&world);
}

#[tokio::test]
async fn a_cancelled_job_publishes_nothing_and_closes_everything() {
    let world = world(vec![rows()], json!({}));
    let job = world.start(&system_env()).unwrap();
    while world.sunk.seen().events.len() < 100 {
        tokio::task::yield_now().await;
    }
    assert!(!job.is_done());
    job.cancel();
    assert_eq!(job.wait().await.unwrap(), JobEnd::Cancelled);
    assert_nothing_remains(&world);
}

#[tokio::test]
async fn a_busy_job_hears_of_its_cancellation() {
    let mut world = World::new();
    // A chain that never waits: 4 * 10^9 rows.
    let source = world.source(1, vec![vec![Act::Rows(vec![event(1, 1)]); 4]], None);
    let multiply = world.operator("multiply", json!(1_000_000_000), 1);
    let drop = world.operator("multiply", json!(0), 1);
    let sink = world.sink(1);
    world.forward(source, multiply);
    world.forward(multiply, drop);
    world.forward(drop, sink);
    let job = world.start(&system_env()).unwrap();
    while job.metrics().tasks[0].operators[1].rows_out == 0 {
        tokio::task::yield_now().await;
    }
    job.cancel();
    assert_eq!(job.wait().await.unwrap(), JobEnd::Cancelled);
}

#[tokio::test]
async fn output_is_committed_once_after_all_subtasks_have_ended() {
    let mut world = World::new();
    let source = world.source(2, vec![vec![rows()], vec![rows(), Act::Silent(20)], vec![rows()]], None);
    let sink = world.sink(3);
    world.rebalance(source, sink);
    assert_eq!(world.run(&system_env()).await.unwrap(), JobEnd::Finished);
    let mut seen = world.sunk.seen();
    seen.prepared.sort_unstable();
    assert_eq!(seen.prepared, [0, 1, 2]);
    assert_eq!(seen.commits, [vec![json!(0), json!(1), json!(2)]]);
    assert_eq!(seen.events.len(), 300);
    assert_eq!(seen.closed, 3);
}

/// The first of two subtasks has prepared its output; then the other does `act`.
fn half_prepared(act: Act) -> World {
    let mut world = World::new();
    let source = world.source(2, vec![vec![rows()], vec![Act::UntilPrepared(1), act]], None);
    let sink = world.sink(2);
    world.forward(source, sink);
    world
}

#[tokio::test]
async fn what_some_subtasks_prepared_is_thrown_away_when_another_fails_or_the_job_is_cancelled() {
    let failed = half_prepared(Act::Fail("no number"));
    failed.run(&system_env()).await.unwrap_err();
    let cancelled = half_prepared(Act::Stuck);
    let job = cancelled.start(&system_env()).unwrap();
    while cancelled.sunk.seen().prepared.is_empty() {
        tokio::task::yield_now().await;
    }
    job.cancel();
    assert_eq!(job.wait().await.unwrap(), JobEnd::Cancelled);
    for world in [failed, cancelled] {
        let seen = world.sunk.seen();
        assert_eq!((&seen.aborts, seen.commits.len()), (&vec![vec![json!(0)]], 0));
    }
}

#[tokio::test]
async fn what_cannot_be_made_is_told_before_anything_runs() {
    let mut world = World::new();
    let source = world.source(1, vec![], None);
    let unknown = world.operator("unheard", json!(null), 1);
    let sink = world.sink(1);
    world.forward(source, unknown);
    world.forward(unknown, sink);
    let text = world.start(&system_env()).unwrap_err().to_string();
    assert_eq!(text, "script 0 -> unheard -> sunk: no operator 'unheard' in this binary");
}
