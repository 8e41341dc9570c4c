//! Against lists by key, over random changelogs.

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;

use super::*;
use crate::testing::{Change, Changelog, Dice, Instances, Row, Table, Value, batch, fold};

fn spec() -> UpsertMaterializeSpec {
    let field = |name: &str| Field::new(name, TypeKind::BigInt.nullable());
    UpsertMaterializeSpec { input: Schema::new(vec![field("k"), field("v")]), keys: vec![0], emit_update_before: true, state_ttl_ms: None }
}

fn row(dice: &mut Dice) -> Row {
    vec![Value::Int(dice.below(4) as i64), Value::Int(dice.below(5) as i64)]
}

#[test]
fn the_last_row_of_a_key_is_there_and_the_one_before_comes_back() {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let make = || Box::new(UpsertMaterialize::new(spec()).unwrap()) as Box<dyn Operator>;
        let mut instances = Instances::new(make, &[&[0]], 4);
        let mut changelog = Changelog::new(row, true);
        let (mut table, mut lists) = (Table::new(), std::collections::BTreeMap::<Value, Vec<Row>>::new());
        for round in 0..30 {
            let count = 1 + dice.below(8);
            let changes: Vec<Change> = changelog.next(&mut dice, count);
            for (kind, row) in &changes {
                let list = lists.entry(row[0].clone()).or_default();
                match kind.is_addition() {
                    true => list.push(row.clone()),
                    false => drop(list.remove(list.iter().rposition(|other| other == row).unwrap())),
                }
            }
            fold(&mut table, &instances.push(0, batch(&spec().input, &changes)));
            let expected: Table = lists.values().filter_map(|list| Some((list.last()?.clone(), 1))).collect();
            assert_eq!(table, expected, "seed {seed}");
            if round % 7 == 6 {
                instances.restart(1 + dice.below(3) as usize);
            }
        }
        assert_eq!(instances.state_rows(), changelog.live.len() as i64);
    }
}

#[test]
fn an_update_is_one_of_the_key() {
    let mut instances = Instances::new(|| Box::new(UpsertMaterialize::new(spec()).unwrap()), &[&[0]], 4);
    let row = |v| vec![Value::Int(1), Value::Int(v)];
    let mut push = |changes: &[Change]| instances.push(0, batch(&spec().input, changes));
    assert_eq!(push(&[(RowKind::Insert, row(1))]), [(RowKind::Insert, row(1))]);
    assert_eq!(push(&[(RowKind::Insert, row(2))]), [(RowKind::UpdateBefore, row(1)), (RowKind::UpdateAfter, row(2))]);
    assert_eq!(push(&[(RowKind::Delete, row(1))]), []);
    assert_eq!(push(&[(RowKind::Delete, row(2))]), [(RowKind::Delete, row(2))]);
}
