//! Window joins against the join's reference, window by window.

use std::collections::BTreeMap;

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use super::*;
use crate::join::tests::reference;
use crate::spec::JoinSide;
use crate::testing::{Changelog, Dice, Instances, Row, Table, Value, batch, fold};

/// A key, a number, a text and the window's end.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("window_end", TypeKind::Timestamp(3)),
    ])
}

fn row(dice: &mut Dice) -> Row {
    vec![dice.int(4), dice.int(5), dice.text(2), Value::Int(10 + 10 * dice.below(20) as i64)]
}

fn spec(kind: JoinKind, retracts: bool, conditional: bool) -> WindowJoinSpec {
    let side = || JoinSide { schema: schema(), keys: vec![0], retracts, unique_key: None, state_ttl_ms: None };
    let column = |index| Expr::column(index, TypeKind::BigInt.nullable());
    let mut output = schema().fields;
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        output.extend(schema().fields);
    }
    WindowJoinSpec {
        kind,
        left: side(),
        right: side(),
        left_end: 3,
        right_end: 3,
        condition: conditional.then(|| build::call("<", vec![column(1), column(5)]).unwrap()),
        output: Schema::new(output),
        config: EvalConfig::default(),
    }
}

fn run(kind: JoinKind, retracts: bool, conditional: bool, seed: u64, collector_rows: usize) {
    let make = move || Box::new(WindowJoin::new(spec(kind, retracts, conditional)).unwrap()) as Box<dyn Operator>;
    let mut join = Instances::new(make, &[&[0], &[0]], collector_rows);
    let mut dice = Dice::new(seed);
    let mut sides = [Changelog::new(row, retracts), Changelog::new(row, retracts)];
    let mut open: BTreeMap<i64, [Vec<Row>; 2]> = BTreeMap::new();
    let (mut result, mut wanted, mut watermark, mut late) = (Table::new(), Table::new(), 0, 0);
    for round in 0..60 {
        if round % 20 == 19 {
            join.restart(1 + round / 20);
            late = 0;
        }
        let port = dice.below(2) as usize;
        let changes = sides[port].next(&mut dice, 20);
        for (kind, row) in &changes {
            let Value::Int(end) = row[3] else { panic!("a row without a window") };
            if end - 1 <= watermark {
                late += 1;
                continue;
            }
            let rows = &mut open.entry(end).or_default()[port];
            if kind.is_addition() {
                rows.push(row.clone());
            } else {
                rows.swap_remove(rows.iter().position(|r| r == row).unwrap());
            }
        }
        assert_eq!(join.push(port, batch(&schema(), &changes)), [], "nothing comes before the watermark");
        assert_eq!(join.harnesses.iter().map(|h| h.metrics().late_rows.get()).sum::<u64>(), late);
        watermark += dice.below(8) as i64;
        let out = join.watermark(watermark);
        assert!(retracts || out.iter().all(|(kind, _)| kind.symbol() == "+I"));
        fold(&mut result, &out);
        while let Some(window) = open.first_entry().filter(|w| *w.key() - 1 <= watermark) {
            let [left, right] = window.remove();
            for (row, count) in reference(kind, conditional, &left, &right, 4) {
                *wanted.entry(row).or_default() += count;
            }
        }
        assert_eq!(result, wanted, "{kind:?}, watermark {watermark}, seed {seed}, retracts {retracts}, conditional {conditional}");
    }
    assert!(wanted.len() > 5, "{kind:?} gave {} rows", wanted.len());
}

#[test]
fn every_kind_of_window_join_agrees_with_the_reference() {
    use JoinKind::*;
    for (i, kind) in [Inner, Left, Right, Full, Semi, Anti].into_iter().enumerate() {
        for (retracts, conditional) in [(false, false), (false, true), (true, false), (true, true)] {
            run(kind, retracts, conditional, i as u64, 1000);
            run(kind, retracts, conditional, 10 + i as u64, 2);
        }
    }
}

#[test]
fn without_keys_rows_are_spread_and_restored_by_window() {
    let make = || {
        let mut spec = spec(JoinKind::Inner, false, false);
        (spec.left.keys, spec.right.keys) = (Vec::new(), Vec::new());
        Box::new(WindowJoin::new(spec).unwrap()) as Box<dyn Operator>
    };
    let mut join = Instances::new(make, &[&[3], &[3]], 1000);
    let rows: Vec<_> = (0..40).map(|i| (RowKind::Insert, vec![Value::Null, Value::Int(i), Value::Null, Value::Int(10 + i / 2)])).collect();
    join.restart(3);
    join.push(0, batch(&schema(), &rows));
    join.restart(2);
    join.push(1, batch(&schema(), &rows));
    join.restart(4);
    assert_eq!(join.watermark(100).len(), 20 * 4, "two rows on each side of twenty windows");
}

#[test]
fn pairs_of_which_nothing_comes_are_looked_at_in_steps_too() {
    for kind in [JoinKind::Inner, JoinKind::Semi] {
        let make = move || Box::new(WindowJoin::new(spec(kind, false, true)).unwrap()) as Box<dyn Operator>;
        let mut join = Instances::new(make, &[&[0], &[0]], 1000);
        for (port, from) in [(0, 1000), (1, 0)] {
            let row = |v| (RowKind::Insert, vec![Value::Int(1), Value::Int(v), Value::Null, Value::Int(10)]);
            join.push(port, batch(&schema(), &(from..from + 300).map(row).collect::<Vec<_>>()));
        }
        assert_eq!(join.watermark(10), [], "no left number is less than a right one");
        assert_eq!(join.harnesses[0].resumed(), 300 * 300 / MAX_STEPS, "{kind:?}");
    }
}
