//! Window operators against a slow model that counts each row in each of its windows, with restarts at another parallelism.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rheos_core::batch::Batch;
use rheos_core::env::{Random, SplitMix64};
use rheos_core::key_group::{ColumnKey, DEFAULT_KEY_GROUPS, KeySelector, key_group};
use rheos_core::operator::Operator;
use rheos_core::routing::RoutingTable;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::{OperatorHarness, changes};
use rheos_core::time::MAX_WATERMARK;
use rheos_core::types::TypeKind;

use super::*;
use crate::aggregate::model::{G, K, Row, TS, alike, batch, call, ordered_calls, random_row, schema, unordered_calls};
use crate::spec::{AggregateCall, WindowProperty};

mod model;

type Change = (Row, i8);

/// The least time of a row.
const START: i64 = 1000;

fn stamp(name: &str) -> Field {
    Field::new(name, TypeKind::Timestamp(3).nullable())
}

fn aggregate_spec(window: WindowSpec, calls: &[AggregateCall], input_retracts: bool) -> WindowAggregateSpec {
    let input = schema();
    let keys = vec![K, G];
    let mut output: Vec<Field> = keys.iter().map(|k| input.fields[*k].clone()).collect();
    output.extend(calls.iter().enumerate().map(|(i, c)| Field::new(format!("a{i}"), c.ty.clone())));
    output.extend([stamp("window_start"), stamp("window_end"), Field::new("window_time", TypeKind::Timestamp(6).nullable())]);
    WindowAggregateSpec {
        windowing: Windowing::Time { column: TS, window },
        input,
        keys,
        aggregates: calls.to_vec(),
        input_retracts,
        properties: vec![WindowProperty::Start, WindowProperty::End, WindowProperty::Time],
        output: Schema::new(output),
    }
}

fn table_spec(window: WindowSpec) -> WindowTableSpec {
    let input = schema();
    let mut output = input.fields.clone();
    output.extend([stamp("window_start"), stamp("window_end"), stamp("window_time")]);
    WindowTableSpec { input, time: TS, window, keys: vec![K, G], output: Schema::new(output) }
}

fn operator(kind: &str, spec: &impl serde::Serialize) -> Box<dyn Operator> {
    let mut registry = Registry::new();
    register(&mut registry);
    registry.make_operator(kind, &serde_json::to_value(spec).unwrap()).unwrap()
}

/// Instances of one operator behind an exchange by the key columns.
struct Instances<'a> {
    make: &'a dyn Fn() -> Box<dyn Operator>,
    harnesses: Vec<OperatorHarness>,
}

impl<'a> Instances<'a> {
    fn new(make: &'a dyn Fn() -> Box<dyn Operator>) -> Self {
        Instances { make, harnesses: vec![OperatorHarness::open(make()).unwrap().with_collector_rows(5)] }
    }

    fn restart(&mut self, parallelism: usize) {
        let snapshots: Vec<_> = self.harnesses.iter_mut().map(|h| h.snapshot().unwrap()).collect();
        let open = |i| OperatorHarness::open_at((self.make)(), i, parallelism, &snapshots).unwrap().with_collector_rows(5);
        self.harnesses = (0..parallelism).map(open).collect();
    }

    fn push(&mut self, batch: Batch) -> Vec<Batch> {
        let (mut hashes, parallelism) = (Vec::new(), self.harnesses.len());
        ColumnKey::new(vec![K, G]).hashes(&batch, &mut hashes).unwrap();
        let routing = RoutingTable::contiguous(DEFAULT_KEY_GROUPS, parallelism);
        let targets: Vec<u32> = hashes.iter().map(|h| routing.owner(key_group(*h, DEFAULT_KEY_GROUPS))).collect();
        let parts = batch.split(&targets, parallelism).unwrap();
        let pushed = self.harnesses.iter_mut().zip(parts).filter_map(|(h, part)| part.map(|part| h.push(part).unwrap()));
        let out = pushed.flatten().collect();
        // From the second snapshot on it is changes that are taken.
        self.harnesses.iter_mut().for_each(|h| drop(h.snapshot().unwrap()));
        out
    }

