//! Temporal joins against a slow reference: all changes of the right side that ever came, asked for each left row.

use rheos_core::schema::{Field, Schema};
use rheos_core::time::MAX_WATERMARK;
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use super::*;
use crate::spec::JoinSide;
use crate::testing::{Change, Changelog, Dice, Instances, Row, Value, batch};

/// A key, a number, a text and the row time.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("ts", TypeKind::Timestamp(3)),
    ])
}

fn spec(kind: JoinKind, left_retracts: bool, conditional: bool) -> TemporalJoinSpec {
    let side = |retracts| JoinSide { schema: schema(), keys: vec![0], retracts, unique_key: None, state_ttl_ms: None };
    let column = |index| Expr::column(index, TypeKind::BigInt.nullable());
    TemporalJoinSpec {
        kind,
        left: side(left_retracts),
        right: side(true),
        left_time: 3,
        right_time: 3,
        condition: conditional.then(|| build::call("<", vec![column(1), column(5)]).unwrap()),
        output: Schema::new([schema().fields, schema().fields].concat()),
        config: EvalConfig::default(),
    }
}

fn time_of(row: &Row) -> Option<i64> {
    match row[3] {
        Value::Int(time) => Some(time),
        _ => None,
    }
}

/// The right side: what is there of each key, and its changes.
#[derive(Default)]
struct Versions {
    live: Vec<Row>,
    /// All changes, in order of arrival; -U aside.
    history: Vec<Change>,
}

impl Versions {
    /// Inserts, updates and deletions of a few keys, at times after `after`.
    fn next(&mut self, dice: &mut Dice, count: u64, after: i64, late: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..count {
            let key = dice.int(5);
            let ahead = dice.below(20) as i64 + if late { -5 } else { 1 };
            let new = vec![key.clone(), dice.int(5), dice.text(2), Value::Int(after + ahead)];
            let old = self.live.iter().position(|row| row[0] == key).map(|at| self.live.swap_remove(at));
            match old {
                None => changes.push((RowKind::Insert, new.clone())),
                Some(mut old) if dice.below(3) == 0 => {
                    // A deletion says its own time, or repeats the row that goes.
                    if dice.below(2) == 0 || time_of(&old).is_some_and(|time| !late && time <= after) {
                        old[3] = new[3].clone();
                    }
                    changes.push((RowKind::Delete, old));
                    continue;
                }
                Some(old) => changes.extend([(RowKind::UpdateBefore, old), (RowKind::UpdateAfter, new.clone())]),
            }
            self.live.push(new);
        }
        self.history.extend(changes.iter().filter(|(kind, _)| *kind != RowKind::UpdateBefore).cloned());
        changes
    }

    /// The version of a key that is valid at a time.
    fn at(&self, key: &Value, time: i64) -> Option<&Row> {
        let versions = self.history.iter().filter(|(_, row)| row[0] == *key && *key != Value::Null);
        let valid = versions.filter(|(_, row)| time_of(row).is_some_and(|from| from <= time)).max_by_key(|(_, row)| time_of(row));
        valid.filter(|(kind, _)| kind.is_addition()).map(|(_, row)| row)
    }

    /// Forgets the versions that no left row after the watermark can ask for; says how many there are.
    fn prune(&mut self, watermark: i64) -> i64 {
        let mut kept: Vec<Change> = Vec::new();
        for (i, (kind, row)) in self.history.iter().enumerate() {
            let Some(time) = time_of(row).filter(|_| row[0] != Value::Null) else { continue };
            let replaced = self.history.iter().enumerate().any(|(j, (_, other))| {
                let other_time = time_of(other);
                other[0] == row[0]
                    && (other_time == Some(time) && j > i || other_time.is_some_and(|other| other > time && other <= watermark))
            });
            if !replaced && (kind.is_addition() || time > watermark) {
                kept.push((*kind, row.clone()));
            }
        }
        self.history = kept;
        self.history.len() as i64
    }
}

fn left_row(dice: &mut Dice) -> Row {
    vec![dice.int(5), dice.int(5), dice.text(2), Value::Null]
}

