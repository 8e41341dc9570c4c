//! A job of Rust types: the bursts of bids of each bidder, told when the bidder has been silent for two seconds.
//!
//! ```text
//! nexmark ─columns─> Bid ─by bidder─> Burst ─> columns ─> part files
//! ```
//!
//! ```sh
//! cargo run --release -p rheos --example session_counts -- run --output bursts --var events=100000
//! cargo run --release -p rheos --example session_counts -- torture --kills 20
//! ```

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use rheos::program::{Arguments, Program};
use rheos_core::changelog::ChangelogMode;
use rheos_core::collector::Collector;
use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue, TableSpec};
use rheos_core::key_group::KeySelector;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::rows::RowBatch;
use rheos_core::schema::{Field, Schema};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::source::WatermarkGenerator;
use rheos_core::time::TimestampMs;
use rheos_core::types::TypeKind;
use rheos_core::{Batch, ColumnBatch, Error, Result};
use rheos_graph::{JobGraph, KeySpec, Node, NodeId, NodeKind, Partitioning, WatermarkSpec};
use rheos_state::typed::{StateDescriptor, TimeDomain, Timers, ValueState};
use serde_json::{Value, json};

/// A bidder that bids nothing for so long has ended a burst.
const SILENCE_MS: i64 = 2_000;

#[allow(dead_code)] // tests include this file and call `program`
fn main() -> ExitCode {
    program().main()
}

/// The program: the operators by name, and the graph.
pub(crate) fn program() -> Program {
    let mut registry = rheos::registry();
    registry.add_watermark_generator("bid time", |_| Ok(Box::new(BidTime)));
    registry.add_operator("to bids", |_| Ok(Box::new(ToBids)));
    registry.add_key_selector("bidder", |_| Ok(Box::new(Bidder)));
    registry.add_operator("bursts", |_| Ok(Box::new(Bursts { state: None, until_ms: TimestampMs::MIN })));
    registry.add_operator("to columns", |_| Ok(Box::new(ToColumns)));
    Program::new(registry, graph)
}

/// A bid.
#[derive(Debug, Clone, Copy)]
struct Bid {
    bidder: i64,
    price: i64,
    at_ms: TimestampMs,
}

/// Bids of one bidder, each within [`SILENCE_MS`] of the next.
#[derive(Debug, Clone, Copy)]
struct Burst {
    bidder: i64,
    bids: i64,
    total: i64,
    began_ms: TimestampMs,
    ended_ms: TimestampMs,
}

fn graph(arguments: &Arguments) -> Result<JobGraph> {
    let mut graph = JobGraph::new("bursts of bids");
    let node = |name: &str, kind: NodeKind, schema: Option<Schema>| Node {
        id: 0,
        uid: name.replace(' ', "-"),
        name: name.into(),
        detail: String::new(),
        kind,
        parallelism: arguments.parallelism,
        schema,
        changelog: ChangelogMode::InsertOnly,
    };
    let events = events(arguments)?;
    let event_columns = events.output_schema();
    let watermark = WatermarkSpec { generator: "bid time".into(), spec: Value::Null, idle_timeout_ms: None, per_row: false };
    let operator = |kind: &str| NodeKind::Operator { kind: kind.into(), spec: Value::Null };
    let source = graph.add(node("bids", NodeKind::Source { table: events, watermark: Some(watermark) }, Some(event_columns)));
    let bids = graph.add(node("to bids", operator("to bids"), None));
    let bursts = graph.add(node("bursts", operator("bursts"), None));
    let columns = graph.add(node("to columns", operator("to columns"), Some(burst_columns())));
    let sink = graph.add(node("part files", NodeKind::Sink { table: part_files(arguments) }, None));
    let mut forward = |from: NodeId, to: NodeId| graph.connect(from, to, 0, Partitioning::Forward);
    forward(source, bids);
    forward(bursts, columns);
    forward(columns, sink);
    let by_bidder = KeySpec::Typed { kind: "bidder".into(), spec: json!(null) };
    graph.connect(bids, bursts, 0, Partitioning::Hash(by_bidder));
    Ok(graph)
}

