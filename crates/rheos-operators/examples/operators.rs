//! Measures operators alone, in nanoseconds for each input row: `cargo run --release -p rheos-operators --example operators`,
//! with a part of a name for those alone.
//!
//! The shapes are those of Nexmark's joins and ranks: events of which one in fifty is a person, three are auctions and the
//! others are bids, mostly on recent auctions.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::env::{Random, SplitMix64, system_monotonic_ns};
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::OperatorHarness;
use rheos_core::types::TypeKind;
use rheos_expr::EvalConfig;
use rheos_operators::spec::{DeduplicateSpec, JoinKind, JoinSide, JoinSpec, RankSpec, SortKey};

const EVENTS: i64 = 4_000_000;
const BATCH: i64 = 8_192;

/// An id, another id, a price, a time, and two texts.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("id", TypeKind::BigInt),
        field("other", TypeKind::BigInt),
        field("price", TypeKind::BigInt),
        field("at", TypeKind::Timestamp(3)),
        field("name", TypeKind::STRING),
        field("extra", TypeKind::STRING),
    ])
}

fn rows(ids: Vec<i64>, others: Vec<i64>, random: &SplitMix64) -> Batch {
    let count = ids.len();
    let texts = |width: usize| Arc::new(StringArray::from_iter_values((0..count).map(|i| format!("{i:width$}")))) as ArrayRef;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(ids)),
        Arc::new(Int64Array::from(others)),
        Arc::new(Int64Array::from_iter_values((0..count).map(|_| (random.next_u64() % 1_000_000) as i64))),
        Arc::new(TimestampMillisecondArray::from_iter_values((0..count).map(|i| i as i64))),
        texts(12),
        texts(60),
    ];
    Batch::Columns(ColumnBatch::inserts(RecordBatch::try_new(schema().to_arrow(), columns).expect("columns of one length")))
}

/// Persons, auctions (by seller) and bids (by auction) of each stretch of events.
fn batches() -> Vec<[Batch; 3]> {
    let random = SplitMix64::new(1);
    let recent = |last: i64, span: u64| (last - (random.next_u64() % span) as i64).max(0);
    (0..EVENTS / BATCH)
        .map(|i| {
            let (first, last) = (i * BATCH / 50, (i + 1) * BATCH / 50);
            let persons = rows((first..last).collect(), (first..last).collect(), &random);
            let auctions: Vec<i64> = (3 * first..3 * last).collect();
            let sellers = auctions.iter().map(|a| recent(a / 3, 1000)).collect();
            let auctions = rows(auctions, sellers, &random);
            let bids: Vec<i64> = (46 * first..46 * last).map(|b| recent(3 * b / 46, if b % 2 == 0 { 100 } else { 10_000 })).collect();
            let bidders = bids.iter().map(|b| recent(b / 3, 1000)).collect();
            [persons, auctions, rows(bids, bidders, &random)]
        })
        .collect()
}

/// Processor time of this thread where the system tells it, else elapsed time.
fn processor_ns() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    told.and_then(|s| s.split(' ').next()?.parse().ok()).unwrap_or_else(system_monotonic_ns)
}

fn measure(name: &str, kind: &str, spec: &impl serde::Serialize, ports: &[(usize, usize)], batches: &[[Batch; 3]]) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    let mut registry = Registry::new();
    rheos_operators::register(&mut registry);
    let spec = serde_json::to_value(spec).expect("a specification is data");
    let mut harness = OperatorHarness::open(registry.make_operator(kind, &spec).expect("it is right")).expect("it opens");
    let start_ns = processor_ns();
    let (mut taken, mut put) = (0, 0);
    for batch in batches {
        for (port, which) in ports {
            taken += batch[*which].num_rows();
            let out = harness.push_to(*port, batch[*which].clone()).expect("it runs");
            put += out.iter().map(Batch::num_rows).sum::<usize>();
        }
    }
    let each_ns = (processor_ns() - start_ns) / taken as u64;
    let _ = writeln!(std::io::stdout(), "{name}: {each_ns} ns a row, {taken} rows in, {put} rows out");
}

fn join(left_key: usize, right_key: usize) -> JoinSpec {
    let side = |key| JoinSide { schema: schema(), keys: vec![key], retracts: false, unique_key: None, state_ttl_ms: None };
    let output = Schema::new([schema().fields, schema().fields].concat());
    let (left, right) = (side(left_key), side(right_key));
    JoinSpec { kind: JoinKind::Inner, left, right, condition: None, output, config: EvalConfig::default() }
}

fn main() {
    let batches = batches();
    let rank = |end, rank_column: bool, input_retracts| {
        let mut output = schema();
        output.fields.extend(rank_column.then(|| Field::new("rn", TypeKind::BigInt.not_null())));
        let order = vec![SortKey { column: 2, descending: true, nulls_first: false }];
        RankSpec { input: schema(), partition: vec![0], order, start: 1, end, rank_column, input_retracts, state_ttl_ms: None, output }
    };
    measure("join of auctions and persons", "join", &join(1, 0), &[(1, 0), (0, 1)], &batches);
    measure("join of bids and auctions", "join", &join(0, 0), &[(1, 1), (0, 2)], &batches);
    let mut left = join(0, 0);
    left.kind = JoinKind::Left;
    measure("left join of bids and auctions", "join", &left, &[(1, 1), (0, 2)], &batches);
    let mut retracting = join(0, 0);
    (retracting.left.retracts, retracting.right.retracts) = (true, true);
    measure("join of bids and auctions that may be taken back", "join", &retracting, &[(1, 1), (0, 2)], &batches);
    measure("first bid of each auction", "rank", &rank(1, false, false), &[(0, 2)], &batches);
    measure("first ten bids of each auction", "rank", &rank(10, true, false), &[(0, 2)], &batches);
    measure("first bid of each auction, bids may be taken back", "rank", &rank(1, false, true), &[(0, 2)], &batches);
    let last = DeduplicateSpec { input: schema(), keys: vec![0, 1], time: 3, keep_last: true, state_ttl_ms: None };
    measure("last bid of each bidder on each auction", "deduplicate", &last, &[(0, 2)], &batches);
}
