//! Window functions against slow references: for each row its frame is looked up among all rows of the partition.

mod in_time;
mod updating;

use std::cmp::Ordering;

use rheos_core::error::Result;
use rheos_core::operator::Operator;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;

use crate::spec::{AggregateCall, Frame, OverCall, OverSpec, SortKey};
use crate::testing::{Change, Row, Value};

/// A partition, a time, a number, a text, and a number that is the default of LAG.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("at", TypeKind::Timestamp(3)),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("d", TypeKind::BigInt),
    ])
}

const KEY: usize = 0;
const AT: usize = 1;
const V: usize = 2;
const T: usize = 3;
const D: usize = 4;

const ROWS: Frame = Frame::Rows { preceding: None };
const RANGE: Frame = Frame::Range { preceding_ms: None };

fn rows_before(n: u64) -> Frame {
    Frame::Rows { preceding: Some(n) }
}

fn ms_before(ms: i64) -> Frame {
    Frame::Range { preceding_ms: Some(ms) }
}

fn aggregate(function: &str, arg: Option<usize>, frame: Frame) -> OverCall {
    let of = |c: usize| if c == T { TypeKind::STRING.nullable() } else { TypeKind::BigInt.nullable() };
    let (function, distinct) = match function.strip_suffix(" DISTINCT") {
        Some(function) => (function, true),
        None => (function, false),
    };
    let ty = if function == "COUNT" { TypeKind::BigInt.not_null() } else { arg.map_or(TypeKind::BigInt.nullable(), of) };
    let call = AggregateCall {
        function: function.into(),
        args: arg.into_iter().collect(),
        arg_types: arg.map(of).into_iter().collect(),
        filter: None,
        distinct,
        ty,
    };
    OverCall::Aggregate { call, frame }
}

/// Every aggregate of the tests over one frame.
fn aggregates(frame: Frame) -> Vec<OverCall> {
    vec![
        aggregate("COUNT", None, frame),
        aggregate("COUNT", Some(V), frame),
        aggregate("SUM", Some(V), frame),
        aggregate("MIN", Some(V), frame),
        aggregate("MAX", Some(T), frame),
        aggregate("FIRST_VALUE", Some(V), frame),
        aggregate("LAST_VALUE", Some(T), frame),
        aggregate("COUNT DISTINCT", Some(V), frame),
    ]
}

fn lag(value: usize, rows_before: i64, default: Option<usize>) -> OverCall {
    let ty = if value == T { TypeKind::STRING } else { TypeKind::BigInt };
    OverCall::Offset { value, rows_before, default, ty: ty.nullable() }
}

fn ascending(column: usize) -> SortKey {
    SortKey { column, descending: false, nulls_first: true }
}

fn descending(column: usize) -> SortKey {
    SortKey { column, descending: true, nulls_first: false }
}

fn spec(partition: &[usize], order: &[SortKey], time: Option<usize>, calls: &[OverCall], input_retracts: bool) -> OverSpec {
    let mut output = schema();
    for (i, call) in calls.iter().enumerate() {
        let ty = match call {
            OverCall::Aggregate { call, .. } => call.ty.clone(),
            OverCall::Offset { ty, .. } => ty.clone(),
            _ => TypeKind::BigInt.not_null(),
        };
        output.fields.push(Field::new(format!("c{i}"), ty));
    }
    OverSpec {
        input: schema(),
        partition: partition.to_vec(),
        order: order.to_vec(),
        time,
        calls: calls.to_vec(),
        input_retracts,
        state_ttl_ms: None,
        output,
    }
}

fn made(spec: &OverSpec) -> Result<Box<dyn Operator>> {
    let mut registry = Registry::new();
    super::register(&mut registry);
    registry.make_operator("over-aggregate", &serde_json::to_value(spec).unwrap())
}

fn operator(spec: &OverSpec) -> Box<dyn Operator> {
    made(spec).unwrap()
}

