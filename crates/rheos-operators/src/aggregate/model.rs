//! For tests: rows, calls of every function over them, and a slow model that computes each call from a group's whole history.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt8Array,
};
use arrow::datatypes::Float64Type;

use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::env::{Random, SplitMix64};
use rheos_core::schema::{Field, Schema};
use rheos_core::types::{LogicalType, TypeKind};

use crate::spec::AggregateCall;
use crate::spec::aggregate::resolve;

/// A row of the tests; everything may be NULL but the time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) k: Option<i64>,
    pub(crate) g: Option<String>,
    pub(crate) ts: i64,
    pub(crate) x: Option<i64>,
    pub(crate) y: Option<i64>,
    pub(crate) s: Option<String>,
    pub(crate) f: Option<bool>,
    pub(crate) f2: Option<bool>,
}

pub(crate) const K: usize = 0;
pub(crate) const G: usize = 1;
pub(crate) const TS: usize = 2;
const X: usize = 3;
const D: usize = 4;
const M: usize = 5;
const S: usize = 6;
pub(crate) const F: usize = 7;
const F2: usize = 8;
const QUARTER: usize = 9;
const FRACTIONS: usize = 10;
const SEPARATOR: usize = 11;
const B: usize = 12;

pub(crate) fn schema() -> Schema {
    let fractions = TypeKind::Array(Box::new(TypeKind::Double.nullable()));
    let columns = [
        ("k", TypeKind::BigInt),
        ("g", TypeKind::STRING),
        ("ts", TypeKind::Timestamp(3)),
        ("x", TypeKind::Int),
        ("d", TypeKind::Double),
        ("m", TypeKind::Decimal(10, 2)),
        ("s", TypeKind::STRING),
        ("f", TypeKind::Boolean),
        ("f2", TypeKind::Boolean),
        ("quarter", TypeKind::Double),
        ("fractions", fractions),
        ("separator", TypeKind::STRING),
        ("b", TypeKind::BigInt),
    ];
    Schema::new(columns.into_iter().map(|(name, kind)| Field::new(name, kind.nullable())).collect())
}

pub(crate) fn random_row(random: &SplitMix64, ts: i64) -> Row {
    let next = |n: u64| random.next_u64() % n;
    let optional = |n: u64| if next(8) == 0 { None } else { Some(next(n) as i64) };
    Row {
        k: optional(5),
        g: optional(2).map(|g| format!("group {g}")),
        ts,
        x: optional(9).map(|x| x - 4),
        y: optional(9).map(|y| y * 7 - 20),
        s: optional(4).map(|s| "ab".repeat(s as usize)),
        f: optional(2).map(|f| f == 1),
        f2: optional(2).map(|f| f == 1),
    }
}

/// Rows as a batch; a row that is taken back has sign -1.
pub(crate) fn batch(rows: &[(Row, i8)]) -> Batch {
    let each = || rows.iter().map(|(row, _)| row);
    let money = Decimal128Array::from_iter(each().map(|r| r.y.map(i128::from))).with_precision_and_scale(10, 2).unwrap();
    let fractions = ListArray::from_iter_primitive::<Float64Type, _, _>(each().map(|_| Some([Some(0.0), Some(0.5), Some(1.0)])));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter(each().map(|r| r.k))),
        Arc::new(StringArray::from_iter(each().map(|r| r.g.clone()))),
        Arc::new(TimestampMillisecondArray::from_iter_values(each().map(|r| r.ts))),
        Arc::new(Int32Array::from_iter(each().map(|r| r.x.map(|x| x as i32)))),
        Arc::new(Float64Array::from_iter(each().map(|r| r.y.map(|y| y as f64 / 4.0)))),
        Arc::new(money),
        Arc::new(StringArray::from_iter(each().map(|r| r.s.clone()))),
        Arc::new(BooleanArray::from_iter(each().map(|r| r.f))),
        Arc::new(BooleanArray::from_iter(each().map(|r| r.f2))),
        Arc::new(Float64Array::from_iter_values(each().map(|_| 0.25))),
        Arc::new(fractions),
        Arc::new(StringArray::from_iter_values(each().map(|_| "; "))),
        Arc::new(Int64Array::from_iter(each().map(|r| r.x))),
    ];
    let kinds: UInt8Array =
        rows.iter().map(|(_, sign)| if *sign > 0 { RowKind::Insert } else { RowKind::Delete } as u8).collect::<Vec<_>>().into();
    ColumnBatch::changes(RecordBatch::try_new(schema().to_arrow(), columns).unwrap(), kinds).unwrap().into()
}

/// One call, resolved as the planner does.
pub(crate) fn call(function: &str, args: &[usize], filter: Option<usize>, distinct: bool) -> AggregateCall {
    let arg_types: Vec<LogicalType> = args.iter().map(|a| schema().fields[*a].ty.clone()).collect();
    let resolved = resolve(function, &arg_types, distinct).unwrap();
    assert_eq!(resolved.arg_types, arg_types, "the tests' columns need no cast");
    AggregateCall { function: resolved.name, args: args.to_vec(), arg_types, filter, distinct, ty: resolved.result }
}

