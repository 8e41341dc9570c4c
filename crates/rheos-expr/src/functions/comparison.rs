//! Comparisons. NULL compared with anything is NULL; numbers of different types meet in their common type; NaN equals
//! nothing and is in no order, as in Java; texts compare by their bytes.

mod inclusion;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, make_comparator};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::SortOptions;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use super::kernel::{combine_to_booleans, result};
use super::signature::count;
use crate::build::common_type;
use crate::function::{Arg, Call, Function, Signature, Value};

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("=", "a = b", |args| resolve(args, true), |call| compare(Comparison::Equal, call)).aliases(&["=="]).cheap(),
    Function::new("<>", "a <> b", |args| resolve(args, true), |call| compare(Comparison::NotEqual, call)).aliases(&["!="]).cheap(),
    Function::new("<", "a < b", |args| resolve(args, false), |call| compare(Comparison::Less, call)).cheap(),
    Function::new("<=", "a <= b", |args| resolve(args, false), |call| compare(Comparison::LessOrEqual, call)).cheap(),
    Function::new(">", "a > b", |args| resolve(args, false), |call| compare(Comparison::Greater, call)).cheap(),
    Function::new(">=", "a >= b", |args| resolve(args, false), |call| compare(Comparison::GreaterOrEqual, call)).cheap(),
    Function::new("IS DISTINCT FROM", "a IS DISTINCT FROM b", resolve_distinct, |call| distinct(call, true)).cheap(),
    Function::new("IS NOT DISTINCT FROM", "a IS NOT DISTINCT FROM b", resolve_distinct, |call| distinct(call, false)).cheap(),
    Function::new("IN", "value IN (a, b, ...)", inclusion::resolve, inclusion::eval).prepared(inclusion::prepare).cheap(),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

fn resolve(args: &[Arg<'_>], equality: bool) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let (a, b) = (args[0].ty(), args[1].ty());
    let Some(kind) = comparable(a, b) else {
        let hint = if a.kind.is_numeric() && b.kind.is_character() || a.kind.is_character() && b.kind.is_numeric() {
            "; cast one of them"
        } else {
            ""
        };
        return Err(format!("{} and {} cannot be compared{hint}", a.kind, b.kind));
    };
    if kind.is_nested() && !equality {
        return Err(format!("values of {kind} have no order"));
    }
    let args = vec![as_compared(a, &kind), as_compared(b, &kind)];
    Ok(Signature { args, result: TypeKind::Boolean.with_nullable(a.nullable || b.nullable) })
}

/// What a side is cast to: texts and bytes of any length compare as they are.
fn as_compared(ty: &LogicalType, kind: &TypeKind) -> LogicalType {
    let as_it_is = ty.kind.is_character() && kind.is_character() || ty.kind.is_binary() && kind.is_binary();
    if as_it_is { ty.clone() } else { kind.clone().with_nullable(ty.nullable) }
}

/// The kind in which values of two types are compared.
pub(super) fn comparable(a: &LogicalType, b: &LogicalType) -> Option<TypeKind> {
    match (&a.kind, &b.kind) {
        (TypeKind::Null, TypeKind::Null) => Some(TypeKind::Int),
        (t, text) | (text, t) if t.is_temporal() && text.is_character() => Some(t.clone()),
        _ => common_type(&[a.clone(), b.clone()]).map(|common| common.kind),
    }
}

pub(super) fn compare(comparison: Comparison, call: &Call<'_>) -> Result<Value> {
    let [a, b] = call.args else {
        return Err(Error::bug("a comparison without its two arguments"));
    };
    match a.array().data_type() {
        DataType::Float64 => match comparison {
            Comparison::Equal => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a == b),
            Comparison::NotEqual => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a != b),
            Comparison::Less => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a < b),
            Comparison::LessOrEqual => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a <= b),
            Comparison::Greater => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a > b),
            Comparison::GreaterOrEqual => combine_to_booleans::<Float64Type, Float64Type>(call, |a, b| a >= b),
        },
        DataType::Float32 => match comparison {
            Comparison::Equal => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a == b),
            Comparison::NotEqual => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a != b),
            Comparison::Less => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a < b),
            Comparison::LessOrEqual => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a <= b),
            Comparison::Greater => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a > b),
            Comparison::GreaterOrEqual => combine_to_booleans::<Float32Type, Float32Type>(call, |a, b| a >= b),
        },
        DataType::List(_) | DataType::Struct(_) | DataType::Map(..) => nested(comparison, call),
        DataType::Null => Ok(Value::Constant(Arc::new(BooleanArray::new_null(1)))),
        _ => {
            let array = match comparison {
                Comparison::Equal => cmp::eq(a, b)?,
                Comparison::NotEqual => cmp::neq(a, b)?,
                Comparison::Less => cmp::lt(a, b)?,
                Comparison::LessOrEqual => cmp::lt_eq(a, b)?,
                Comparison::Greater => cmp::gt(a, b)?,
                Comparison::GreaterOrEqual => cmp::gt_eq(a, b)?,
            };
            Ok(result(call, Arc::new(array)))
        }
    }
}

/// Equality of arrays, rows and maps; NULLs inside them are equal to each other.
fn nested(comparison: Comparison, call: &Call<'_>) -> Result<Value> {
    let [a, b] = [call.args[0].array(), call.args[1].array()];
    let same = make_comparator(a.as_ref(), b.as_ref(), SortOptions::default())?;
    let at = |value: &Value, row: usize| if value.is_constant() { 0 } else { row };
    super::kernel::collect::<BooleanArray, _>(call, |row| {
        let (i, j) = (at(&call.args[0], row), at(&call.args[1], row));
        let comparable = a.is_valid(i) && b.is_valid(j);
        comparable.then(|| same(i, j).is_eq() == (comparison == Comparison::Equal))
    })
}

fn resolve_distinct(args: &[Arg<'_>]) -> Result<Signature, String> {
    let signature = resolve(args, true)?;
    Ok(Signature { result: TypeKind::Boolean.not_null(), ..signature })
}

/// Whether exactly one is NULL, or neither and they differ.
fn distinct(call: &Call<'_>, distinct: bool) -> Result<Value> {
    let equal = compare(Comparison::Equal, call)?;
    let rows = super::kernel::rows_to_compute(call);
    let equal = equal.into_column(rows)?;
    let equal = equal.as_boolean_opt().ok_or_else(|| Error::bug("a comparison that gives no booleans"))?;
    let is_null = |value: &Value| -> Result<BooleanBuffer> {
        let array: ArrayRef = value.clone().into_column(rows)?;
        Ok(array.logical_nulls().map_or_else(|| BooleanBuffer::new_unset(rows), |nulls| !nulls.inner()))
    };
    let equal_values = match equal.nulls() {
        Some(nulls) => equal.values() & nulls.inner(),
        None => equal.values().clone(),
    };
    let same = &equal_values | &(&is_null(&call.args[0])? & &is_null(&call.args[1])?);
    let bits = if distinct { !&same } else { same };
    Ok(result(call, Arc::new(BooleanArray::new(bits, None::<NullBuffer>))))
}
