//! FLOOR, CEIL, ROUND and TRUNCATE of every kind of number.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};

use rheos_core::error::{Error, Result};
use rheos_core::text::pow10;
use rheos_core::types::{MAX_DECIMAL_PRECISION, TypeKind};

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, collect_numbers, numbers, result, rows_to_compute};

use super::digits::{self, Mode};

/// The type of a rounded decimal: one digit more than what is left, since 9.9 becomes 10.
pub(super) fn decimal_type(precision: u8, scale: u8, digits: i64) -> TypeKind {
    if digits >= i64::from(scale) {
        return TypeKind::Decimal(precision, scale);
    }
    let scale_left = digits.clamp(0, 38) as u8;
    TypeKind::Decimal((1 + precision - scale + scale_left).min(MAX_DECIMAL_PRECISION), scale_left)
}

pub(super) fn floor(call: &Call<'_>) -> Result<Value> {
    to_whole(call, f64::floor, |unscaled, one| unscaled.div_euclid(one))
}

pub(super) fn ceil(call: &Call<'_>) -> Result<Value> {
    to_whole(call, f64::ceil, |unscaled, one| -(-unscaled).div_euclid(one))
}

fn to_whole(call: &Call<'_>, real: fn(f64) -> f64, decimal: fn(i128, i128) -> i128) -> Result<Value> {
    let array = argument(call, 0)?.array();
    let whole: ArrayRef = match array.data_type() {
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|x| real(f64::from(x)) as f32)),
        DataType::Float64 => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(real)),
        DataType::Decimal128(_, scale) => {
            let one = pow10(scale.unsigned_abs());
            let whole = array.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|x| decimal(x, one));
            Arc::new(whole.with_data_type(call.result.to_arrow()))
        }
        _ => Arc::clone(array),
    };
    Ok(result(call, whole))
}

pub(super) fn round(call: &Call<'_>) -> Result<Value> {
    at_digit(call, Mode::HalfUp)
}

pub(super) fn truncate(call: &Call<'_>) -> Result<Value> {
    at_digit(call, Mode::Truncate)
}

/// An integer divided by a power of ten and multiplied again.
fn round_integer(value: i128, digits: i64, mode: Mode) -> i128 {
    if digits >= 0 {
        return value;
    }
    let Some(power) = u8::try_from(-digits).ok().filter(|d| *d <= 38).map(pow10) else { return 0 };
    let (kept, rest) = (value / power, value % power);
    let carry = if mode == Mode::HalfUp && rest.abs() >= power / 2 { value.signum() } else { 0 };
    (kept + carry).saturating_mul(power)
}

fn at_digit(call: &Call<'_>, mode: Mode) -> Result<Value> {
    let array = argument(call, 0)?.array();
    match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(call, mode, |v| v as i8),
        DataType::Int16 => integers::<Int16Type>(call, mode, |v| v as i16),
        DataType::Int32 => integers::<Int32Type>(call, mode, |v| v as i32),
        DataType::Int64 => integers::<Int64Type>(call, mode, |v| v as i64),
        DataType::Float32 => {
            let (number, digit) = (numbers::<Float32Type>(call, 0)?, digits_by_row(call)?);
            collect_numbers::<Float32Type>(call, |row| {
                // Through its own shortest text: 0.1 is not the double that it is stored as.
                let value = f64::from(number.get(row)?);
                let shortest = format!("{}", value as f32).parse().unwrap_or(value);
                Some(digits::round(shortest, digit(row)?, mode) as f32)
            })
        }
        DataType::Float64 => {
            let (number, digit) = (numbers::<Float64Type>(call, 0)?, digits_by_row(call)?);
            collect_numbers::<Float64Type>(call, |row| Some(digits::round(number.get(row)?, digit(row)?, mode)))
        }
        DataType::Decimal128(_, scale) => decimals(call, i64::from(*scale), mode),
        other => Err(Error::bug(format!("ROUND of a value of type {other}"))),
    }
}

fn integers<T>(call: &Call<'_>, mode: Mode, narrow: fn(i128) -> T::Native) -> Result<Value>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    let (number, digit) = (numbers::<T>(call, 0)?, digits_by_row(call)?);
    // Wraps where rounding up leaves the type, as Flink does.
    collect_numbers::<T>(call, |row| Some(narrow(round_integer(number.get(row)?.into(), digit(row)?, mode))))
}

fn digits_by_row<'a>(call: &Call<'a>) -> Result<impl Fn(usize) -> Option<i64> + use<'a>> {
    let digits = if call.args.len() > 1 { Some(numbers::<Int64Type>(call, 1)?) } else { None };
    Ok(move |row| digits.as_ref().map_or(Some(0), |d| d.get(row)))
}

/// Where the digits are constant the result has just them, else all that the argument has.
fn decimals(call: &Call<'_>, scale: i64, mode: Mode) -> Result<Value> {
    let TypeKind::Decimal(precision, result_scale) = call.result.kind else {
        return Err(Error::bug("ROUND of a DECIMAL does not give one"));
    };
    let (number, digit) = (numbers::<Decimal128Type>(call, 0)?, digits_by_row(call)?);
    let limit = pow10(precision);
    let shrink = pow10((scale - i64::from(result_scale)).max(0) as u8);
    let rounded = (0..rows_to_compute(call)).map(|row| {
        let digits = digit(row)?.min(scale);
        let rounded = round_integer(number.get(row)?, digits - scale, mode) / shrink;
        // More digits than the type has: NULL, as where a cast does not fit.
        Some(rounded).filter(|r| r.abs() < limit)
    });
    let array: PrimitiveArray<Decimal128Type> = rounded.collect();
    Ok(result(call, Arc::new(array.with_data_type(call.result.to_arrow()))))
}