/// Calls whose results do not depend on the order of rows.
pub(crate) fn unordered_calls() -> Vec<AggregateCall> {
    let mut calls = vec![
        call("COUNT", &[], None, false),
        call("COUNT", &[], Some(F), false),
        call("COUNT", &[X], None, false),
        call("COUNT", &[X], None, true),
        call("COUNT", &[X], Some(F), true),
        call("COUNT", &[X], Some(F2), true),
        call("COUNT", &[X, S], None, true),
        call("SUM", &[X], None, true),
        call("SUM", &[M], Some(F), true),
        call("SUM0", &[B], Some(F2), false),
        call("COLLECT", &[S], None, false),
        call("COLLECT", &[X], Some(F), true),
        call("PERCENTILE", &[D, QUARTER], None, false),
        call("PERCENTILE", &[D, FRACTIONS], Some(F), false),
        call("MIN", &[TS], None, false),
        call("MAX", &[S], Some(F), true),
        call("MAX", &[F], None, false),
    ];
    for arg in [X, D, M, B] {
        for function in ["SUM", "AVG", "MIN", "MAX", "STDDEV_POP", "VAR_SAMP"] {
            calls.push(call(function, &[arg], (function == "AVG").then_some(F), false));
        }
    }
    calls
}

/// Calls whose results depend on the order of rows.
pub(crate) fn ordered_calls() -> Vec<AggregateCall> {
    vec![
        call("FIRST_VALUE", &[X], None, false),
        call("LAST_VALUE", &[S], Some(F), false),
        call("LISTAGG", &[S], None, false),
        call("LISTAGG", &[S, SEPARATOR], Some(F), true),
        call("ARRAY_AGG", &[X], None, false),
        call("ARRAY_AGG_IGNORE_NULLS", &[X], None, true),
        call("JSON_ARRAYAGG", &[D], None, false),
        call("JSON_ARRAYAGG_NULL_ON_NULL", &[S], Some(F), false),
    ]
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
}

fn value(row: &Row, column: usize) -> Value {
    let number = |v: Option<i64>| v.map_or(Value::Null, Value::Number);
    match column {
        TS => Value::Number(row.ts),
        X | B => number(row.x),
        D | M => number(row.y),
        S => row.s.clone().map_or(Value::Null, Value::Text),
        F => row.f.map_or(Value::Null, Value::Bool),
        _ => Value::Null,
    }
}

/// What a call gives for a group that has seen these rows, as [`rheos_core::testing::changes`] shows it.
pub(crate) fn expected(call: &AggregateCall, history: &[(Row, i8)]) -> String {
    let column = call.args.first().copied();
    let required: &[usize] = match call.function.as_str() {
        "ARRAY_AGG" | "JSON_ARRAYAGG_NULL_ON_NULL" => &[],
        "LISTAGG" | "PERCENTILE" => &call.args[..1],
        _ => &call.args,
    };
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut counts: BTreeMap<Vec<Value>, i64> = BTreeMap::new();
    for (row, sign) in history {
        let passes = match call.filter {
            None => true,
            Some(F) => row.f == Some(true),
            Some(_) => row.f2 == Some(true),
        };
        if !passes || required.iter().any(|c| value(row, *c) == Value::Null) {
            continue;
        }
        let args: Vec<Value> = call.args.iter().map(|c| value(row, *c)).collect();
        let count = counts.entry(args.clone()).or_default();
        let before = *count;
        *count += i64::from(*sign);
        if call.distinct && (before > 0) == (*count > 0) {
            continue;
        }
        if *sign > 0 {
            rows.push(args);
        } else {
            let at = rows.iter().position(|r| *r == args).unwrap();
            rows.remove(at);
        }
    }
    let values: Vec<Value> = rows.iter().filter_map(|r| r.first().cloned()).collect();
    let numbers: Vec<i64> = values.iter().filter_map(|v| if let Value::Number(n) = v { Some(*n) } else { None }).collect();
    let column = column.unwrap_or(X);
    let null = || "NULL".to_string();
    let shown = |v: Option<&Value>| v.map_or_else(null, |v| show(v, column));
    match call.function.as_str() {
        "COUNT" => rows.len().to_string(),
        "SUM" | "SUM0" if numbers.is_empty() => {
            if call.function == "SUM0" {
                "0".into()
            } else {
                null()
            }
        }
        "SUM" | "SUM0" => show(&Value::Number(numbers.iter().sum()), column),
        "AVG" | "STDDEV_POP" | "VAR_SAMP" => statistics(&call.function, &numbers, column),
        "MIN" => shown(values.iter().min()),
        "MAX" => shown(values.iter().max()),
        "FIRST_VALUE" => shown(values.first()),
        "LAST_VALUE" => shown(values.last()),
        "LISTAGG" if values.is_empty() => null(),
        "LISTAGG" => {
            let texts: Vec<String> = values.iter().map(|v| show(v, column)).collect();
            texts.join(if call.args.len() == 2 { "; " } else { "," })
        }
        "ARRAY_AGG" | "ARRAY_AGG_IGNORE_NULLS" if values.is_empty() => null(),
        "ARRAY_AGG" | "ARRAY_AGG_IGNORE_NULLS" => {
            format!("[{}]", values.iter().map(|v| show(v, column)).collect::<Vec<_>>().join(", "))
        }
        "JSON_ARRAYAGG_ABSENT_ON_NULL" | "JSON_ARRAYAGG_NULL_ON_NULL" => {
            let texts = values.iter().map(|v| match v {
                Value::Null => "null".to_string(),
                Value::Text(text) => format!("\"{text}\""),
                number => show(number, column),
            });
            format!("[{}]", texts.collect::<Vec<_>>().join(","))
        }
        "COLLECT" => {
            let mut counts: BTreeMap<&Value, i64> = BTreeMap::new();
            values.iter().for_each(|v| *counts.entry(v).or_default() += 1);
            format!("{{{}}}", counts.iter().map(|(v, n)| format!("{}: {n}", show(v, column))).collect::<Vec<_>>().join(", "))
        }
        "PERCENTILE" => {
            if numbers.is_empty() {
                return null();
            }
            let at = |fraction: f64| format!("{:?}", percentile(&numbers, fraction));
            if call.args[1] == QUARTER { at(0.25) } else { format!("[{}, {}, {}]", at(0.0), at(0.5), at(1.0)) }
        }
        other => panic!("no model of {other}"),
    }
}

