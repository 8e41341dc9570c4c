//! Over any order, and over changelogs.

use std::collections::BTreeMap;

use super::*;
use crate::testing::{Changelog, Dice, Instances, Table, batch, fold};

fn row(dice: &mut Dice) -> Row {
    vec![dice.int(3), Value::Int(5 * dice.below(4) as i64), dice.int(4), dice.text(2), dice.int(3)]
}

struct Case {
    calls: Vec<OverCall>,
    order: Vec<SortKey>,
    partitioned: bool,
    retracts: bool,
    collector_rows: usize,
}

fn apply(rows: &mut Vec<Row>, (kind, row): &Change) {
    if kind.is_addition() {
        rows.push(row.clone());
    } else {
        // Of equal rows the last to come is the first to go.
        rows.remove(rows.iter().rposition(|r| r == row).unwrap());
    }
}

fn run(case: &Case, seed: u64) {
    let Case { calls, order, partitioned, retracts, collector_rows } = case;
    let partition: &[usize] = if *partitioned { &[KEY] } else { &[] };
    let spec = spec(partition, order, None, calls, *retracts);
    let mut over = Instances::new(move || operator(&spec), &[partition], *collector_rows);
    let mut dice = Dice::new(seed);
    let mut input = Changelog::new(row, *retracts);
    let mut partitions: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
    let mut result = Table::new();
    for round in 0..16 {
        if round % 6 == 5 {
            over.restart(if *partitioned { 1 + (round / 6) % 3 } else { 1 });
        }
        let count = 1 + dice.below(10);
        let changes = input.next(&mut dice, count);
        for change in &changes {
            let key = if *partitioned { change.1[KEY].clone() } else { Value::Null };
            apply(partitions.entry(key).or_default(), change);
        }
        let out = over.push(0, batch(&schema(), &changes));
        assert!(out.iter().all(|(kind, _)| *retracts || !calls.is_empty() || kind.is_addition()));
        fold(&mut result, &out);
        let mut wanted = Table::new();
        for rows in partitions.values() {
            let mut sorted = rows.clone();
            sorted.sort_by(|a, b| compare(order, a, b));
            for at in 0..sorted.len() {
                *wanted.entry(with_values(calls, order, &sorted, at)).or_default() += 1;
            }
        }
        assert_eq!(result, wanted, "after round {round}, seed {seed}, {calls:?}, order {order:?}");
    }
    assert_eq!(over.state_rows(), input.live.len() as i64);
}

fn run_all(calls: &[OverCall]) {
    // Short keys, and keys of any length.
    let orders = [vec![descending(V)], vec![ascending(T), descending(V)], vec![descending(AT), ascending(D)]];
    for (seed, retracts, partitioned, collector_rows) in
        [(0, true, true, 1000), (1, true, true, 1), (2, true, false, 3), (3, false, true, 3), (4, false, false, 1000)]
    {
        let order = orders[seed as usize % orders.len()].clone();
        run(&Case { calls: calls.to_vec(), order, partitioned, retracts, collector_rows }, seed);
    }
}

#[test]
fn frames_over_changelogs_agree_with_the_reference() {
    for frame in [ROWS, RANGE, rows_before(0), rows_before(2), ms_before(0)] {
        run_all(&aggregates(frame));
    }
}

#[test]
fn numbers_and_neighbours_over_changelogs_agree_with_the_reference() {
    run_all(&[OverCall::RowNumber, OverCall::Rank, OverCall::DenseRank]);
    run_all(&[lag(V, 1, None), lag(T, -1, None), lag(V, 2, Some(D)), lag(V, -3, Some(D))]);
}

#[test]
fn several_frames_over_changelogs_agree_with_the_reference() {
    let mut calls = vec![OverCall::Rank, lag(V, 1, Some(D)), OverCall::DenseRank];
    for frame in [ROWS, RANGE, rows_before(1)] {
        calls.extend([aggregate("SUM", Some(V), frame), aggregate("LAST_VALUE", Some(T), frame)]);
    }
    run_all(&calls);
}

#[test]
fn all_rows_are_peers_without_an_order() {
    let calls = [aggregate("SUM", Some(V), RANGE), OverCall::RowNumber, aggregate("COUNT DISTINCT", Some(T), RANGE)];
    for (seed, retracts) in [(1, true), (2, false)] {
        run(&Case { calls: calls.to_vec(), order: vec![], partitioned: true, retracts, collector_rows: 3 }, seed);
    }
}
