//! ABS and SIGN of every kind of number. The least integer has no positive counterpart and stays, as in Java.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_core::text::pow10;

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, result};

fn unary<T: ArrowPrimitiveType>(array: &ArrayRef, f: impl Fn(T::Native) -> T::Native) -> ArrayRef {
    let array = array.as_primitive::<T>();
    Arc::new(array.unary::<_, T>(f).with_data_type(array.data_type().clone()))
}

fn unexpected(array: &ArrayRef) -> Error {
    Error::bug(format!("a function of numbers is given a value of type {}", array.data_type()))
}

pub(super) fn abs(call: &Call<'_>) -> Result<Value> {
    let array = argument(call, 0)?.array();
    let absolute = match array.data_type() {
        DataType::Int8 => unary::<Int8Type>(array, i8::wrapping_abs),
        DataType::Int16 => unary::<Int16Type>(array, i16::wrapping_abs),
        DataType::Int32 => unary::<Int32Type>(array, i32::wrapping_abs),
        DataType::Int64 => unary::<Int64Type>(array, i64::wrapping_abs),
        DataType::Float32 => unary::<Float32Type>(array, f32::abs),
        DataType::Float64 => unary::<Float64Type>(array, f64::abs),
        DataType::Decimal128(..) => unary::<Decimal128Type>(array, i128::wrapping_abs),
        _ => return Err(unexpected(array)),
    };
    Ok(result(call, absolute))
}

pub(super) fn sign(call: &Call<'_>) -> Result<Value> {
    let array = argument(call, 0)?.array();
    let signs = match array.data_type() {
        DataType::Int8 => unary::<Int8Type>(array, i8::signum),
        DataType::Int16 => unary::<Int16Type>(array, i16::signum),
        DataType::Int32 => unary::<Int32Type>(array, i32::signum),
        DataType::Int64 => unary::<Int64Type>(array, i64::signum),
        // Zero has no sign, and NaN stays.
        DataType::Float32 => unary::<Float32Type>(array, |x| if x == 0.0 { x } else { x.signum() }),
        DataType::Float64 => unary::<Float64Type>(array, |x| if x == 0.0 { x } else { x.signum() }),
        DataType::Decimal128(_, scale) => {
            let one = pow10(scale.unsigned_abs());
            unary::<Decimal128Type>(array, |x| x.signum() * one)
        }
        _ => return Err(unexpected(array)),
    };
    Ok(result(call, signs))
}
