//! Measures aggregates alone, in nanoseconds for each input row: `cargo run --release -p rheos-operators --example aggregates`.
//!
//! The rows are like Nexmark's bids: half of them on the hot auction of the moment, the others on the hundred latest.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::env::{Random, SplitMix64, system_monotonic_ns};
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::OperatorHarness;
use rheos_core::time::MAX_WATERMARK;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_operators::spec::aggregate::resolve;
use rheos_operators::spec::{AggregateCall, GroupAggregateSpec, WindowAggregateSpec, WindowProperty, WindowSpec, Windowing};

const BIDS: i64 = 9_200_000;
const BATCH: i64 = 8_192;

const AUCTION: usize = 0;
const BIDDER: usize = 1;
const PRICE: usize = 2;
const AT: usize = 3;
const DAY: usize = 4;
const LOW: usize = 5;
const MIDDLE: usize = 6;
const HIGH: usize = 7;

fn schema() -> Schema {
    let columns = [
        ("auction", TypeKind::BigInt),
        ("bidder", TypeKind::BigInt),
        ("price", TypeKind::BigInt),
        ("at", TypeKind::Timestamp(3)),
        ("day", TypeKind::STRING),
        ("low", TypeKind::Boolean),
        ("middle", TypeKind::Boolean),
        ("high", TypeKind::Boolean),
    ];
    Schema::new(columns.into_iter().map(|(name, kind)| Field::new(name, kind.nullable())).collect())
}

/// Bids, of which so many fall on a second of event time.
fn bids(per_second: i64) -> Vec<(Batch, i64)> {
    let random = SplitMix64::new(1);
    let below = |n: u64| (random.next_u64() % n) as i64;
    (0..BIDS / BATCH)
        .map(|i| {
            let numbers = i * BATCH..(i + 1) * BATCH;
            let auctions = numbers.clone().map(|bid| {
                let last = 3 * bid / 46;
                if below(2) == 0 { last / 100 * 100 } else { (last - below(100)).max(0) }
            });
            let auctions = Int64Array::from_iter_values(auctions);
            let bidders = Int64Array::from_iter_values(numbers.clone().map(|bid| bid / 46 + below(1000)));
            let prices: Vec<i64> = numbers.clone().map(|_| 10f64.powf(below(6_000_000) as f64 / 1e6 + 2.0) as i64).collect();
            let between =
                |low, high| -> ArrayRef { Arc::new(BooleanArray::from_iter(prices.iter().map(|p| Some(*p >= low && *p < high)))) };
            let times = numbers.map(|bid| bid * 1000 / per_second);
            let columns: Vec<ArrayRef> = vec![
                Arc::new(auctions),
                Arc::new(bidders),
                Arc::new(Int64Array::from(prices.clone())),
                Arc::new(TimestampMillisecondArray::from_iter_values(times)),
                Arc::new(StringArray::from_iter_values((0..BATCH).map(|_| "2015-07-15"))),
                between(0, 10_000),
                between(10_000, 1_000_000),
                between(1_000_000, i64::MAX),
            ];
            let records = RecordBatch::try_new(schema().to_arrow(), columns).expect("columns of one length");
            (ColumnBatch::inserts(records).into(), (i + 1) * BATCH * 1000 / per_second - 1)
        })
        .collect()
}

fn call(function: &str, args: &[usize], filter: Option<usize>, distinct: bool) -> AggregateCall {
    let arg_types: Vec<LogicalType> = args.iter().map(|a| schema().fields[*a].ty.clone()).collect();
    let resolved = resolve(function, &arg_types, distinct).expect("a call that exists");
    AggregateCall { function: resolved.name, args: args.to_vec(), arg_types, filter, distinct, ty: resolved.result }
}

/// Processor time of this thread where the system tells it, else elapsed time.
fn processor_ns() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    told.and_then(|s| s.split(' ').next()?.parse().ok()).unwrap_or_else(system_monotonic_ns)
}