fn show(value: &Value, column: usize) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(b) => b.to_string(),
        Value::Text(text) => text.clone(),
        Value::Number(n) => match column {
            D => format!("{:?}", *n as f64 / 4.0),
            M => format!("{}{}.{:02}", if *n < 0 { "-" } else { "" }, n.abs() / 100, n.abs() % 100),
            TS => format!("1970-01-01T00:{:02}:{:02}{}", n / 60_000, n / 1000 % 60, milliseconds(n % 1000)),
            _ => n.to_string(),
        },
    }
}

fn milliseconds(ms: i64) -> String {
    if ms == 0 { String::new() } else { format!(".{ms:03}") }
}

fn statistics(function: &str, numbers: &[i64], column: usize) -> String {
    let n = numbers.len() as i64;
    if n == 0 || (n == 1 && function == "VAR_SAMP") {
        return "NULL".into();
    }
    let divisor = if function == "VAR_SAMP" { n - 1 } else { n };
    let sum: i64 = numbers.iter().sum();
    if column == X || column == B {
        let squares: i64 = numbers.iter().map(|v| v * v).sum();
        let variance = (squares - sum * sum / n) / divisor;
        return match function {
            "AVG" => (sum / n).to_string(),
            "VAR_SAMP" => variance.to_string(),
            _ => ((variance as f64).sqrt() as i64).to_string(),
        };
    }
    let scale = if column == D { 4.0 } else { 100.0 };
    let mean = sum as f64 / n as f64;
    let variance = numbers.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / divisor as f64 / (scale * scale);
    let result = match function {
        "AVG" => mean / scale,
        "VAR_SAMP" => variance,
        _ => variance.sqrt(),
    };
    if column == D { format!("{result:?}") } else { format!("{result:.6}") }
}

fn percentile(numbers: &[i64], fraction: f64) -> f64 {
    let mut sorted: Vec<f64> = numbers.iter().map(|n| *n as f64 / 4.0).collect();
    sorted.sort_by(f64::total_cmp);
    let position = (sorted.len() - 1) as f64 * fraction;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    if low == high { low } else { (position.ceil() - position) * low + (position - position.floor()) * high }
}

/// Whether two lines of [`rheos_core::testing::changes`] are the same row: numbers may differ in their last digits, entries
/// of collections may be in another order.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    let cells = |line: &str| line.split('|').map(str::to_string).collect::<Vec<_>>();
    let (a, b) = (cells(a), cells(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0) || (a - b).abs() < 1.5e-6;
            a == b || (entries(a).is_some() && entries(a) == entries(b)) || a.parse().is_ok_and(|a| b.parse().is_ok_and(|b| near(a, b)))
        })
}

fn entries(text: &str) -> Option<Vec<&str>> {
    let inner = text.strip_prefix(['{', '['])?.strip_suffix(['}', ']'])?;
    let mut entries: Vec<&str> = inner.split([',', ' ']).filter(|e| !e.is_empty()).collect();
    // A multiset's entry is `value: count`; the parts sort apart, which is enough to tell different ones apart in practice.
    entries.sort_unstable();
    Some(entries)
}
