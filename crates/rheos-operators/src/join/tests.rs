//! Joins against a slow reference: after each batch the changelog put out so far describes the join of the two tables.

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use super::*;
use crate::spec::JoinSide;
use crate::testing::{Change, Changelog, Dice, Instances, Row, Table, Value, batch, fold};

const KINDS: [JoinKind; 6] = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

/// A key (BIGINT), a number and a text.
fn side_schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![field("k", TypeKind::BigInt), field("v", TypeKind::BigInt), field("t", TypeKind::STRING)])
}

fn side_row(dice: &mut Dice) -> Row {
    vec![dice.int(12), dice.int(5), dice.text(2)]
}

/// `left.v < right.v`
fn less() -> Expr {
    let column = |index| Expr::column(index, TypeKind::BigInt.nullable());
    build::call("<", vec![column(1), column(4)]).unwrap()
}

fn spec(kind: JoinKind, retracts: [bool; 2], condition: Option<Expr>) -> JoinSpec {
    let side = |i: usize| JoinSide { schema: side_schema(), keys: vec![0], retracts: retracts[i], unique_key: None, state_ttl_ms: None };
    let mut output = side_schema().fields;
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        output.extend(side_schema().fields);
    }
    JoinSpec { kind, left: side(0), right: side(1), condition, output: Schema::new(output), config: EvalConfig::default() }
}

/// The join as the standard says it.
pub(crate) fn reference(kind: JoinKind, conditional: bool, left: &[Row], right: &[Row], width: usize) -> Table {
    let matches = |l: &Row, r: &Row| {
        l[0] == r[0] && l[0] != Value::Null && (!conditional || (l[1] != Value::Null && r[1] != Value::Null && l[1] < r[1]))
    };
    let nulls = || vec![Value::Null; width];
    let mut table = Table::new();
    let mut add = |row: Row| *table.entry(row).or_default() += 1;
    for l in left {
        let matched: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
        match kind {
            JoinKind::Semi if matched.is_empty() => {}
            JoinKind::Anti if !matched.is_empty() => {}
            JoinKind::Semi | JoinKind::Anti => add(l.clone()),
            _ => matched.iter().for_each(|r| add([l.clone(), r.to_vec()].concat())),
        }
        if matched.is_empty() && matches!(kind, JoinKind::Left | JoinKind::Full) {
            add([l.clone(), nulls()].concat());
        }
    }
    for r in right.iter().filter(|r| !left.iter().any(|l| matches(l, r))) {
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            add([nulls(), r.clone()].concat());
        }
    }
    table
}

fn run(kind: JoinKind, conditional: bool, retracts: [bool; 2], seed: u64, collector_rows: usize) {
    let make = move || Box::new(Join::new(&spec(kind, retracts, conditional.then(less))).unwrap()) as Box<dyn Operator>;
    let mut join = Instances::new(make, &[&[0], &[0]], collector_rows);
    let mut dice = Dice::new(seed);
    let mut sides = retracts.map(|retracts| Changelog::new(side_row, retracts));
    let mut result = Table::new();
    for round in 0..40 {
        if round % 10 == 9 {
            join.restart(1 + round / 10);
        }
        let port = dice.below(2) as usize;
        let count = 1 + dice.below(12);
        let changes = sides[port].next(&mut dice, count);
        fold(&mut result, &join.push(port, batch(&side_schema(), &changes)));
        let wanted = reference(kind, conditional, &sides[0].live, &sides[1].live, 3);
        assert_eq!(result, wanted, "{kind:?} after round {round}, seed {seed}, conditional {conditional}, retracts {retracts:?}");
    }
    let with_keys = |rows: &[Row]| rows.iter().filter(|r| r[0] != Value::Null).count() as i64;
    assert_eq!(join.state_rows(), with_keys(&sides[0].live) + with_keys(&sides[1].live));
}

#[test]
fn every_kind_of_join_agrees_with_the_reference_over_changelogs() {
    for (i, kind) in KINDS.into_iter().enumerate() {
        for conditional in [false, true] {
            for seed in 0..4 {
                run(kind, conditional, [true, true], 100 * seed + i as u64, 1000);
            }
        }
    }
}

#[test]
fn every_kind_of_join_agrees_with_the_reference_where_a_side_is_insert_only() {
    for kind in KINDS {
        for retracts in [[false, false], [false, true], [true, false]] {
            run(kind, false, retracts, 7, 1000);
            run(kind, true, retracts, 8, 1000);
        }
    }
}

#[test]
fn the_collectors_bound_is_kept_and_changes_nothing() {
    for kind in KINDS {
        for conditional in [false, true] {
            run(kind, conditional, [true, true], 11, 1);
            run(kind, conditional, [true, true], 12, 3);
        }
    }
}

fn insert(k: i64, v: i64) -> Change {
    (RowKind::Insert, vec![Value::Int(k), Value::Int(v), Value::Null])
}

fn symbols(changes: &[Change]) -> Vec<&str> {
    changes.iter().map(|(kind, _)| kind.symbol()).collect()
}

fn join(kind: JoinKind, condition: Option<Expr>) -> Instances {
    let make = move || Box::new(Join::new(&spec(kind, [true, true], condition.clone())).unwrap()) as Box<dyn Operator>;
    Instances::new(make, &[&[0], &[0]], 100)
}

