//! Where a slow operator, or one slow instance of an operator, is planted, the analysis names it, whatever its position.

use std::time::Duration;

use rheos::{Job, Session};
use rheos_coordinator::{Bottleneck, bottleneck, rates};
use rheos_core::changelog::ChangelogMode;
use rheos_core::collector::Collector;
use rheos_core::connector::TableSpec;
use rheos_core::env::system_monotonic_ns;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::schema::{Field, Schema};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::types::TypeKind;
use rheos_core::{Batch, Result};
use rheos_graph::{JobGraph, KeySpec, Node, NodeKind, Partitioning};
use serde_json::{Value, json};

/// How many operators there are, each a task of its own.
const STEPS: usize = 5;
const PARALLELISM: usize = 2;

/// Passes rows on, and takes its time for each batch.
struct Step {
    ms: u64,
    /// The one instance that does; `None`: all.
    only: Option<u64>,
}

impl Operator for Step {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        if self.only.is_some_and(|only| only != context.subtask.index as u64) {
            self.ms = 0;
        }
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        std::thread::sleep(Duration::from_millis(self.ms));
        out.emit(batch);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

fn table(name: &str, options: &[(&str, &str)]) -> TableSpec {
    TableSpec {
        name: name.into(),
        connector: name.into(),
        schema: Schema::new(vec![Field::new("n", TypeKind::BigInt.nullable())]),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        projection: None,
        predicates: vec![],
        alternatives: vec![],
    }
}

/// A chain of steps with an exchange before each, one of them slow.
fn job(slow: usize, only: Option<u64>) -> Job {
    let mut graph = JobGraph::new("steps");
    let node = |name: &str, kind: NodeKind| Node {
        id: 0,
        uid: name.into(),
        name: name.into(),
        detail: String::new(),
        kind,
        parallelism: PARALLELISM,
        schema: Some(Schema::new(vec![Field::new("n", TypeKind::BigInt.nullable())])),
        changelog: ChangelogMode::InsertOnly,
    };
    let source = table("datagen", &[("connector", "datagen"), ("rows-per-second", "100000000")]);
    let mut last = graph.add(node("Source", NodeKind::Source { table: source, watermark: None }));
    for step in 1..=STEPS {
        let spec = if step == slow { json!({"ms": 100, "only": only}) } else { json!({"ms": 0, "only": null}) };
        let next = graph.add(node(&format!("Step {step}"), NodeKind::Operator { kind: "step".into(), spec }));
        graph.connect(last, next, 0, Partitioning::Hash(KeySpec::Columns(vec![0])));
        last = next;
    }
    let sink = graph.add(node("Sink", NodeKind::Sink { table: table("blackhole", &[("connector", "blackhole")]) }));
    graph.connect(last, sink, 0, Partitioning::Forward);
    let mut registry = rheos::registry();
    registry.add_operator("step", |spec: &Value| Ok(Box::new(Step { ms: spec["ms"].as_u64().unwrap_or(0), only: spec["only"].as_u64() })));
    Job::from_graph(graph, registry).expect("a job")
}

/// What is found once queues have filled up.
fn found(job: Job) -> Bottleneck {
    let running = Session::new().start(job).expect("it starts");
    let mut before = (running.metrics(), system_monotonic_ns());
    let mut last = None;
    // The first looks see queues that fill up; that takes no fixed time.
    for _ in 0..30 {
        // Long enough to count batches: a slow instance takes a tenth of a second for each.
        std::thread::sleep(Duration::from_millis(1000));
        let now = (running.metrics(), system_monotonic_ns());
        let named = bottleneck(&rates(&before.0, &now.0, now.1 - before.1));
        before = now;
        let source_waits = before.0.tasks.iter().filter(|t| t.name == "Source").all(|t| t.wait_output_ns > 0);
        if let Some(named) = named.filter(|_| source_waits) {
            // Twice the same is taken for settled.
            if last.as_ref().is_some_and(|last: &Bottleneck| (last.task, last.index) == (named.task, named.index)) {
                running.cancel();
                return named;
            }
            last = Some(named);
        }
    }
    let ended = running.is_done().then(|| running.wait());
    panic!("nothing is named for long: {last:?}, {ended:?}, {:#?}", running.metrics());
}

#[test]
fn a_slow_operator_is_named_in_every_position() {
    for slow in 1..=STEPS {
        let found = found(job(slow, None));
        assert_eq!((found.operator.as_str(), found.index), (format!("Step {slow}").as_str(), None), "{}", found.why);
    }
}

#[test]
fn a_slow_instance_is_named() {
    let found = found(job(3, Some(1)));
    assert_eq!((found.operator.as_str(), found.index), ("Step 3", Some(1)), "{}", found.why);
    assert!(found.why.starts_with("straggler"), "{}", found.why);
}
