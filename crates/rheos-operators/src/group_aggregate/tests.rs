//! The operator against a slow model, with and without a restart in the middle; and its changes, one by one.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rheos_core::env::{Random, SplitMix64};
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::{OperatorHarness, changes};

use super::*;
use crate::aggregate::model::{self, Row, batch, call, expected, ordered_calls, random_row, unordered_calls};
use crate::spec::AggregateCall;

fn spec(keys: &[usize], aggregates: Vec<AggregateCall>, input_retracts: bool, emit_update_before: bool) -> GroupAggregateSpec {
    let input = model::schema();
    let mut output: Vec<Field> = keys.iter().map(|k| input.fields[*k].clone()).collect();
    output.extend(aggregates.iter().enumerate().map(|(i, c)| Field::new(format!("a{i}"), c.ty.clone())));
    GroupAggregateSpec {
        input,
        keys: keys.to_vec(),
        aggregates,
        input_retracts,
        emit_update_before,
        state_ttl_ms: None,
        output: Schema::new(output),
    }
}

fn operator(spec: &GroupAggregateSpec) -> Box<dyn Operator> {
    Box::new(GroupAggregate::new(spec.clone()).unwrap())
}

/// Batches of rows, each of which takes back some of the rows before.
fn random_input(random: &SplitMix64, retracts: bool) -> Vec<Vec<(Row, i8)>> {
    let mut live: Vec<Row> = Vec::new();
    (0..8)
        .map(|_| {
            (0..1 + random.next_u64() % 30)
                .map(|_| {
                    let pick = random.next_u64() as usize;
                    if retracts && !live.is_empty() && pick.is_multiple_of(3) {
                        return (live.remove(pick / 3 % live.len()), -1);
                    }
                    let row = random_row(random, (pick % 600_000) as i64);
                    live.push(row.clone());
                    (row, 1)
                })
                .collect()
        })
        .collect()
}

