//! Functions of doubles, over whole columns.

use std::sync::Arc;

use arrow::array::{Float64Array, PrimitiveArray};
use arrow::datatypes::Float64Type;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{collect, numbers, result};

/// Computes what is under NULL too: that is faster than to leave it out.
pub(super) fn of_double(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Value> {
    let array: PrimitiveArray<Float64Type> = numbers::<Float64Type>(call, 0)?.array().unary(f);
    Ok(result(call, Arc::new(array)))
}

pub(super) fn of_doubles(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Value> {
    let (a, b) = (numbers::<Float64Type>(call, 0)?, numbers::<Float64Type>(call, 1)?);
    collect::<Float64Array, _>(call, |row| Some(f(a.get(row)?, b.get(row)?)))
}

pub(super) fn constant(value: f64) -> Result<Value> {
    Ok(Value::Constant(Arc::new(Float64Array::from(vec![value]))))
}
