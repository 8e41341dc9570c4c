//! Three-valued logic.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean::{and_kleene, is_not_null, is_null, not, or_kleene};

use rheos_core::error::{Error, Result};
use rheos_core::types::TypeKind;

use super::kernel::{result, rows_to_compute};
use super::signature::{Param, signature, variadic};
use crate::function::{Arg, Call, Function, Signature, Value};

const BOOLEAN: Param = Param::Kind(TypeKind::Boolean);

/// What this family has. Programs evaluate AND and OR themselves, from left to right, to spare what need not be computed.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("AND", "a AND b", |args| variadic(args, 1, &BOOLEAN, TypeKind::Boolean), |call| junction(call, true)).cheap(),
    Function::new("OR", "a OR b", |args| variadic(args, 1, &BOOLEAN, TypeKind::Boolean), |call| junction(call, false)).cheap(),
    Function::new("NOT", "NOT a", |args| signature(args, &[BOOLEAN], &[], TypeKind::Boolean), negate).cheap(),
    Function::new("IS NULL", "a IS NULL", of_anything, |call| nullness(call, true)).cheap(),
    Function::new("IS NOT NULL", "a IS NOT NULL", of_anything, |call| nullness(call, false)).cheap(),
    Function::new("IS TRUE", "a IS TRUE", of_boolean, |call| is(call, true, false)).cheap(),
    Function::new("IS NOT TRUE", "a IS NOT TRUE", of_boolean, |call| is(call, true, true)).cheap(),
    Function::new("IS FALSE", "a IS FALSE", of_boolean, |call| is(call, false, false)).cheap(),
    Function::new("IS NOT FALSE", "a IS NOT FALSE", of_boolean, |call| is(call, false, true)).cheap(),
    Function::new("IS UNKNOWN", "a IS UNKNOWN", of_boolean, |call| nullness(call, true)).cheap(),
    Function::new("IS NOT UNKNOWN", "a IS NOT UNKNOWN", of_boolean, |call| nullness(call, false)).cheap(),
];

fn of_anything(args: &[Arg<'_>]) -> Result<Signature, String> {
    Ok(Signature { result: TypeKind::Boolean.not_null(), ..signature(args, &[Param::Any], &[], TypeKind::Boolean)? })
}

fn of_boolean(args: &[Arg<'_>]) -> Result<Signature, String> {
    Ok(Signature { result: TypeKind::Boolean.not_null(), ..signature(args, &[BOOLEAN], &[], TypeKind::Boolean)? })
}

fn boolean(value: &Value) -> Result<&BooleanArray> {
    value.array().as_boolean_opt().ok_or_else(|| Error::bug(format!("logic on {}", value.array().data_type())))
}

fn junction(call: &Call<'_>, all: bool) -> Result<Value> {
    let rows = rows_to_compute(call);
    let mut joined: Option<BooleanArray> = None;
    for arg in call.args {
        let part = arg.clone().into_column(rows)?;
        let part = part.as_boolean_opt().ok_or_else(|| Error::bug("logic on what is no boolean"))?;
        joined = Some(match joined {
            Some(before) if all => and_kleene(&before, part)?,
            Some(before) => or_kleene(&before, part)?,
            None => part.clone(),
        });
    }
    let joined = joined.ok_or_else(|| Error::bug("AND or OR of nothing"))?;
    Ok(result(call, Arc::new(joined)))
}

fn negate(call: &Call<'_>) -> Result<Value> {
    Ok(result(call, Arc::new(not(boolean(&call.args[0])?)?)))
}

fn nullness(call: &Call<'_>, null: bool) -> Result<Value> {
    let array = call.args[0].array().as_ref();
    Ok(result(call, Arc::new(if null { is_null(array)? } else { is_not_null(array)? })))
}

/// `IS [NOT] TRUE`, `IS [NOT] FALSE`: NULL is neither.
fn is(call: &Call<'_>, expected: bool, negated: bool) -> Result<Value> {
    let array = boolean(&call.args[0])?;
    let bits = if expected { array.values().clone() } else { !array.values() };
    let bits: BooleanBuffer = match array.nulls() {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    };
    Ok(result(call, Arc::new(BooleanArray::new(if negated { !&bits } else { bits }, None))))
}
