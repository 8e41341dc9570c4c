//! Operators without state, limit, and watermark expressions.

use rheos_core::changelog::RowKind;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::{OperatorHarness, changes};
use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::{EvalConfig, Expr, Literal, build};
use serde_json::Value as Json;

use crate::spec::{CalcSpec, ExpandSpec, LimitSpec, ValuesSpec, WatermarkExprSpec};
use crate::testing::{Change, Value, batch};

fn schema(kinds: &[TypeKind]) -> Schema {
    Schema::new(kinds.iter().enumerate().map(|(i, kind)| Field::new(format!("c{i}"), kind.clone().nullable())).collect())
}

fn bigint() -> LogicalType {
    TypeKind::BigInt.nullable()
}

fn number(i: i64) -> Expr {
    Expr::Literal { value: Literal::Int(i), ty: bigint() }
}

fn column() -> Expr {
    Expr::column(0, bigint())
}

fn changed(rows: &[(RowKind, i64)]) -> Vec<Change> {
    rows.iter().map(|(kind, i)| (*kind, vec![Value::Int(*i)])).collect()
}

fn harness(kind: &str, spec: &impl serde::Serialize) -> OperatorHarness {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    OperatorHarness::open(registry.make_operator(kind, &serde_json::to_value(spec).unwrap()).unwrap()).unwrap()
}

const ROWS: [(RowKind, i64); 3] = [(RowKind::UpdateBefore, 1), (RowKind::UpdateAfter, 2), (RowKind::Delete, 3)];

#[test]
fn calc_keeps_the_kinds_of_the_rows_that_stay() {
    let sum = build::call("+", vec![column(), number(10)]).unwrap();
    let spec = CalcSpec {
        condition: Some(build::call(">", vec![column(), number(1)]).unwrap()),
        projections: vec![column(), sum],
        output: schema(&[TypeKind::BigInt, TypeKind::BigInt]),
        config: EvalConfig::default(),
    };
    let mut calc = harness("calc", &spec);
    let rows = batch(&schema(&[TypeKind::BigInt]), &changed(&ROWS));
    assert_eq!(changes(&calc.push(rows).unwrap()), ["+U 2|12", "-D 3|13"]);
    let none = batch(&schema(&[TypeKind::BigInt]), &changed(&[(RowKind::Insert, 0)]));
    assert!(calc.push(none).unwrap().is_empty(), "no batch without rows");
}

#[test]
fn expand_puts_out_each_row_for_each_list_within_the_bound() {
    let null = Expr::Literal { value: Literal::Null, ty: bigint() };
    let output = schema(&[TypeKind::BigInt, TypeKind::BigInt]);
    let projections = vec![vec![column(), number(0)], vec![null, number(1)]];
    let spec = ExpandSpec { projections, output, config: EvalConfig::default() };
    let mut expand = harness("expand", &spec).with_collector_rows(2);
    let out = expand.push(batch(&schema(&[TypeKind::BigInt]), &changed(&ROWS))).unwrap();
    assert_eq!(changes(&out), ["-U 1|0", "+U 2|0", "-D 3|0", "-U NULL|1", "+U NULL|1", "-D NULL|1"]);
    assert_eq!(expand.resumed(), 1);
}

#[test]
fn values_are_put_out_for_each_row_of_the_input() {
    let rows = vec![vec![number(1)], vec![number(2)]];
    let mut values = harness("values", &ValuesSpec { rows, output: schema(&[TypeKind::BigInt]), config: EvalConfig::default() });
    let input = |rows| batch(&Schema::default(), &vec![(RowKind::Insert, vec![]); rows]);
    assert_eq!(changes(&values.push(input(1)).unwrap()), ["+I 1", "+I 2"]);
    assert_eq!(values.push(input(2)).unwrap().iter().map(|b| b.num_rows()).sum::<usize>(), 4);
}

#[test]
fn a_limit_counts_over_batches_and_restarts() {
    let input = schema(&[TypeKind::BigInt]);
    let spec = LimitSpec { input: input.clone(), offset: 2, fetch: Some(3) };
    let rows = |range: std::ops::Range<i64>| batch(&input, &range.map(|i| (RowKind::Insert, vec![Value::Int(i)])).collect::<Vec<_>>());
    let mut limit = harness("limit", &spec);
    assert!(limit.push(rows(0..2)).unwrap().is_empty());
    assert_eq!(changes(&limit.push(rows(2..3)).unwrap()), ["+I 2"]);
    let mut registry = Registry::new();
    crate::register(&mut registry);
    let again = registry.make_operator("limit", &serde_json::to_value(&spec).unwrap()).unwrap();
    let mut again = OperatorHarness::open_at(again, 0, 1, &[limit.snapshot().unwrap()]).unwrap();
    assert_eq!(changes(&again.push(rows(3..9)).unwrap()), ["+I 3", "+I 4"]);
    assert!(again.push(rows(9..20)).unwrap().is_empty());
}

#[test]
fn a_watermark_expression_rounds_down_and_skips_null() {
    let micros = TypeKind::Timestamp(6).nullable();
    let expr = build::cast(Expr::column(0, TypeKind::Timestamp(3).nullable()), micros, false).unwrap();
    let minus = Expr::Literal { value: Literal::Int(1), ty: TypeKind::IntervalDayTime.not_null() };
    let expr = build::call("-", vec![expr, minus]).unwrap();
    let spec = serde_json::to_value(WatermarkExprSpec { expr, config: EvalConfig::default() }).unwrap();
    let mut registry = Registry::new();
    crate::register(&mut registry);
    let mut generator = registry.make_watermark_generator("expression", &spec).unwrap();
    let rows: Vec<Change> = [Value::Int(5), Value::Null, Value::Int(-3), Value::Int(2)].map(|v| (RowKind::Insert, vec![v])).into();
    let rows = batch(&schema(&[TypeKind::Timestamp(3)]), &rows);
    assert_eq!(generator.watermarks(&rows).unwrap(), [Some(4), None, Some(-4), Some(1)]);
    assert_eq!(generator.watermark(&rows).unwrap(), Some(4));
    let nulls = batch(&schema(&[TypeKind::Timestamp(3)]), &[(RowKind::Insert, vec![Value::Null])]);
    assert_eq!(generator.watermark(&nulls).unwrap(), None);
}

#[test]
fn a_specification_that_is_not_one_is_refused() {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    for kind in ["calc", "expand", "join", "window-join", "rank", "deduplicate", "window-rank", "limit", "values"] {
        let error = registry.make_operator(kind, &Json::Bool(true)).err().unwrap();
        assert!(error.to_string().contains(kind), "{error}");
    }
}
