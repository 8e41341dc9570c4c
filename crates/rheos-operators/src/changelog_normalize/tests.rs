//! Against a table by key, over random changes.

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;

use super::*;
use crate::testing::{Change, Dice, Instances, Table, Value, batch, fold};

fn spec(emit_update_before: bool) -> ChangelogNormalizeSpec {
    let field = |name: &str| Field::new(name, TypeKind::BigInt.nullable());
    ChangelogNormalizeSpec { input: Schema::new(vec![field("k"), field("v")]), keys: vec![0], emit_update_before, state_ttl_ms: None }
}

#[test]
fn upserts_become_a_changelog_with_old_rows_over_restarts() {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let make = move || Box::new(ChangelogNormalize::new(spec(true)).unwrap()) as Box<dyn Operator>;
        let mut instances = Instances::new(make, &[&[0]], 4);
        let (mut table, mut expected) = (Table::new(), std::collections::BTreeMap::new());
        for round in 0..30 {
            let changes: Vec<Change> = (0..1 + dice.below(8))
                .map(|_| {
                    let (key, value) = (dice.below(6) as i64, dice.below(3) as i64);
                    if dice.below(4) == 0 {
                        expected.remove(&key);
                        (RowKind::Delete, vec![Value::Int(key), Value::Null])
                    } else {
                        expected.insert(key, value);
                        (RowKind::UpdateAfter, vec![Value::Int(key), Value::Int(value)])
                    }
                })
                .collect();
            let out = instances.push(0, batch(&spec(true).input, &changes));
            // What is taken back is there, and nothing is replaced by itself.
            for pair in out.windows(2).filter(|p| p[0].0 == RowKind::UpdateBefore) {
                assert!(pair[1].0 == RowKind::UpdateAfter && pair[0].1 != pair[1].1, "{pair:?}");
            }
            fold(&mut table, &out);
            let rows: Table = expected.iter().map(|(k, v)| (vec![Value::Int(*k), Value::Int(*v)], 1)).collect();
            assert_eq!(table, rows, "seed {seed}");
            assert_eq!(instances.state_rows(), expected.len() as i64);
            if round % 7 == 6 {
                instances.restart(1 + dice.below(3) as usize);
            }
        }
    }
}

#[test]
fn without_old_rows_only_what_is_new_is_said() {
    let mut instances = Instances::new(|| Box::new(ChangelogNormalize::new(spec(false)).unwrap()), &[&[0]], 4);
    let row = |k, v| vec![Value::Int(k), Value::Int(v)];
    let input = [(RowKind::UpdateAfter, row(1, 1)), (RowKind::UpdateAfter, row(2, 1)), (RowKind::UpdateAfter, row(1, 2))];
    let out = instances.push(0, batch(&spec(false).input, &input));
    assert_eq!(out, [(RowKind::Insert, row(1, 2)), (RowKind::Insert, row(2, 1))]);
    let input = [(RowKind::UpdateAfter, row(1, 2)), (RowKind::UpdateAfter, row(2, 3)), (RowKind::Delete, row(9, 9))];
    assert_eq!(instances.push(0, batch(&spec(false).input, &input)), [(RowKind::UpdateAfter, row(2, 3))]);
}