fn shown_key(row: &Row, keys: &[usize]) -> String {
    let k = row.k.map_or("NULL".to_string(), |k| k.to_string());
    let g = row.g.clone().unwrap_or_else(|| "NULL".into());
    keys.iter().map(|key| if *key == model::K { format!("{k}|") } else { format!("{g}|") }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_changes_build_the_groups_of_the_model_also_across_a_restart(
        seed: u64, keys in prop::sample::select(vec![vec![], vec![model::K], vec![model::G, model::K]]), retracts: bool,
    ) {
        let random = SplitMix64::new(seed);
        let calls: Vec<AggregateCall> = unordered_calls().into_iter().chain(ordered_calls()).collect();
        let spec = spec(&keys, calls.clone(), retracts, true);
        let mut straight = OperatorHarness::open(operator(&spec)).unwrap();
        let mut restarted = OperatorHarness::open(operator(&spec)).unwrap();
        let mut histories: BTreeMap<String, Vec<(Row, i8)>> = BTreeMap::new();
        let mut table: Vec<String> = Vec::new();
        for (number, rows) in random_input(&random, retracts).into_iter().enumerate() {
            if number == 4 {
                let snapshot = restarted.snapshot().unwrap();
                restarted = OperatorHarness::open_at(operator(&spec), 0, 1, &[snapshot]).unwrap();
            }
            let out = changes(&straight.push(batch(&rows)).unwrap());
            let again = changes(&restarted.push(batch(&rows)).unwrap());
            prop_assert!(out.len() == again.len() && out.iter().zip(&again).all(|(a, b)| model::alike(a, b)), "{out:#?}\n{again:#?}");
            for (row, sign) in rows {
                histories.entry(shown_key(&row, &keys)).or_default().push((row, sign));
            }
            histories.retain(|_, rows| rows.iter().map(|(_, sign)| i64::from(*sign)).sum::<i64>() > 0);
            for line in &out {
                let (kind, row) = line.split_at(3);
                if kind == "+I " || kind == "+U " {
                    table.push(row.to_string());
                } else {
                    let at = table.iter().position(|r| r == row);
                    prop_assert!(at.is_some(), "{line} takes back a row that does not stand");
                    table.swap_remove(at.unwrap_or_default());
                }
            }
            for pair in out.windows(2).filter(|p| p[0].starts_with("-U")) {
                prop_assert!(pair[1].starts_with("+U") && pair[0][3..] != pair[1][3..], "{pair:?}");
            }
            prop_assert_eq!(table.len(), histories.len());
            for (key, history) in &histories {
                let row: Vec<String> = calls.iter().map(|c| expected(c, history)).collect();
                let row = format!("{key}{}", row.join("|"));
                prop_assert!(table.iter().any(|r| model::alike(r, &row)), "{row}\nis not in\n{}", table.join("\n"));
            }
        }
    }
}

fn row(k: Option<i64>, f: bool) -> Row {
    Row { k, f: Some(f), ..random_row(&SplitMix64::new(1), 0) }
}

fn counts(retracts: bool, update_before: bool) -> OperatorHarness {
    let calls = vec![call("COUNT", &[], Some(model::F), false)];
    OperatorHarness::open(operator(&spec(&[model::K], calls, retracts, update_before))).unwrap()
}

#[test]
fn a_group_changes_once_a_batch_and_only_if_its_result_does() {
    let mut harness = counts(false, true);
    let out = harness.push(batch(&[(row(Some(1), true), 1), (row(None, false), 1), (row(Some(1), true), 1)])).unwrap();
    assert_eq!(changes(&out), ["+I 1|2", "+I NULL|0"]);
    let out = harness.push(batch(&[(row(None, false), 1), (row(Some(1), true), 1)])).unwrap();
    assert_eq!(changes(&out), ["-U 1|2", "+U 1|3"]);
    assert_eq!(harness.metrics().state_rows.get(), 2);
}

#[test]
fn the_old_row_is_left_out_where_nobody_needs_it() {
    let mut harness = counts(true, false);
    harness.push(batch(&[(row(Some(1), true), 1)])).unwrap();
    assert_eq!(changes(&harness.push(batch(&[(row(Some(1), true), 1)])).unwrap()), ["+U 1|2"]);
}

#[test]
fn a_group_without_rows_is_deleted_and_may_come_again() {
    let mut harness = counts(true, true);
    harness.push(batch(&[(row(Some(1), true), 1), (row(Some(2), true), 1)])).unwrap();
    assert_eq!(changes(&harness.push(batch(&[(row(Some(1), true), -1)])).unwrap()), ["-D 1|1"]);
    assert_eq!(harness.metrics().state_rows.get(), 1);
    assert_eq!(changes(&harness.push(batch(&[(row(Some(1), false), 1)])).unwrap()), ["+I 1|0"]);
}

#[test]
fn what_is_taken_back_from_an_unknown_group_is_counted_and_dropped() {
    let mut harness = counts(true, true);
    let out = harness.push(batch(&[(row(Some(1), true), -1), (row(Some(1), true), 1), (row(Some(2), true), -1)])).unwrap();
    assert_eq!(changes(&out), ["+I 1|1"]);
    assert_eq!(harness.metrics().bad_records.get(), 2);
    assert_eq!(harness.metrics().state_rows.get(), 1);
}

fn one(calls: Vec<AggregateCall>, retracts: bool) -> OperatorHarness {
    OperatorHarness::open(operator(&spec(&[], calls, retracts, true))).unwrap()
}

#[test]
fn a_subquery_used_as_a_value_may_be_updated_but_not_have_two_rows() {
    let mut harness = one(vec![call("SINGLE_VALUE", &[model::K], None, false)], true);
    assert_eq!(changes(&harness.push(batch(&[(row(Some(1), true), 1)])).unwrap()), ["+I 1"]);
    let update = [(row(Some(2), true), 1), (row(Some(1), true), -1)];
    assert_eq!(changes(&harness.push(batch(&update)).unwrap()), ["-U 1", "+U 2"]);
    let error = harness.push(batch(&[(row(None, true), 1)])).unwrap_err();
    assert!(error.to_string().contains("more than one row"), "{error}");
}

#[test]
fn a_json_object_keeps_the_last_value_of_a_key_in_its_first_place() {
    let mut harness = one(vec![call("JSON_OBJECTAGG", &[model::G, model::K], None, false)], false);
    let entry = |g: &str, k| (Row { g: Some(g.into()), ..row(k, true) }, 1);
    let out = harness.push(batch(&[entry("a\"", Some(1)), entry("b", None), entry("a\"", Some(2))])).unwrap();
    assert_eq!(changes(&out), [r#"+I {"a\"":2,"b":null}"#]);
    let error = harness.push(batch(&[(Row { g: None, ..row(Some(1), true) }, 1)])).unwrap_err();
    assert!(error.to_string().contains("key"), "{error}");
}

#[test]
fn state_of_another_query_is_refused() {
    let mut harness = counts(false, true);
    harness.push(batch(&[(row(Some(1), true), 1)])).unwrap();
    let other = spec(&[model::G], vec![call("COUNT", &[], None, false)], false, true);
    let error = OperatorHarness::open_at(operator(&other), 0, 1, &[harness.snapshot().unwrap()]).err().unwrap();
    assert!(error.to_string().contains("cannot become state of columns"), "{error}");
}