/// The bids of the nexmark stream, in real time: bidder, price and time.
fn events(arguments: &Arguments) -> Result<TableSpec> {
    let (events, rate) = (arguments.number("events", 100_000)?, arguments.number("rate", 5_000)?);
    let bid = [("bidder", TypeKind::BigInt), ("price", TypeKind::BigInt), ("dateTime", TypeKind::Timestamp(3))];
    let bid = TypeKind::Row(bid.into_iter().map(|(name, kind)| Field::new(name, kind.nullable())).collect());
    let field = |field| ColumnPath { column: 1, fields: vec![field] };
    let is_bid = ColumnPath { column: 0, fields: vec![] };
    Ok(TableSpec {
        name: "events".into(),
        connector: "nexmark".into(),
        schema: Schema::new(vec![Field::new("event_type", TypeKind::Int.nullable()), Field::new("bid", bid.nullable())]),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: options(&[
            ("events.num", &events.to_string()),
            ("first-event.rate", &rate.to_string()),
            ("rate.limited", "true"),
            ("base-time", "2020-01-01 00:00:00"),
            // Fewer of the bids are by the hot bidder, who is never silent.
            ("bid.hot-ratio.bidders", "2"),
        ]),
        projection: Some(vec![field(0), field(1), field(2)]),
        predicates: vec![Predicate { path: is_bid, comparison: Comparison::Equal, value: PredicateValue::Int(2) }],
        alternatives: vec![],
    })
}

fn part_files(arguments: &Arguments) -> TableSpec {
    TableSpec {
        name: "bursts".into(),
        connector: "filesystem".into(),
        schema: burst_columns(),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: options(&[("path", &arguments.output.display().to_string()), ("format", "json")]),
        projection: None,
        predicates: vec![],
        alternatives: vec![],
    }
}

fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn burst_columns() -> Schema {
    let times = ["began", "ended"].map(|name| Field::new(name, TypeKind::Timestamp(3).nullable()));
    let numbers = ["bidder", "bids", "total"].map(|name| Field::new(name, TypeKind::BigInt.nullable()));
    Schema::new(numbers.into_iter().chain(times).collect())
}

/// Bids of a split come in the order of their times: a later one may have the same time.
struct BidTime;

impl WatermarkGenerator for BidTime {
    fn watermarks(&mut self, batch: &Batch) -> Result<Vec<Option<TimestampMs>>> {
        let Batch::Columns(columns) = batch else { return Err(Error::bug("columns expected")) };
        Ok(columns.column(2).as_primitive::<TimestampMillisecondType>().values().iter().map(|at_ms| Some(at_ms - 1)).collect())
    }
}

/// Columns to bids.
struct ToBids;

