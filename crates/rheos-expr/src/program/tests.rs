//! Tests of evaluation: what is shared, what is skipped, what is filtered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{Int32Type, Int64Type};

use rheos_core::batch::ColumnBatch;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::{LogicalType, TypeKind};

use super::frame::Frame;
use super::graph::Graph;
use super::{CalcProgram, Program};
use crate::build::{call, case, cast, literal_bool, literal_int, literal_null, literal_text};
use crate::expr::{EvalConfig, Expr};
use crate::function::Value;

fn int(index: usize) -> Expr {
    Expr::column(index, TypeKind::Int.nullable())
}

fn f(name: &str, args: Vec<Expr>) -> Expr {
    call(name, args).unwrap()
}

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

fn evaluate(expr: &Expr, columns: &[ArrayRef]) -> Result<ArrayRef, String> {
    let mut program = Program::compile(std::slice::from_ref(expr), &EvalConfig::default()).unwrap();
    Ok(program.evaluate(columns, columns[0].len()).map_err(|e| e.to_string())?.remove(0))
}

/// 7 / column 0, which fails where that is zero.
fn seventh() -> Expr {
    f("/", vec![literal_int(7), int(0)])
}

#[test]
fn a_branch_that_fails_is_evaluated_only_for_rows_that_reach_it() {
    let column = ints(vec![Some(0), Some(2), None, Some(7), Some(0)]);
    assert_eq!(evaluate(&seventh(), std::slice::from_ref(&column)).unwrap_err(), "division by zero");

    let guarded = case(vec![(f("<>", vec![int(0), literal_int(0)]), seventh())], Some(literal_int(-1))).unwrap();
    let expected = Int32Array::from(vec![-1, 3, -1, 1, -1]);
    assert_eq!(evaluate(&guarded, std::slice::from_ref(&column)).unwrap().as_primitive::<Int32Type>(), &expected);

    let both = f("AND", vec![f("<>", vec![int(0), literal_int(0)]), f(">", vec![seventh(), literal_int(2)])]);
    let got = evaluate(&both, std::slice::from_ref(&column)).unwrap();
    assert_eq!(got.as_boolean().iter().collect::<Vec<_>>(), vec![Some(false), Some(true), None, Some(false), Some(false)]);

    let either = f("OR", vec![f("=", vec![int(0), literal_int(0)]), f(">", vec![seventh(), literal_int(2)])]);
    let got = evaluate(&either, std::slice::from_ref(&column)).unwrap();
    assert_eq!(got.as_boolean().iter().collect::<Vec<_>>(), vec![Some(true), Some(true), None, Some(false), Some(true)]);

    let when_zero = f("IF", vec![f("=", vec![int(0), literal_int(0)]), literal_null(), seventh()]);
    let expected = Int32Array::from(vec![None, Some(3), None, Some(1), None]);
    assert_eq!(evaluate(&when_zero, &[column]).unwrap().as_primitive::<Int32Type>(), &expected);
}

#[test]
fn later_conditions_see_only_rows_that_no_earlier_one_took() {
    let is_zero = f("=", vec![int(0), literal_int(0)]);
    let large = f(">", vec![seventh(), literal_int(2)]);
    let expr = case(vec![(is_zero, literal_text("zero")), (large, literal_text("large"))], Some(literal_text("small"))).unwrap();
    let got = evaluate(&expr, &[ints(vec![Some(7), Some(0), Some(2), None])]).unwrap();
    assert_eq!(got.as_string::<i32>(), &StringArray::from(vec!["small", "zero", "large", "small"]));
}

#[test]
fn coalesce_stops_at_the_first_value() {
    let expr = f("COALESCE", vec![int(1), seventh(), literal_int(-1)]);
    let columns = [ints(vec![Some(0), Some(2), None]), ints(vec![Some(5), None, None])];
    let got = evaluate(&expr, &columns).unwrap();
    assert_eq!(got.as_primitive::<Int32Type>(), &Int32Array::from(vec![5, 3, -1]));
}

#[test]
fn nested_branches_select_from_selections() {
    let inner = case(vec![(f(">", vec![seventh(), literal_int(2)]), seventh())], Some(int(1))).unwrap();
    let outer = case(vec![(f("<>", vec![int(0), literal_int(0)]), inner)], None).unwrap();
    let columns = [ints(vec![Some(0), Some(2), Some(7), Some(1), Some(0)]), ints(vec![Some(10), Some(11), Some(12), None, Some(14)])];
    let expected = Int32Array::from(vec![None, Some(3), Some(12), Some(7), None]);
    assert_eq!(evaluate(&outer, &columns).unwrap().as_primitive::<Int32Type>(), &expected);
}

#[test]
fn constant_conditions_choose_without_evaluating_the_rest() {
    let zero = [ints(vec![Some(0), Some(0)])];
    let expr = Expr::Case {
        branches: vec![(literal_bool(false), seventh()), (literal_bool(true), literal_int(1))],
        otherwise: Some(Box::new(seventh())),
        ty: TypeKind::Int.nullable(),
    };
    assert_eq!(evaluate(&expr, &zero).unwrap().as_primitive::<Int32Type>(), &Int32Array::from(vec![1, 1]));
    let never = f("AND", vec![literal_bool(false), f(">", vec![seventh(), literal_int(2)])]);
    assert_eq!(evaluate(&never, &zero).unwrap().as_boolean().true_count(), 0);
}

