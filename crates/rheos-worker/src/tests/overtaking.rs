//! A barrier under backpressure: it overtakes rows, which are in the snapshot then and come out after a restore, once each.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use futures_util::future::BoxFuture;
use rheos_checkpoint::manifest::FORMAT;
use rheos_checkpoint::part::assemble;
use rheos_checkpoint::{JobInfo, Manifest};
use rheos_core::changelog::ChangelogMode;
use rheos_core::collector::Collector;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::element::{Barrier, CheckpointKind, Epoch};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use rheos_core::storage::Storage;
use rheos_core::testing::MemoryStorage;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Batch, ColumnBatch, Result};
use rheos_exchange::{ChannelLimits, CoalesceLimits};
use rheos_graph::{JobGraph, KeySpec, Node, NodeKind, Partitioning, TaskGraph};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::fixtures::start_all;
use crate::{PartStore, RuntimeOptions, TakenPart, TaskEvent, TaskPool, load, system_env};

const ROWS: i64 = 4000;
const BATCH: i64 = 10;

fn schema() -> Schema {
    Schema::new(vec![Field { name: "n".into(), ty: LogicalType { kind: TypeKind::BigInt, nullable: false } }])
}

/// Two splits of numbers: the even and the odd ones.
struct Numbers;

struct Reader(Vec<(String, i64)>);

impl SourceFactory for Numbers {
    fn describe(&self, _: &TableSpec) -> Result<SourceDescription> {
        Ok(SourceDescription { changelog: ChangelogMode::InsertOnly, bounded: true, predicates_applied: Vec::new() })
    }

    fn splits(&self, _: &TableSpec, _: usize) -> Result<Vec<Split>> {
        Ok(vec![Split { id: "0".into(), position: 0.into() }, Split { id: "1".into(), position: 1.into() }])
    }

    fn reader(&self, _: &TableSpec, splits: Vec<Split>, _: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(Reader(splits.into_iter().map(|s| (s.id, s.position.as_i64().unwrap())).collect())))
    }
}

impl SourceReader for Reader {
    fn next(&mut self, _: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        let open = self.0.iter().enumerate().filter(|(_, (_, next))| *next < ROWS).min_by_key(|(_, (_, next))| *next).map(|(i, _)| i);
        let event = match open {
            None => SourceEvent::End,
            Some(split) => {
                let next = &mut self.0[split].1;
                let end = (*next + 2 * BATCH).min(ROWS);
                let values: ArrayRef = Arc::new(Int64Array::from_iter_values((*next..end).step_by(2)));
                *next += 2 * BATCH;
                SourceEvent::Rows {
                    split,
                    batch: ColumnBatch::inserts(RecordBatch::try_new(schema().to_arrow(), vec![values]).unwrap()).into(),
                }
            }
        };
        Box::pin(std::future::ready(Ok(event)))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        Ok(self.0.iter().map(|(id, next)| Split { id: id.clone(), position: (*next).into() }).collect())
    }
}

/// Lets a batch through for a permit.
struct Gate(Arc<Semaphore>);

impl Operator for Gate {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        while self.0.try_acquire().map(|permit| permit.forget()).is_err() {
            std::thread::yield_now();
        }
        out.emit(batch);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

/// What each writer has written; its tokens say what it had by then.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<i64>>>);

struct Writer {
    all: Written,
    mine: Vec<i64>,
}

impl SinkFactory for Written {
    fn describe(&self, _: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::InsertOnly })
    }

    fn writer(&self, _: &TableSpec, _: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Writer { all: self.clone(), mine: Vec::new() }))
    }
}

impl Sink for Writer {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        let values = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        self.all.0.lock().unwrap().extend(&values);
        self.mine.extend(values);
        Ok(())
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        Ok(vec![CommitToken { sink: "sink".into(), epoch, payload: std::mem::take(&mut self.mine).into() }])
    }
}

struct World {
    registry: Registry,
    written: Written,
    permits: Arc<Semaphore>,
    pool: TaskPool,
}

impl World {
    fn new() -> World {
        let (written, permits) = (Written::default(), Arc::new(Semaphore::new(0)));
        let mut registry = Registry::new();
        let connector = |name, source: Option<Arc<dyn SourceFactory>>, sink: Option<Arc<dyn SinkFactory>>| ConnectorInfo {
            name,
            doc: "",
            options: Vec::new(),
            takes_format: false,
            source,
            sink,
        };
        registry.add_connector(connector("numbers", Some(Arc::new(Numbers)), None));
        registry.add_connector(connector("written", None, Some(Arc::new(written.clone()))));
        let gate = Arc::clone(&permits);
        registry.add_operator("gate", move |_| Ok(Box::new(Gate(Arc::clone(&gate)))));
        World { registry, written, permits, pool: TaskPool::new(4, Handle::current()).unwrap() }
    }