fn update(old: i64, new: i64) -> Vec<Change> {
    vec![(RowKind::UpdateBefore, insert(1, old).1), (RowKind::UpdateAfter, insert(1, new).1)]
}

#[test]
fn an_update_that_keeps_the_key_stays_an_update() {
    for (kind, padded) in [(JoinKind::Inner, vec![]), (JoinKind::Left, vec!["-U", "+U"])] {
        let mut join = join(kind, None);
        join.push(0, batch(&side_schema(), &[insert(1, 10)]));
        assert_eq!(symbols(&join.push(0, batch(&side_schema(), &update(10, 11)))), padded);
        join.push(1, batch(&side_schema(), &[insert(1, 20)]));
        assert_eq!(symbols(&join.push(1, batch(&side_schema(), &update(20, 21)))), ["-U", "+U"], "no row without a match in between");
    }
}

#[test]
fn an_update_whose_other_half_may_be_missing_becomes_a_delete_and_an_insert() {
    let mut conditional = join(JoinKind::Inner, Some(less()));
    conditional.push(0, batch(&side_schema(), &[insert(1, 10)]));
    conditional.push(1, batch(&side_schema(), &[insert(1, 20)]));
    assert_eq!(symbols(&conditional.push(1, batch(&side_schema(), &update(20, 21)))), ["-D", "+I"]);
    let mut moved = join(JoinKind::Inner, None);
    moved.push(0, batch(&side_schema(), &[insert(1, 10)]));
    moved.push(1, batch(&side_schema(), &[insert(1, 20), insert(2, 20)]));
    let moves = [(RowKind::UpdateBefore, insert(1, 10).1), (RowKind::UpdateAfter, insert(2, 10).1)];
    assert_eq!(symbols(&moved.push(0, batch(&side_schema(), &moves))), ["-D", "+I"]);
}

#[test]
fn a_semi_join_does_not_stir_when_its_right_row_is_updated() {
    for kind in [JoinKind::Semi, JoinKind::Anti] {
        let mut join = join(kind, None);
        join.push(0, batch(&side_schema(), &[insert(1, 10)]));
        join.push(1, batch(&side_schema(), &[insert(1, 20)]));
        assert_eq!(join.push(1, batch(&side_schema(), &update(20, 21))), []);
    }
}

#[test]
fn a_row_that_was_never_there_is_not_taken_back() {
    let mut join = join(JoinKind::Left, None);
    join.push(0, batch(&side_schema(), &[insert(1, 10)]));
    let unknown = [(RowKind::Delete, insert(1, 11).1), (RowKind::Delete, insert(2, 10).1)];
    assert_eq!(join.push(0, batch(&side_schema(), &unknown)), []);
    assert_eq!(join.harnesses[0].metrics().bad_records.get(), 2);
}

#[test]
fn a_key_with_many_matches_comes_in_steps() {
    let make = || Box::new(Join::new(&spec(JoinKind::Inner, [false, false], None)).unwrap()) as Box<dyn Operator>;
    let mut join = Instances::new(make, &[&[0], &[0]], 100);
    let many: Vec<Change> = (0..300).map(|i| insert(1, i)).collect();
    join.push(0, batch(&side_schema(), &many));
    assert_eq!(join.push(1, batch(&side_schema(), &many)).len(), 300 * 300);
    assert_eq!(join.harnesses[0].resumed(), 300 * 300 / 100 - 1);
}

#[test]
fn sides_without_columns_make_pairs() {
    let mut spec = spec(JoinKind::Inner, [true, true], None);
    for side in [&mut spec.left, &mut spec.right] {
        (side.schema, side.keys) = (Schema::default(), Vec::new());
    }
    spec.output = Schema::default();
    let mut join = Instances::new(move || Box::new(Join::new(&spec).unwrap()) as Box<dyn Operator>, &[&[], &[]], 100);
    let rows = |kind, n| batch(&Schema::default(), &vec![(kind, vec![]); n]);
    join.push(0, rows(RowKind::Insert, 3));
    join.restart(1);
    assert_eq!(symbols(&join.push(1, rows(RowKind::Insert, 2))), ["+I"; 6]);
    assert_eq!(symbols(&join.push(0, rows(RowKind::Delete, 2))), ["-D"; 4]);
}

#[test]
fn pairs_of_which_nothing_comes_are_looked_at_in_steps_too() {
    for kind in [JoinKind::Inner, JoinKind::Semi, JoinKind::Anti] {
        let make = move || Box::new(Join::new(&spec(kind, [false, false], Some(less()))).unwrap()) as Box<dyn Operator>;
        let mut join = Instances::new(make, &[&[0], &[0]], 1000);
        let rows = |from: i64| (from..from + 300).map(|i| insert(1, i)).collect::<Vec<_>>();
        join.push(0, batch(&side_schema(), &rows(1000)));
        let before = join.harnesses[0].resumed();
        assert_eq!(join.push(1, batch(&side_schema(), &rows(0))), [], "no left number is less than a right one");
        assert_eq!(join.harnesses[0].resumed() - before, 300 * 300 / MAX_STEPS, "{kind:?}");
    }
}