#[test]
fn what_the_order_cannot_tell_is_refused() {
    let refused = |order: &[SortKey], time, call| made(&spec(&[KEY], order, time, &[call], false)).is_err();
    assert!(refused(&[ascending(AT)], Some(AT), lag(V, -1, None)), "rows to come");
    assert!(refused(&[ascending(AT), ascending(V)], Some(AT), OverCall::Rank), "peers are of one time");
    assert!(refused(&[ascending(AT), ascending(V)], Some(AT), aggregate("SUM", Some(V), RANGE)));
    assert!(refused(&[ascending(V)], None, aggregate("SUM", Some(V), ms_before(5))));
    assert!(!refused(&[ascending(V)], None, lag(V, -1, None)));
}

/// How two rows stand in an order; NULL is the least value.
fn compare(order: &[SortKey], a: &Row, b: &Row) -> Ordering {
    let by_key = |key: &SortKey| {
        let ordering = a[key.column].cmp(&b[key.column]);
        if key.descending { ordering.reverse() } else { ordering }
    };
    order.iter().map(by_key).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(i) => *i,
        other => panic!("{other:?} where a number is expected"),
    }
}

/// The value of a call for row `at` of a whole partition, which is in order.
fn value(call: &OverCall, order: &[SortKey], rows: &[Row], at: usize) -> Value {
    let is_peer = |other: &Row| compare(order, other, &rows[at]).is_eq();
    let before = rows.iter().filter(|row| compare(order, row, &rows[at]).is_lt()).count();
    match call {
        OverCall::RowNumber => Value::Int(at as i64 + 1),
        OverCall::Rank => Value::Int(before as i64 + 1),
        OverCall::DenseRank => {
            let mut places: Vec<&Row> = rows[..=at].iter().collect();
            places.dedup_by(|a, b| compare(order, a, b).is_eq());
            Value::Int(places.len() as i64)
        }
        OverCall::Offset { value, rows_before, default, .. } => match usize::try_from(at as i64 - rows_before).ok() {
            Some(other) if other < rows.len() => rows[other][*value].clone(),
            _ => default.map_or(Value::Null, |d| rows[at][d].clone()),
        },
        OverCall::Aggregate { call, frame } => {
            let is_in = |(i, row): &(usize, &Row)| match frame {
                Frame::Rows { preceding: None } => *i <= at,
                Frame::Rows { preceding: Some(n) } => *i <= at && (at - i) as u64 <= *n,
                Frame::Range { preceding_ms: None } => compare(order, row, &rows[at]).is_le(),
                Frame::Range { preceding_ms: Some(0) } => is_peer(row),
                Frame::Range { preceding_ms: Some(ms) } => {
                    let back = number(&rows[at][AT]) - number(&row[AT]);
                    (0..=*ms).contains(&back)
                }
            };
            let frame: Vec<&Row> = rows.iter().enumerate().filter(is_in).map(|(_, row)| row).collect();
            aggregated(call, &frame)
        }
    }
}

fn aggregated(call: &AggregateCall, rows: &[&Row]) -> Value {
    let Some(arg) = call.args.first() else { return Value::Int(rows.len() as i64) };
    let mut values: Vec<Value> = rows.iter().map(|row| row[*arg].clone()).filter(|v| *v != Value::Null).collect();
    if call.distinct {
        values.sort();
        values.dedup();
    }
    let found = match call.function.as_str() {
        "COUNT" => return Value::Int(values.len() as i64),
        "SUM" => (!values.is_empty()).then(|| Value::Int(values.iter().map(number).sum())),
        "MIN" => values.into_iter().min(),
        "MAX" => values.into_iter().max(),
        "FIRST_VALUE" => values.first().cloned(),
        "LAST_VALUE" => values.last().cloned(),
        other => panic!("no reference for {other}"),
    };
    found.unwrap_or(Value::Null)
}

/// Row `at` of a partition with the values of all calls.
fn with_values(calls: &[OverCall], order: &[SortKey], rows: &[Row], at: usize) -> Row {
    rows[at].iter().cloned().chain(calls.iter().map(|call| value(call, order, rows, at))).collect()
}

fn inserts(rows: &[Row]) -> Vec<Change> {
    rows.iter().map(|row| (rheos_core::changelog::RowKind::Insert, row.clone())).collect()
}