#[test]
fn equal_parts_are_one_node() {
    let config = EvalConfig::default();
    let sum = || f("+", vec![int(0), int(1)]);
    let mut graph = Graph::new(config);
    graph.add(&f("*", vec![sum(), sum()])).unwrap();
    assert_eq!(graph.len(), 4, "two columns, a sum and a product");
    graph.add(&f(">", vec![sum(), literal_int(3)])).unwrap();
    assert_eq!(graph.len(), 6, "a constant and a comparison more");
    let random = || f("AND", vec![f("IS NULL", vec![int(0)]), f("AND", vec![f("IS NULL", vec![int(1)]), literal_bool(true)])]);
    let one = graph.add(&random()).unwrap();
    assert_eq!(graph.add(&random()).unwrap(), one);
}

#[test]
fn constants_stay_single_values_and_columns_are_passed_on() {
    let mut graph = Graph::new(EvalConfig::default());
    let one = graph.add(&cast(literal_int(10), TypeKind::BigInt.not_null(), false).unwrap()).unwrap();
    let column = graph.add(&int(0)).unwrap();
    let columns = [ints(vec![Some(1), Some(2)])];
    let mut frame = Frame::of_columns(&columns, 2, graph.len());
    assert!(matches!(graph.value(&mut frame, one).unwrap(), Value::Constant(a) if a.len() == 1));
    let Value::Column(same) = graph.value(&mut frame, column).unwrap() else { panic!("a column") };
    assert!(Arc::ptr_eq(&same, &columns[0]));
}

fn batch(kinds: Option<Vec<u8>>) -> ColumnBatch {
    let schema = schema(&[("id", TypeKind::Int.nullable()), ("price", TypeKind::BigInt.nullable())]);
    let prices: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), Some(50), None, Some(500)]));
    let records = RecordBatch::try_new(schema.to_arrow(), vec![ints(vec![Some(1), Some(2), Some(3), Some(4)]), prices]).unwrap();
    match kinds {
        Some(kinds) => ColumnBatch::changes(records, UInt8Array::from(kinds)).unwrap(),
        None => ColumnBatch::inserts(records),
    }
}

fn schema(fields: &[(&str, LogicalType)]) -> Schema {
    Schema::new(fields.iter().map(|(name, ty)| Field::new(*name, ty.clone())).collect())
}

#[test]
fn a_calc_filters_columns_kinds_and_shared_values() {
    let price = Expr::column(1, TypeKind::BigInt.nullable());
    let double = f("*", vec![price, literal_int(2)]);
    let condition = f(">", vec![double.clone(), literal_int(20)]);
    let mut calc = CalcProgram::compile(Some(&condition), &[int(0), double, literal_int(7)], &EvalConfig::default()).unwrap();
    let output = schema(&[("id", TypeKind::Int.nullable()), ("double", TypeKind::BigInt.nullable()), ("seven", TypeKind::Int.not_null())]);
    let got = calc.evaluate(&batch(Some(vec![0, 1, 2, 3])), &output.to_arrow()).unwrap().unwrap();
    assert_eq!(got.column(0).as_primitive::<Int32Type>(), &Int32Array::from(vec![2, 4]));
    assert_eq!(got.column(1).as_primitive::<Int64Type>(), &Int64Array::from(vec![100, 1000]));
    assert_eq!(got.column(2).as_primitive::<Int32Type>(), &Int32Array::from(vec![7, 7]));
    assert_eq!(got.kinds().unwrap().values().as_ref(), &[1, 3]);
}

#[test]
fn a_calc_says_when_no_row_is_left_and_copies_nothing_when_all_are() {
    let output = schema(&[("id", TypeKind::Int.nullable())]).to_arrow();
    let config = EvalConfig::default();
    let none = f("<", vec![int(0), literal_int(0)]);
    let mut calc = CalcProgram::compile(Some(&none), &[int(0)], &config).unwrap();
    assert!(calc.evaluate(&batch(None), &output).unwrap().is_none());

    let all = f(">", vec![int(0), literal_int(0)]);
    let input = batch(None);
    let mut calc = CalcProgram::compile(Some(&all), &[int(0)], &config).unwrap();
    let got = calc.evaluate(&input, &output).unwrap().unwrap();
    assert!(Arc::ptr_eq(got.column(0), input.column(0)));

    let mut calc = CalcProgram::compile(Some(&literal_bool(true)), &[], &config).unwrap();
    let got = calc.evaluate(&input, &schema(&[]).to_arrow()).unwrap().unwrap();
    assert_eq!(got.num_rows(), 4);
}

#[test]
fn projections_of_a_calc_never_see_rows_that_were_filtered_out() {
    let condition = f("<>", vec![int(0), literal_int(3)]);
    let projection = f("/", vec![literal_int(12), f("-", vec![int(0), literal_int(3)])]);
    let mut calc = CalcProgram::compile(Some(&condition), &[projection], &EvalConfig::default()).unwrap();
    let output = schema(&[("x", TypeKind::Int.nullable())]).to_arrow();
    let got = calc.evaluate(&batch(None), &output).unwrap().unwrap();
    assert_eq!(got.column(0).as_primitive::<Int32Type>(), &Int32Array::from(vec![-6, -12, 12]));
}
