//! Uses of one table read it once.

use rheos_core::connector::{ColumnPath, PredicateValue};

use super::*;

/// What the scans of some queries, each by itself and then as one job, ask for.
fn scans(queries: &[&str]) -> Vec<TableSpec> {
    let world = World::new();
    let plans = queries.iter().map(|sql| world.plan(sql).unwrap()).collect();
    let mut found = Vec::new();
    for plan in optimizer::share_scans(plans).unwrap() {
        collect(&plan, &mut found);
    }
    found
}

fn collect(plan: &Plan, found: &mut Vec<TableSpec>) {
    if let Rel::Scan { spec, .. } = &plan.rel
        && !found.contains(spec)
    {
        found.push(spec.clone());
    }
    plan.inputs().into_iter().for_each(|input| collect(input, found));
}

fn path(column: usize, fields: &[usize]) -> ColumnPath {
    ColumnPath { column, fields: fields.to_vec() }
}

#[test]
fn two_uses_of_a_table_are_one_scan_of_what_either_wants() {
    let people = "SELECT person.id AS id, at FROM events WHERE kind = 0";
    let query = format!("SELECT b.price, p.id FROM ({people}) p JOIN bid b ON p.id = b.auction AND p.at < b.at");
    let found = scans(&[&query]);
    assert_eq!(found.len(), 1, "{found:?}");
    let mut wanted = vec![path(0, &[]), path(1, &[0]), path(1, &[2]), path(2, &[0]), path(2, &[1]), path(2, &[2])];
    wanted.sort();
    assert_eq!(found[0].projection, Some(wanted));
    assert!(found[0].predicates.is_empty(), "no condition is that of both uses");
    let kinds: Vec<_> = found[0].alternatives.iter().map(|of_use| of_use[0].value.clone()).collect();
    assert_eq!(kinds, [PredicateValue::Int(0), PredicateValue::Int(2)]);
}

#[test]
fn a_use_of_all_rows_and_conditions_of_all_uses_are_kept() {
    let all = scans(&["SELECT a FROM t WHERE b = 1", "SELECT c FROM t"]);
    assert!(all.len() == 1 && all[0].predicates.is_empty() && all[0].alternatives.is_empty(), "{all:?}");
    let both = scans(&["SELECT a FROM t WHERE b = 1 AND a = 2", "SELECT c FROM t WHERE a = 3 AND b = 1"]);
    assert_eq!(both[0].predicates.len(), 1);
    assert_eq!(both[0].predicates[0].path, path(1, &[]));
    assert_eq!(both[0].alternatives.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn each_use_filters_for_itself() {
    let world = World::new();
    let query = "SELECT x.a, y.c FROM t AS x JOIN t AS y ON x.a = y.b WHERE x.b = 1 AND y.c = 'z'";
    let shared = optimizer::share_scans(vec![world.plan(query).unwrap()]).unwrap().remove(0);
    assert_eq!(shared.names(), ["a", "c"]);
    let mut conditions = Vec::new();
    fn walk(plan: &Plan, conditions: &mut Vec<String>) {
        if let Rel::Calc { condition: Some(condition), .. } = &plan.rel {
            conditions.push(format!("{condition:?}"));
        }
        plan.inputs().into_iter().for_each(|input| walk(input, conditions));
    }
    walk(&shared, &mut conditions);
    assert_eq!(conditions.len(), 2, "{conditions:?}");
}

#[test]
fn other_options_make_another_scan() {
    assert_eq!(scans(&["SELECT a FROM t", "SELECT b FROM t /*+ OPTIONS('changes' = 'true') */"]).len(), 2);
    assert_eq!(scans(&["SELECT a FROM t", "SELECT a FROM u"]).len(), 2);
}