    /// numbers -> by key -> gate -> sink.
    fn graph(parallelism: usize) -> Arc<TaskGraph> {
        let table = |name: &str| TableSpec {
            name: name.into(),
            connector: name.into(),
            schema: schema(),
            primary_key: Vec::new(),
            partition_keys: vec![],
            metadata: vec![],
            options: BTreeMap::new(),
            projection: None,
            predicates: Vec::new(),
            alternatives: Vec::new(),
        };
        let mut job = JobGraph::new("overtaking");
        let mut add = |name: &str, kind, parallelism, schema| {
            job.add(Node {
                id: 0,
                uid: name.into(),
                name: name.into(),
                detail: String::new(),
                kind,
                parallelism,
                schema,
                changelog: ChangelogMode::InsertOnly,
            })
        };
        let source = add("source", NodeKind::Source { table: table("numbers"), watermark: None }, 2, Some(schema()));
        let gate = add("gate", NodeKind::Operator { kind: "gate".into(), spec: Value::Null }, parallelism, Some(schema()));
        let sink = add("sink", NodeKind::Sink { table: table("written") }, parallelism, None);
        job.connect(source, gate, 0, Partitioning::Hash(KeySpec::Columns(vec![0])));
        job.connect(gate, sink, 0, Partitioning::Forward);
        Arc::new(TaskGraph::of(&job))
    }
}

/// Runs at parallelism 2 until all is full, takes a snapshot with barriers that overtake, goes on from it at `parallelism`.
async fn overtaken_and_restored(parallelism: usize) {
    let world = World::new();
    let options = RuntimeOptions {
        channel: ChannelLimits { bytes: 1 << 20, rows: 40 },
        coalesce: CoalesceLimits { rows: 1, bytes: 1 },
        ..RuntimeOptions::default()
    };
    let (graph, env) = (World::graph(2), system_env());
    let (handle, mut events) = start_all(&graph, (&world.registry, &env, &options, &world.pool), None).unwrap();
    // Until the sources wait for room.
    while handle.metrics().tasks.iter().filter(|t| t.name.starts_with("source")).any(|t| t.rows_in < 60) {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    handle.trigger(Barrier { overtake_from_ms: Some(0), ..Barrier::aligned(1) }, false);
    // The sources give their parts though nothing moves; a gate that stands in a call gives its part once that is done.
    let mut parts: Vec<TakenPart> = Vec::new();
    while parts.len() < 4 {
        match tokio::time::timeout(std::time::Duration::from_millis(5), events.recv()).await {
            Ok(Some(TaskEvent::Taken { barrier, part })) => {
                assert_eq!(barrier.epoch, 1);
                parts.push(*part);
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) if parts.len() >= 2 => world.permits.add_permits(1),
            Err(_) => {}
        }
    }
    let read: u64 = handle.metrics().tasks.iter().filter(|t| t.name.starts_with("source")).map(|t| t.rows_in).sum();
    assert!(read < ROWS as u64, "the job was not held back");
    handle.cancel();
    world.permits.add_permits(100);
    while !matches!(events.recv().await, Some(TaskEvent::Stopped) | None) {}

    let before: Vec<i64> =
        parts.iter().flat_map(|p| &p.tokens).flat_map(|t| t.payload.as_array().unwrap()).map(|v| v.as_i64().unwrap()).collect();
    let in_flight: usize = parts.iter().flat_map(|p| &p.in_flight).flat_map(|r| &r.rows).map(Batch::num_rows).sum();
    assert!(in_flight > 40, "only {in_flight} rows were overtaken");

    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let next_file = Arc::<AtomicU64>::default();
    let mut stored = Vec::new();
    for part in parts {
        let mut store =
            PartStore::new(Some(Arc::clone(&storage)), Arc::clone(&graph), Arc::clone(&env.clock), (1, 1), Arc::clone(&next_file));
        stored.push(store.store(1, CheckpointKind::Checkpoint, part).await.unwrap().part);
    }
    let manifest = Manifest {
        format: FORMAT,
        rheos: String::new(),
        job: JobInfo::default(),
        generation: 1,
        epoch: 1,
        kind: CheckpointKind::Checkpoint,
        started_ms: 0,
        completed_ms: 0,
        borrowed: false,
        files_in: None,
        plan: Value::Null,
        operators: assemble(stored.iter().map(|part| (part, false))),
        tokens: Vec::new(),
    };
    assert_eq!(manifest.in_flight_rows(), in_flight as u64);

    let again = World::new();
    again.permits.add_permits(1_000_000);
    let state = load(&storage, &manifest, |_, _| true).await.unwrap();
    let graph = World::graph(parallelism);
    let (_handle, mut events) = start_all(&graph, (&again.registry, &env, &RuntimeOptions::default(), &again.pool), Some(state)).unwrap();
    while let Some(event) = events.recv().await {
        match event {
            TaskEvent::Failed { error } => panic!("{error}"),
            TaskEvent::Stopped => break,
            _ => {}
        }
    }
    let mut all = before;
    all.extend(again.written.0.lock().unwrap().iter());
    all.sort_unstable();
    assert_eq!(all, (0..ROWS).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_a_barrier_overtook_come_out_once_after_a_restore() {
    overtaken_and_restored(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_given_out_again_at_another_parallelism() {
    overtaken_and_restored(3).await;
    overtaken_and_restored(1).await;
}