impl Operator for ToBids {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let columns = batch.into_columns()?;
        let number = |i: usize| columns.column(i).as_primitive::<Int64Type>().values();
        let (bidders, prices) = (number(0), number(1));
        let times = columns.column(2).as_primitive::<TimestampMillisecondType>().values();
        let bid = |row: usize| Bid { bidder: bidders[row], price: prices[row], at_ms: times[row] };
        out.emit(RowBatch::new((0..columns.num_rows()).map(bid).collect()));
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

/// The key of a bid.
struct Bidder;

fn hash(bidder: i64) -> u64 {
    let mixed = (bidder as u64 ^ 0x5851_F42D_4C95_7F2D).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}

impl KeySelector for Bidder {
    fn hashes(&mut self, batch: &Batch, hashes: &mut Vec<u64>) -> Result<()> {
        let Batch::Rows(rows) = batch else { return Err(Error::bug("typed rows expected")) };
        let bids = rows.downcast_ref::<Bid>().ok_or_else(|| Error::bug("bids expected"))?;
        hashes.clear();
        hashes.extend(bids.iter().map(|bid| hash(bid.bidder)));
        Ok(())
    }
}

/// How many bids of a bidder there were at a time, and their prices together.
type BidsByTime = BTreeMap<TimestampMs, (i64, i64)>;

/// Bids to bursts. Bids of several splits come in any order, so each waits until event time has gone [`SILENCE_MS`] beyond it: what
/// no other bid has followed by then ends a burst.
struct Bursts {
    state: Option<State>,
    /// The watermark.
    until_ms: TimestampMs,
}

struct State {
    /// The bids of bidders whose bursts have not ended.
    bids: ValueState<i64, BidsByTime>,
    /// When to look whether a bid was the last.
    silences: Timers<i64, ()>,
}

impl Bursts {
    fn state(&mut self) -> Result<&mut State> {
        self.state.as_mut().ok_or_else(|| Error::bug("not opened"))
    }
}

impl Operator for Bursts {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        let bids = ValueState::open(&StateDescriptor::new("bids"), &context.subtask, restored.as_ref())?;
        let silences = Timers::open(&StateDescriptor::new("silences"), &context.subtask, restored.as_ref())?;
        self.state = Some(State { bids, silences });
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let bids = batch.into_rows()?.downcast::<Bid>().map_err(|other| Error::bug(format!("bids expected, got {}", other.type_name())))?;
        let State { bids: open, silences } = self.state()?;
        for Bid { bidder, price, at_ms } in bids {
            let (count, total) = open.get_or_default(hash(bidder), &bidder)?.entry(at_ms).or_default();
            *count += 1;
            *total += price;
            silences.register(TimeDomain::EventTime, hash(bidder), &bidder, &(), at_ms + SILENCE_MS)?;
        }
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        self.until_ms = at;
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let until_ms = self.until_ms;
        let State { bids: open, silences } = self.state()?;
        let mut bursts = Vec::new();
        let room = out.room();
        let progress = loop {
            if bursts.len() >= room {
                break Progress::More;
            }
            let Some(timer) = silences.fire_next(TimeDomain::EventTime, until_ms) else { break Progress::Done };
            let ended_ms = timer.time_ms - SILENCE_MS;
            let Some(bids) = open.get_mut(timer.hash, &timer.key)? else { continue };
            if bids.range(ended_ms + 1..=timer.time_ms).next().is_some() {
                // Not silent: a later bid ends the burst.
                continue;
            }
            let later = bids.split_off(&(ended_ms + 1));
            let burst = std::mem::replace(bids, later);
            if bids.is_empty() {
                open.remove(timer.hash, &timer.key)?;
            }
            if let Some((began_ms, _)) = burst.first_key_value() {
                let (bids, total) = burst.values().fold((0, 0), |(bids, total), (count, sum)| (bids + count, total + sum));
                bursts.push(Burst { bidder: timer.key, bids, total, began_ms: *began_ms, ended_ms });
            }
        };
        if !bursts.is_empty() {
            out.emit(RowBatch::new(bursts));
        }
        Ok(progress)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut snapshot = OperatorSnapshot::new();
        let State { bids, silences } = self.state()?;
        bids.snapshot(mode, &mut snapshot)?;
        silences.snapshot(mode, &mut snapshot)?;
        Ok(snapshot)
    }
}

/// Bursts to columns.
struct ToColumns;

impl Operator for ToColumns {
    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let bursts =
            batch.into_rows()?.downcast::<Burst>().map_err(|other| Error::bug(format!("bursts expected, got {}", other.type_name())))?;
        let number = |of: fn(&Burst) -> i64| Arc::new(Int64Array::from_iter_values(bursts.iter().map(of))) as ArrayRef;
        let time = |of: fn(&Burst) -> i64| Arc::new(TimestampMillisecondArray::from_iter_values(bursts.iter().map(of))) as ArrayRef;
        let columns = vec![number(|b| b.bidder), number(|b| b.bids), number(|b| b.total), time(|b| b.began_ms), time(|b| b.ended_ms)];
        out.emit(ColumnBatch::inserts(RecordBatch::try_new(burst_columns().to_arrow(), columns)?));
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