fn run(kind: JoinKind, left_retracts: bool, conditional: bool, late: bool, seed: u64, collector_rows: usize) {
    let told = format!("{kind:?}, left retracts {left_retracts}, conditional {conditional}, late {late}, seed {seed}");
    let make = move || Box::new(TemporalJoin::new(spec(kind, left_retracts, conditional)).unwrap()) as Box<dyn Operator>;
    let mut join = Instances::new(make, &[&[0], &[0]], collector_rows);
    let mut dice = Dice::new(seed);
    let mut left = Changelog::new(left_row, left_retracts);
    let (mut waiting, mut right): (Vec<Change>, Versions) = (Vec::new(), Versions::default());
    let (mut watermark, mut partners, mut most_state) = (0, 0, 0);
    join.watermark(0);
    for round in 0..80 {
        if round % 10 == 9 {
            join.restart(1 + (round / 10) % 3);
        }
        let count = 1 + dice.below(10);
        if dice.below(2) == 0 {
            let mut changes = left.next(&mut dice, count);
            for (_, row) in &mut changes {
                let ahead = dice.below(20) as i64 + if late { -5 } else { 1 };
                row[3] = if dice.below(16) == 0 { Value::Null } else { Value::Int(watermark + ahead) };
            }
            assert_eq!(join.push(0, batch(&schema(), &changes)), [], "nothing comes before the watermark: {told}");
            waiting.extend(changes);
        } else {
            let changes = right.next(&mut dice, count, watermark, late);
            assert_eq!(join.push(1, batch(&schema(), &changes)), [], "{told}");
        }
        most_state = most_state.max(join.state_rows());
        if dice.below(2) == 0 {
            continue;
        }
        let before = watermark;
        watermark = if round == 79 { 1_000_000 } else { watermark + dice.below(9) as i64 };
        let mut out = join.watermark(watermark);
        let (due, rest): (Vec<Change>, Vec<Change>) =
            waiting.into_iter().partition(|(_, row)| time_of(row).is_none_or(|time| time <= watermark));
        waiting = rest;
        let mut wanted: Vec<Change> = Vec::new();
        for (change, row) in due {
            assert!(late || time_of(&row).is_none_or(|time| time > before), "{told}");
            let holds = |r: &Row| !conditional || (row[1] != Value::Null && r[1] != Value::Null && row[1] < r[1]);
            let partner = time_of(&row).and_then(|time| right.at(&row[0], time)).filter(|r| holds(r));
            partners += usize::from(partner.is_some());
            match partner {
                Some(partner) => wanted.push((change, [row, partner.clone()].concat())),
                None if kind == JoinKind::Left => wanted.push((change, [row, vec![Value::Null; 4]].concat())),
                None => {}
            }
        }
        // Rows come in order of time at each instance, those of one time as they arrived.
        if join.harnesses.len() == 1 {
            assert!(out.is_sorted_by_key(|(_, row)| row[3].clone()), "{told}");
        }
        let by_all = |change: &Change| (change.0 as u8, change.1.clone());
        out.sort_by_key(by_all);
        wanted.sort_by_key(by_all);
        assert_eq!(out, wanted, "round {round}, watermark {watermark}: {told}");
        assert_eq!(join.state_rows(), waiting.len() as i64 + right.prune(watermark), "round {round}, watermark {watermark}: {told}");
    }
    assert!(partners > 10, "{partners} rows had partners: {told}");
    assert!(most_state < 250, "{most_state} rows at once: {told}");
    join.watermark(MAX_WATERMARK);
    let live = right.live.iter().filter(|row| row[0] != Value::Null).count() as i64;
    assert!(join.state_rows() <= 5.min(live + 5), "{} rows at the end: {told}", join.state_rows());
}

#[test]
fn temporal_joins_agree_with_the_reference() {
    for kind in [JoinKind::Inner, JoinKind::Left] {
        for left_retracts in [false, true] {
            for conditional in [false, true] {
                for seed in 0..6 {
                    run(kind, left_retracts, conditional, false, seed, 1000);
                    run(kind, left_retracts, conditional, true, 100 + seed, 1000);
                }
            }
        }
    }
}

#[test]
fn the_collectors_bound_is_kept_and_changes_nothing() {
    for kind in [JoinKind::Inner, JoinKind::Left] {
        run(kind, false, true, false, 20, 1);
        run(kind, true, false, true, 21, 3);
    }
}

fn change(kind: RowKind, k: i64, v: i64, time: i64) -> Change {
    (kind, vec![Value::Int(k), Value::Int(v), Value::Null, Value::Int(time)])
}

fn join(collector_rows: usize) -> Instances {
    let make = || Box::new(TemporalJoin::new(spec(JoinKind::Left, false, false)).unwrap()) as Box<dyn Operator>;
    Instances::new(make, &[&[0], &[0]], collector_rows)
}

#[test]
fn a_version_is_valid_from_its_own_time_on() {
    let mut join = join(100);
    join.push(1, batch(&schema(), &[change(RowKind::Insert, 1, 10, 5), change(RowKind::UpdateAfter, 1, 20, 8)]));
    let lefts: Vec<Change> = [4, 5, 7, 8].into_iter().map(|time| change(RowKind::Insert, 1, 0, time)).collect();
    join.push(0, batch(&schema(), &lefts));
    let versions: Vec<Value> = join.watermark(8).into_iter().map(|(_, row)| row[5].clone()).collect();
    assert_eq!(versions, [Value::Null, Value::Int(10), Value::Int(10), Value::Int(20)]);
}

#[test]
fn keys_that_were_deleted_leave_nothing_behind() {
    let mut join = join(100);
    for (k, deleted_at) in [(1, 5), (2, 7), (3, 3)] {
        join.push(1, batch(&schema(), &[change(RowKind::Insert, k, 1, 5)]));
        join.push(1, batch(&schema(), &[change(RowKind::Delete, k, 1, deleted_at)]));
    }
    // What was never there may be deleted as well.
    join.push(1, batch(&schema(), &[change(RowKind::Delete, 4, 1, 5)]));
    join.restart(2);
    join.watermark(100);
    assert_eq!(join.state_rows(), 1, "of key 3, which was deleted before it was there, the version is left");
    join.push(1, batch(&schema(), &[change(RowKind::Delete, 5, 1, 50)]));
    join.watermark(101);
    assert_eq!(join.state_rows(), 1, "a deletion that is late is as good as none");
}

#[test]
fn many_left_rows_of_one_time_come_in_steps_and_in_order() {
    let mut join = join(100);
    let lefts: Vec<Change> = (0..90).map(|i| change(RowKind::Insert, 1, i, 5)).collect();
    for _ in 0..20 {
        join.push(0, batch(&schema(), &lefts));
    }
    let out = join.watermark(5);
    assert_eq!(out.len(), 20 * 90);
    assert!(out.iter().enumerate().all(|(i, (_, row))| row[1] == Value::Int(i as i64 % 90)));
}
