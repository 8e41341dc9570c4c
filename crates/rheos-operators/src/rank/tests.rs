//! Ranks and deduplication against slow references.

use std::collections::BTreeMap;

use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;

use super::*;
use crate::spec::{DeduplicateSpec, SortKey, WindowRankSpec};
use crate::testing::{Change, Changelog, Dice, Instances, Row, Table, Value, batch, changes_of, fold};

/// A partition, a number, a text, and a time.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("at", TypeKind::Timestamp(3)),
    ])
}

fn row(dice: &mut Dice) -> Row {
    vec![dice.int(5), dice.int(6), dice.text(3), Value::Int(10 + 10 * dice.below(20) as i64)]
}

/// ORDER BY v DESC, or v DESC, t.
fn order(columns: usize) -> Vec<SortKey> {
    let mut order = vec![SortKey { column: 1, descending: true, nulls_first: false }];
    order.push(SortKey { column: 2, descending: false, nulls_first: true });
    order.truncate(columns);
    order
}

fn output(rank_column: bool) -> Schema {
    let mut output = schema();
    output.fields.extend(rank_column.then(|| Field::new("rn", TypeKind::BigInt.not_null())));
    output
}

/// The ranks asked for of rows in order of arrival, which are all of one partition.
fn ranked(rows: &[Row], columns: usize, (start, end): (u64, u64), rank_column: bool) -> Vec<Row> {
    let mut sorted = rows.to_vec();
    // NULL is the least value: last where descending, first where ascending.
    sorted.sort_by(|a, b| b[1].cmp(&a[1]).then(if columns > 1 { a[2].cmp(&b[2]) } else { std::cmp::Ordering::Equal }));
    let with_rank = |(row, rank): (Row, u64)| [row, if rank_column { vec![Value::Int(rank as i64)] } else { vec![] }].concat();
    sorted.into_iter().zip(1..).filter(|(_, rank)| (start..=end).contains(rank)).map(with_rank).collect()
}

#[derive(Debug, Clone, Copy)]
struct Case {
    ranks: (u64, u64),
    columns: usize,
    rank_column: bool,
    retracts: bool,
    collector_rows: usize,
}

fn rank_operator(case: Case) -> Box<dyn Operator> {
    make(&RankSpec {
        state_ttl_ms: None,
        input: schema(),
        partition: vec![0],
        order: order(case.columns),
        start: case.ranks.0,
        end: case.ranks.1,
        rank_column: case.rank_column,
        input_retracts: case.retracts,
        output: output(case.rank_column),
    })
    .unwrap()
}

fn apply(rows: &mut Vec<Row>, (kind, row): &Change) {
    if kind.is_addition() {
        rows.push(row.clone());
    } else {
        // Of equal rows the last to come is the first to go.
        rows.remove(rows.iter().rposition(|r| r == row).unwrap());
    }
}

fn run(case: Case, seed: u64) {
    let mut rank = Instances::new(move || rank_operator(case), &[&[0]], case.collector_rows);
    let mut dice = Dice::new(seed);
    let mut input = Changelog::new(row, case.retracts);
    let mut partitions: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
    let mut result = Table::new();
    for round in 0..50 {
        if round % 12 == 11 {
            rank.restart(1 + round / 12);
        }
        let count = 1 + dice.below(15);
        let changes = input.next(&mut dice, count);
        for change in &changes {
            apply(partitions.entry(change.1[0].clone()).or_default(), change);
        }
        fold(&mut result, &rank.push(0, batch(&schema(), &changes)));
        let mut wanted = Table::new();
        for row in partitions.values().flat_map(|rows| ranked(rows, case.columns, case.ranks, case.rank_column)) {
            *wanted.entry(row).or_default() += 1;
        }
        assert_eq!(result, wanted, "after round {round}, seed {seed}, {case:?}");
    }
    if case.retracts {
        assert_eq!(rank.state_rows(), input.live.len() as i64);
    } else {
        assert!(rank.state_rows() <= 6 * case.ranks.1 as i64, "{} rows kept", rank.state_rows());
    }
}

#[test]
fn ranks_agree_with_the_reference() {
    let mut seed = 0;
    for ranks in [(1, 1), (1, 3), (2, 4), (1, 1000)] {
        for (retracts, rank_column) in [(false, false), (false, true), (true, false), (true, true)] {
            for (columns, collector_rows) in [(1, 1000), (2, 3)] {
                seed += 1;
                run(Case { ranks, columns, rank_column, retracts, collector_rows }, seed);
            }
        }
    }
}