fn measure(name: &str, kind: &str, spec: &impl serde::Serialize, input: &[(Batch, i64)]) {
    let mut registry = Registry::new();
    rheos_operators::register(&mut registry);
    let spec = serde_json::to_value(spec).expect("a specification is data");
    let mut harness = OperatorHarness::open(registry.make_operator(kind, &spec).expect("it is right")).expect("it opens");
    let start_ns = processor_ns();
    let (mut rows_in, mut rows_out) = (0, 0);
    let mut count = |out: Vec<Batch>| rows_out += out.iter().map(Batch::num_rows).sum::<usize>();
    for (batch, watermark) in input {
        rows_in += batch.num_rows();
        count(harness.push(batch.clone()).expect("it runs"));
        count(harness.watermark(*watermark).expect("it runs"));
    }
    count(harness.watermark(MAX_WATERMARK).expect("it runs"));
    let each_ns = (processor_ns() - start_ns) as f64 / rows_in as f64;
    let _ = writeln!(std::io::stdout(), "{name}: {each_ns:.1} ns a row, {rows_in} rows in, {rows_out} rows out");
}

fn outputs(keys: &[usize], calls: &[AggregateCall]) -> Vec<Field> {
    let keys = keys.iter().map(|k| schema().fields[*k].clone());
    keys.chain(calls.iter().enumerate().map(|(i, c)| Field::new(format!("a{i}"), c.ty.clone()))).collect()
}

fn group(keys: &[usize], aggregates: Vec<AggregateCall>, emit_update_before: bool) -> GroupAggregateSpec {
    let output = Schema::new(outputs(keys, &aggregates));
    GroupAggregateSpec {
        input: schema(),
        keys: keys.to_vec(),
        aggregates,
        input_retracts: false,
        emit_update_before,
        state_ttl_ms: None,
        output,
    }
}

fn window(window: WindowSpec, keys: &[usize], aggregates: Vec<AggregateCall>) -> WindowAggregateSpec {
    let mut output = outputs(keys, &aggregates);
    output.extend(["window_start", "window_end"].map(|name| Field::new(name, TypeKind::Timestamp(3).not_null())));
    WindowAggregateSpec {
        input: schema(),
        windowing: Windowing::Time { column: AT, window },
        keys: keys.to_vec(),
        aggregates,
        input_retracts: false,
        properties: vec![WindowProperty::Start, WindowProperty::End],
        output: Schema::new(output),
    }
}

fn main() {
    let count = || call("COUNT", &[], None, false);
    let statistics = || {
        let mut calls = vec![count()];
        calls.extend([LOW, MIDDLE, HIGH].map(|filter| call("COUNT", &[], Some(filter), false)));
        calls.extend(["MIN", "MAX", "AVG", "SUM"].map(|function| call(function, &[PRICE], None, false)));
        calls
    };
    let slow = bids(10_000);
    measure("q17, updates alone", "group-aggregate", &group(&[AUCTION, DAY], statistics(), false), &slow);
    measure("q17, with old rows", "group-aggregate", &group(&[AUCTION, DAY], statistics(), true), &slow);
    measure("count by auction", "group-aggregate", &group(&[AUCTION], vec![count()], false), &slow);
    measure("count by bidder", "group-aggregate", &group(&[BIDDER], vec![count()], false), &slow);
    measure("statistics by nothing", "group-aggregate", &group(&[], statistics(), false), &slow);
    let distinct =
        vec![call("COUNT", &[BIDDER], None, true), call("COUNT", &[BIDDER], Some(LOW), true), call("COUNT", &[AUCTION], None, true)];
    measure("distinct bidders and auctions by day", "group-aggregate", &group(&[DAY], distinct, false), &slow);
    let hop = WindowSpec::Hop { size_ms: 10_000, slide_ms: 2_000, offset_ms: 0 };
    let tumble = WindowSpec::Tumble { size_ms: 10_000, offset_ms: 0 };
    measure("q5, 10,000 bids a second", "window-aggregate", &window(hop, &[AUCTION], vec![count()]), &slow);
    measure("q5 by bidder, 10,000 bids a second", "window-aggregate", &window(hop, &[BIDDER], vec![count()]), &slow);
    measure("statistics in tumbling windows", "window-aggregate", &window(tumble, &[AUCTION], statistics()), &slow);
    let session = WindowSpec::Session { gap_ms: 10_000 };
    measure("q11, sessions of bidders", "window-aggregate", &window(session, &[BIDDER], vec![count()]), &slow);
    drop(slow);
    let fast = bids(10_000_000);
    measure("q5, 10,000,000 bids a second", "window-aggregate", &window(hop, &[AUCTION], vec![count()]), &fast);
}