    fn watermark(&mut self, at: i64) -> Vec<String> {
        let mut lines: Vec<String> = self.harnesses.iter_mut().flat_map(|h| changes(&h.watermark(at).unwrap())).collect();
        lines.sort();
        lines
    }

    fn sum(&self, metric: impl Fn(&OperatorHarness) -> i64) -> i64 {
        self.harnesses.iter().map(metric).sum()
    }
}

/// Batches of rows whose times rise on the whole, each with the watermark that follows it, which makes some rows late.
fn random_input(seed: u64, retracts: bool) -> Vec<(Vec<Change>, i64)> {
    let random = SplitMix64::new(seed);
    let mut live: Vec<Row> = Vec::new();
    let mut watermark = START;
    (0..14)
        .map(|i| {
            let rows = (0..1 + random.next_u64() % 20).map(|_| {
                let pick = random.next_u64() as usize;
                if retracts && !live.is_empty() && pick.is_multiple_of(3) {
                    return (live.swap_remove(pick / 3 % live.len()), -1);
                }
                let row = random_row(&random, START + (pick % 90) as i64 + i * 20);
                live.push(row.clone());
                (row, 1)
            });
            let rows = rows.collect();
            watermark += (random.next_u64() % 40) as i64;
            (rows, if i == 13 { MAX_WATERMARK } else { watermark })
        })
        .collect()
}

/// The same without late rows where rows are taken back: a late row that is taken back would be missed in a session that has
/// come to where it was.
fn session_input(seed: u64, retracts: bool) -> Vec<(Vec<Change>, i64)> {
    let mut input = random_input(seed, retracts);
    if retracts {
        let last = input.len() - 1;
        input[..last].iter_mut().enumerate().for_each(|(i, (_, watermark))| *watermark = START + i as i64 * 20 + 19);
    }
    input
}

fn same(out: &[String], expected: &[String]) -> bool {
    // Lines begin with key and window is last: sorted alike up to numbers that differ in their last digits.
    let mut rest: Vec<&String> = expected.iter().collect();
    out.len() == expected.len()
        && out.iter().all(|line| match rest.iter().position(|e| alike(line, e)) {
            Some(at) => {
                rest.swap_remove(at);
                true
            }
            None => false,
        })
}