fn insert(k: i64, v: i64, at: i64) -> Change {
    (RowKind::Insert, vec![Value::Int(k), Value::Int(v), Value::Null, Value::Int(at)])
}

fn symbols(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|(kind, _)| kind.symbol()).collect()
}

#[test]
fn a_partition_changes_once_for_a_batch_and_the_only_row_is_updated() {
    let case = Case { ranks: (1, 1), columns: 1, rank_column: false, retracts: false, collector_rows: 100 };
    let mut rank = Instances::new(move || rank_operator(case), &[&[0]], 100);
    let rising: Vec<Change> = (0..50).map(|v| insert(1, v, 0)).collect();
    assert_eq!(rank.push(0, batch(&schema(), &rising)), [insert(1, 49, 0)]);
    assert_eq!(rank.push(0, batch(&schema(), &[insert(1, 49, 1), insert(1, 48, 1)])), [], "the earlier row wins a tie");
    assert_eq!(symbols(&rank.push(0, batch(&schema(), &[insert(1, 60, 0), insert(1, 61, 0)]))), ["-U", "+U"]);
    assert_eq!(rank.state_rows(), 1);
}

#[test]
fn only_ranks_that_have_another_row_are_put_out() {
    let case = Case { ranks: (1, 3), columns: 1, rank_column: true, retracts: true, collector_rows: 100 };
    let mut rank = Instances::new(move || rank_operator(case), &[&[0]], 100);
    rank.push(0, batch(&schema(), &[insert(1, 30, 0), insert(1, 20, 0), insert(1, 10, 0)]));
    assert_eq!(symbols(&rank.push(0, batch(&schema(), &[insert(1, 15, 0)]))), ["-U", "+U"], "the third alone");
    let gone = [(RowKind::Delete, insert(1, 15, 0).1), (RowKind::Delete, insert(1, 10, 0).1), (RowKind::Delete, insert(1, 99, 0).1)];
    assert_eq!(symbols(&rank.push(0, batch(&schema(), &gone))), ["-D"]);
    assert_eq!(rank.harnesses[0].metrics().bad_records.get(), 1);
}

fn deduplicate(keep_last: bool, collector_rows: usize) -> Instances {
    let mut registry = Registry::new();
    register(&mut registry);
    let spec = serde_json::to_value(DeduplicateSpec { input: schema(), keys: vec![0, 2], time: 3, keep_last, state_ttl_ms: None }).unwrap();
    Instances::new(move || registry.make_operator("deduplicate", &spec).unwrap(), &[&[0, 2]], collector_rows)
}

#[test]
fn keeping_the_last_row_agrees_with_the_reference() {
    for (seed, collector_rows) in [(1, 1000), (2, 1000), (3, 1)] {
        let (mut dice, mut input) = (Dice::new(seed), Changelog::new(row, false));
        let mut operator = deduplicate(true, collector_rows);
        let (mut result, mut last): (Table, BTreeMap<(Value, Value), Row>) = Default::default();
        for round in 0..40 {
            if round % 10 == 9 {
                operator.restart(1 + round / 10);
            }
            let count = 1 + dice.below(10);
            let changes = input.next(&mut dice, count);
            for (_, row) in &changes {
                let last = last.entry((row[0].clone(), row[2].clone())).or_insert_with(|| row.clone());
                if row[3] >= last[3] {
                    *last = row.clone();
                }
            }
            fold(&mut result, &operator.push(0, batch(&schema(), &changes)));
            let wanted: Table = last.values().map(|row| (row.clone(), 1)).collect();
            assert_eq!(result, wanted, "after round {round}, seed {seed}");
        }
        assert_eq!(operator.state_rows(), last.len() as i64);
    }
}

#[test]
fn keeping_the_first_row_agrees_with_the_reference() {
    for (seed, collector_rows) in [(1, 1000), (2, 1000), (3, 1)] {
        let (mut dice, mut input) = (Dice::new(seed), Changelog::new(row, false));
        let mut operator = deduplicate(false, collector_rows);
        let mut result = Table::new();
        let mut first: BTreeMap<(Value, Value), Row> = BTreeMap::new();
        let mut watermark = 0;
        for round in 0..40 {
            if round % 10 == 9 {
                operator.restart(1 + round / 10);
            }
            let changes = input.next(&mut dice, 5);
            for (_, row) in changes.iter().filter(|(_, row)| row[3] > Value::Int(watermark)) {
                let first = first.entry((row[0].clone(), row[2].clone())).or_insert_with(|| row.clone());
                // One that was put out has a time before every row that is not late.
                if row[3] < first[3] {
                    *first = row.clone();
                }
            }
            assert_eq!(operator.push(0, batch(&schema(), &changes)), []);
            watermark += dice.below(8) as i64;
            let out = operator.watermark(watermark);
            assert!(out.iter().all(|(kind, _)| *kind == RowKind::Insert));
            fold(&mut result, &out);
            let wanted: Table = first.values().filter(|row| row[3] <= Value::Int(watermark)).map(|row| (row.clone(), 1)).collect();
            assert_eq!(result, wanted, "after round {round}, seed {seed}, watermark {watermark}");
        }
        assert!(result.len() > 5);
    }
}

#[test]
fn window_ranks_agree_with_the_reference() {
    for (seed, ranks, rank_column, columns, collector_rows) in
        [(1, (1, 1), false, 1, 1000), (2, (1, 3), true, 2, 1000), (3, (2, 4), true, 1, 2), (4, (1, 2), false, 2, 1)]
    {
        let mut registry = Registry::new();
        register(&mut registry);
        let spec = WindowRankSpec {
            input: schema(),
            window_end: 3,
            partition: vec![0],
            order: order(columns),
            start: ranks.0,
            end: ranks.1,
            rank_column,
            output: output(rank_column),
        };
        let spec = serde_json::to_value(spec).unwrap();
        let mut operator = Instances::new(move || registry.make_operator("window-rank", &spec).unwrap(), &[&[0]], collector_rows);
        let (mut dice, mut input) = (Dice::new(seed), Changelog::new(row, false));
        let mut open: BTreeMap<(Value, Value), Vec<Row>> = BTreeMap::new();
        let (mut result, mut wanted, mut watermark) = (Table::new(), Table::new(), 0);
        for round in 0..50 {
            if round % 20 == 19 {
                operator.restart(1 + round / 20);
            }
            let changes = input.next(&mut dice, 15);
            for (_, row) in changes.iter().filter(|(_, row)| row[3] > Value::Int(watermark + 1)) {
                open.entry((row[3].clone(), row[0].clone())).or_default().push(row.clone());
            }
            assert_eq!(operator.push(0, batch(&schema(), &changes)), []);
            watermark += dice.below(8) as i64;
            fold(&mut result, &operator.watermark(watermark));
            while let Some(window) = open.first_entry().filter(|w| w.key().0 <= Value::Int(watermark + 1)) {
                for row in ranked(&window.remove(), columns, ranks, rank_column) {
                    *wanted.entry(row).or_default() += 1;
                }
            }
            assert_eq!(result, wanted, "after round {round}, seed {seed}, watermark {watermark}");
        }
        let open_rows: usize = open.values().map(|rows| rows.len().min(ranks.1 as usize)).sum();
        assert_eq!(operator.state_rows(), open_rows as i64, "rows beyond the last rank are dropped at once");
        let last = operator.harnesses.iter_mut().flat_map(|h| h.watermark(i64::MAX).unwrap()).collect::<Vec<_>>();
        assert_eq!(changes_of(&last).len(), open.values().map(|rows| ranked(rows, columns, ranks, false).len()).sum::<usize>());
    }
}

#[test]
fn window_ranks_without_partition_are_spread_and_restored_by_window() {
    let mut registry = Registry::new();
    register(&mut registry);
    let (order, output) = (order(1), output(false));
    let spec = WindowRankSpec { input: schema(), window_end: 3, partition: vec![], order, start: 1, end: 2, rank_column: false, output };
    let spec = serde_json::to_value(spec).unwrap();
    let mut rank = Instances::new(move || registry.make_operator("window-rank", &spec).unwrap(), &[&[3]], 100);
    rank.restart(3);
    let rows: Vec<Change> = (0..60).map(|i| insert(i, i % 7, 10 + i % 20)).collect();
    rank.push(0, batch(&schema(), &rows));
    rank.restart(2);
    rank.push(0, batch(&schema(), &rows));
    rank.restart(4);
    assert_eq!(rank.watermark(100).len(), 20 * 2, "two rows of each of twenty windows");
}