fn aligned_windows() -> impl Strategy<Value = WindowSpec> {
    prop_oneof![
        (5i64..60, -60i64..60).prop_map(|(size_ms, offset_ms)| WindowSpec::Tumble { size_ms, offset_ms }),
        (1i64..5, 3i64..20, -60i64..60).prop_map(|(n, slide_ms, offset_ms)| WindowSpec::Hop { size_ms: n * slide_ms, slide_ms, offset_ms }),
        (5i64..40, 5i64..40).prop_map(|(size_ms, slide_ms)| WindowSpec::Hop { size_ms, slide_ms, offset_ms: 0 }),
        (1i64..5, 5i64..20, -60i64..60).prop_map(|(n, step_ms, offset_ms)| WindowSpec::Cumulate {
            max_ms: n * step_ms,
            step_ms,
            offset_ms
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn aligned_windows_give_what_the_model_gives_also_across_restarts(seed: u64, window in aligned_windows(), retracts: bool) {
        let mut calls = unordered_calls();
        calls.extend(ordered_calls().into_iter().filter(|c| matches!(window, WindowSpec::Tumble { .. }) || c.function.contains("AGG_")));
        let input = random_input(seed, retracts);
        let spec = aggregate_spec(window, &calls, retracts);
        let make = || operator("window-aggregate", &spec);
        let mut instances = Instances::new(&make);
        for (i, ((rows, watermark), expected)) in input.iter().zip(model::model_of(window, &calls, &input)).enumerate() {
            match i {
                5 => instances.restart(3),
                9 => instances.restart(1),
                _ => {}
            }
            prop_assert!(instances.push(batch(rows)).is_empty());
            let out = instances.watermark(*watermark);
            prop_assert!(same(&out, &expected), "batch {i}: {out:#?}\nis not\n{expected:#?}");
        }
        prop_assert_eq!(instances.sum(|h| h.metrics().state_rows.get()), 0);
        prop_assert_eq!(instances.sum(|h| h.metrics().open_windows.get()), 0);
    }

    #[test]
    fn windows_that_rows_carry_are_as_those_by_time(seed: u64, window in aligned_windows(), retracts: bool) {
        let calls = unordered_calls();
        let input = random_input(seed, retracts);
        let spec = table_spec(window);
        let mut table = OperatorHarness::open(operator("window-table", &spec)).unwrap().with_collector_rows(3);
        let mut carried = aggregate_spec(window, &calls, retracts);
        carried.windowing = Windowing::Attached { start: spec.input.len(), end: spec.input.len() + 1 };
        carried.input = spec.output.clone();
        let make = || operator("window-aggregate", &carried);
        let mut instances = Instances::new(&make);
        for (i, ((rows, watermark), expected)) in input.iter().zip(model::model_of(window, &calls, &input)).enumerate() {
            if i == 7 {
                instances.restart(2);
            }
            for part in table.push(batch(rows)).unwrap() {
                prop_assert!(part.num_rows() <= 3);
                instances.push(part);
            }
            let out = instances.watermark(*watermark);
            prop_assert!(same(&out, &expected), "batch {i}: {out:#?}\nis not\n{expected:#?}");
        }
        prop_assert_eq!(instances.sum(|h| h.metrics().state_rows.get()), 0);
    }

    #[test]
    fn sessions_give_what_the_model_gives_also_across_restarts(seed: u64, gap_ms in 1i64..40, retracts: bool) {
        let calls = unordered_calls();
        let input = session_input(seed, retracts);
        let spec = aggregate_spec(WindowSpec::Session { gap_ms }, &calls, retracts);
        let make = || operator("window-aggregate", &spec);
        let mut instances = Instances::new(&make);
        let (results, late) = model::model_of_sessions(gap_ms, &calls, &input);
        let mut counted = 0;
        for (i, ((rows, watermark), expected)) in input.iter().zip(results).enumerate() {
            match i {
                4 | 9 => {
                    counted += instances.sum(|h| h.metrics().late_rows.get() as i64);
                    instances.restart(if i == 4 { 2 } else { 1 });
                }
                _ => {}
            }
            instances.push(batch(rows));
            let out = instances.watermark(*watermark);
            prop_assert!(same(&out, &expected), "batch {i}: {out:#?}\nis not\n{expected:#?}");
        }
        prop_assert_eq!(counted + instances.sum(|h| h.metrics().late_rows.get() as i64), late);
        prop_assert_eq!(instances.sum(|h| h.metrics().open_windows.get()), 0);
    }

    #[test]
    fn the_rows_of_sessions_are_those_that_their_aggregates_count(seed: u64, gap_ms in 1i64..40, retracts: bool) {
        let calls = [call("COUNT", &[], None, false)];
        let input = session_input(seed, retracts);
        let spec = table_spec(WindowSpec::Session { gap_ms });
        let make = || operator("window-table", &spec);
        let mut instances = Instances::new(&make);
        for (i, ((rows, watermark), expected)) in input.iter().zip(model::model_of_sessions(gap_ms, &calls, &input).0).enumerate() {
            if i == 6 {
                instances.restart(2);
            }
            instances.push(batch(rows));
            let mut counts: BTreeMap<String, i64> = BTreeMap::new();
            for line in instances.watermark(*watermark) {
                let cells: Vec<&str> = line[3..].split('|').collect();
                let (start, end) = (cells[cells.len() - 3], cells[cells.len() - 2]);
                *counts.entry(format!("{}|{}|{start}|{end}", cells[0], cells[1])).or_default() += 1;
            }
            let expected: BTreeMap<String, i64> = expected
                .iter()
                .map(|line| {
                    let cells: Vec<&str> = line[3..].split('|').collect();
                    (format!("{}|{}|{}|{}", cells[0], cells[1], cells[3], cells[4]), cells[2].parse().unwrap())
                })
                .collect();
            prop_assert_eq!(counts, expected);
        }
        prop_assert_eq!(instances.sum(|h| h.metrics().state_rows.get()), 0);
    }
}

fn row(k: i64, ts: i64) -> Change {
    (Row { k: Some(k), g: None, ts, ..random_row(&SplitMix64::new(1), 0) }, 1)
}

fn counting(window: WindowSpec) -> OperatorHarness {
    let mut spec = aggregate_spec(window, &[call("COUNT", &[], None, false)], false);
    spec.keys = vec![K];
    spec.output.fields.remove(1);
    spec.properties = vec![WindowProperty::End];
    spec.output.fields.drain(2..);
    spec.output.fields.push(stamp("window_end"));
    OperatorHarness::open(operator("window-aggregate", &spec)).unwrap()
}

#[test]
fn a_row_is_late_when_the_watermark_has_reached_the_last_millisecond_of_its_window() {
    let mut harness = counting(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 });
    harness.push(batch(&[row(1, 3)])).unwrap();
    assert!(harness.watermark(8).unwrap().is_empty());
    harness.push(batch(&[row(1, 5)])).unwrap();
    assert_eq!(changes(&harness.watermark(9).unwrap()), ["+I 1|2|1970-01-01T00:00:00.010"]);
    harness.push(batch(&[row(1, 9), row(1, 10), row(1, 2)])).unwrap();
    assert_eq!(harness.metrics().late_rows.get(), 2);
    assert_eq!(changes(&harness.watermark(MAX_WATERMARK).unwrap()), ["+I 1|1|1970-01-01T00:00:00.020"]);
}

#[test]
fn the_operator_tells_how_many_windows_are_open_and_when_the_next_closes() {
    let mut harness = counting(WindowSpec::Hop { size_ms: 30, slide_ms: 10, offset_ms: 0 });
    assert_eq!((harness.metrics().open_windows.get(), harness.metrics().next_close_ms.get()), (0, i64::MAX));
    harness.push(batch(&[row(1, 3), row(1, 25), row(2, 25)])).unwrap();
    assert_eq!((harness.metrics().open_windows.get(), harness.metrics().next_close_ms.get()), (5, 9));
    harness.watermark(20).unwrap();
    assert_eq!((harness.metrics().open_windows.get(), harness.metrics().next_close_ms.get()), (3, 29));
    assert_eq!(harness.metrics().state_rows.get(), 3);
}

#[test]
fn a_large_window_is_put_out_in_parts() {
    let mut harness = counting(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }).with_collector_rows(10);
    harness.push(batch(&(0..95).map(|k| row(k, 1)).collect::<Vec<_>>())).unwrap();
    let out = harness.watermark(9).unwrap();
    assert_eq!(out.iter().map(Batch::num_rows).collect::<Vec<_>>(), [10, 10, 10, 10, 10, 10, 10, 10, 10, 5]);
    assert!(harness.resumed() >= 9);
}

#[test]
fn rows_one_gap_apart_are_in_one_session_and_a_late_row_may_join_an_open_one() {
    let mut harness = counting(WindowSpec::Session { gap_ms: 10 });
    harness.push(batch(&[row(1, 100), row(1, 110)])).unwrap();
    assert_eq!(harness.metrics().open_windows.get(), 1);
    assert!(changes(&harness.watermark(109).unwrap()).is_empty());
    // By themselves both would be late; the second touches the open session.
    harness.push(batch(&[row(1, 85), row(1, 99)])).unwrap();
    assert_eq!(harness.metrics().late_rows.get(), 1);
    assert_eq!(changes(&harness.watermark(200).unwrap()), ["+I 1|3|1970-01-01T00:00:00.120"]);
}

#[test]
fn a_row_without_a_time_is_bad_input() {
    let mut spec = aggregate_spec(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }, &[], false);
    let nowhere = spec.input.fields.iter().position(|f| f.name == "s");
    assert!(nowhere.is_some());
    spec.aggregates.clear();
    let mut harness = OperatorHarness::open(operator("window-aggregate", &spec)).unwrap();
    let columns = batch(&[row(1, 1)]).into_columns().unwrap();
    let mut arrays = columns.columns().to_vec();
    arrays[TS] = arrow::array::new_null_array(arrays[TS].data_type(), 1);
    let without = columns.with_columns(columns.schema(), arrays).unwrap();
    assert_eq!(harness.push(without).unwrap_err().kind(), rheos_core::ErrorKind::FixInput);
}
