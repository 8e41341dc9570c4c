//! Decimal arithmetic on DECIMAL and integer columns alike, in one pass over the unscaled values.
//!
//! Where the result type has room for every result, which [`super::precision`] says, plain 128-bit loops do it. Where digits
//! were given up, each value is computed in 256 bits, rounded half up, and is NULL if it is still too large.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, AsArray, Decimal128Array, Int64Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal128Type, Int64Type, i256};

use rheos_core::error::{Error, Result};
use rheos_core::text::pow10;
use rheos_core::types::{LogicalType, TypeKind};

use super::Operator;
use super::precision::{self, Digits};
use crate::function::{Call, Value};
use crate::functions::kernel::result;

/// One side of an operator.
struct Operand {
    values: Values,
    /// Precision and scale.
    digits: (u8, u8),
}

enum Values {
    Constant(i64),
    WideConstant(i128),
    Null,
    Integers(Int64Array),
    Decimals(Decimal128Array),
}

impl Operand {
    fn new(value: &Value, ty: &LogicalType) -> Result<Operand> {
        let digits = ty.kind.as_decimal().ok_or_else(|| Error::bug(format!("decimal arithmetic on {ty}")))?;
        let array = match value.array().data_type() {
            DataType::Int8 | DataType::Int16 | DataType::Int32 => &arrow::compute::cast(value.array(), &DataType::Int64)?,
            _ => value.array(),
        };
        let values = match (array.as_primitive_opt::<Int64Type>(), array.as_primitive_opt::<Decimal128Type>()) {
            (Some(a), _) if !value.is_constant() => Values::Integers(a.clone()),
            (_, Some(a)) if !value.is_constant() => Values::Decimals(a.clone()),
            (Some(a), _) if a.is_valid(0) => Values::Constant(a.value(0)),
            (_, Some(a)) if a.is_valid(0) => match i64::try_from(a.value(0)) {
                Ok(small) => Values::Constant(small),
                Err(_) => Values::WideConstant(a.value(0)),
            },
            (None, None) => return Err(Error::bug(format!("decimal arithmetic on {}", array.data_type()))),
            _ => Values::Null,
        };
        Ok(Operand { values, digits })
    }

    fn nulls(&self) -> Option<&NullBuffer> {
        match &self.values {
            Values::Integers(a) => a.nulls(),
            Values::Decimals(a) => a.nulls(),
            _ => None,
        }
    }
}

pub(super) fn eval(operator: Operator, call: &Call<'_>) -> Result<Value> {
    let a = Operand::new(&call.args[0], &call.arg_types[0])?;
    let b = Operand::new(&call.args[1], &call.arg_types[1])?;
    let (s, t) = (a.digits.1, b.digits.1);
    match operator {
        Operator::Add | Operator::Subtract => {
            let digits = precision::of_sum(a.digits, b.digits);
            let subtract = operator == Operator::Subtract;
            let scale = s.max(t);
            if digits.adjusted {
                let (m, n) = (wide_pow10(scale - s), wide_pow10(scale - t));
                return checked(call, &a, &b, |a, b| {
                    let (a, b) = (a.wrapping_mul(m), b.wrapping_mul(n));
                    narrow(if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) }, scale, digits)
                });
            }
            let (m, n) = (pow10(scale - s), pow10(scale - t) * if subtract { -1 } else { 1 });
            match (m, n) {
                (1, 1) => exact(call, &a, &b, |a, b| a.wrapping_add(b)),
                (1, -1) => exact(call, &a, &b, |a, b| a.wrapping_sub(b)),
                _ => exact(call, &a, &b, |a, b| a.wrapping_mul(m).wrapping_add(b.wrapping_mul(n))),
            }
        }
        Operator::Multiply => {
            let digits = precision::of_product(a.digits, b.digits);
            if digits.adjusted {
                checked(call, &a, &b, |a, b| narrow(a.wrapping_mul(b), s + t, digits))
            } else {
                exact(call, &a, &b, |a, b| a.wrapping_mul(b))
            }
        }
        Operator::Divide => divide(call, &a, &b),
        Operator::Remainder => {
            refuse_zero(call, &b)?;
            let digits = precision::of_remainder(a.digits, b.digits);
            let scale = s.max(t);
            let (m, n) = (wide_pow10(scale - s), wide_pow10(scale - t));
            if a.digits.0 + (scale - s) <= 38 && b.digits.0 + (scale - t) <= 38 {
                let (m, n) = (pow10(scale - s), pow10(scale - t));
                return exact(call, &a, &b, |a, b| a.wrapping_mul(m).checked_rem(b.wrapping_mul(n)).unwrap_or(0));
            }
            checked(call, &a, &b, |a, b| narrow(a.wrapping_mul(m).checked_rem(b.wrapping_mul(n))?, scale, digits))
        }
    }
}

fn divide(call: &Call<'_>, a: &Operand, b: &Operand) -> Result<Value> {
    refuse_zero(call, b)?;
    let digits = precision::of_quotient(a.digits, b.digits);
    // The dividend is shifted so that the quotient has the scale of the result; the rule gives at least that many digits,
    // but where digits were given up it can be the divisor that must be shifted.
    let shift = i32::from(digits.scale) + i32::from(b.digits.1) - i32::from(a.digits.1);
    if !digits.adjusted && shift >= 0 && i32::from(a.digits.0) + shift <= 38 {
        let m = pow10(shift as u8);
        return exact(call, a, b, |a, b| divide_half_up(a.wrapping_mul(m), b));
    }
    let (m, n) = if shift >= 0 { (wide_pow10(shift as u8), i256::ONE) } else { (i256::ONE, wide_pow10(shift.unsigned_abs() as u8)) };
    checked(call, a, b, |a, b| narrow(wide_divide_half_up(a.wrapping_mul(m), b.wrapping_mul(n))?, digits.scale, digits))
}

/// The quotient rounded half away from zero; 0 for a division by zero, which has been refused where it counts.
#[inline]
fn divide_half_up(a: i128, b: i128) -> i128 {
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b)) {
        let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b)) else { return 0 };
        let up = rest.unsigned_abs() >= b.unsigned_abs().div_ceil(2);
        return i128::from(quotient) + if up { i128::from(a.signum() * b.signum()) } else { 0 };
    }
    let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b)) else { return 0 };
    if rest.unsigned_abs() >= b.unsigned_abs().div_ceil(2) { quotient + a.signum() * b.signum() } else { quotient }
}

fn wide_divide_half_up(a: i256, b: i256) -> Option<i256> {
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let up = rest.checked_abs()?.checked_mul(i256::from_i128(2))? >= b.checked_abs()?;
    Some(if up { quotient.wrapping_add(a.signum().wrapping_mul(b.signum())) } else { quotient })
}

fn wide_pow10(exponent: u8) -> i256 {
    i256::from_i128(10).wrapping_pow(u32::from(exponent))
}

/// A wide value of some scale as one of the result's scale, if it has no more digits than that.
fn narrow(value: i256, scale: u8, digits: Digits) -> Option<i128> {
    let value = if scale > digits.scale { wide_divide_half_up(value, wide_pow10(scale - digits.scale))? } else { value };
    value.to_i128().filter(|v| v.unsigned_abs() < pow10(digits.precision).unsigned_abs())
}

/// Fails if a number that is not NULL is divided by zero.
fn refuse_zero(call: &Call<'_>, divisor: &Operand) -> Result<()> {
    let has_zero = match &divisor.values {
        Values::Constant(v) => *v == 0,
        Values::WideConstant(_) | Values::Null => false,
        Values::Integers(a) => has_zero(a),
        Values::Decimals(a) => has_zero(a),
    };
    let dividends = call.args[0].array();
    // A row whose dividend is NULL gives NULL; telling such rows apart is worth it only when there is a zero at all.
    let fails = has_zero && {
        let zero_at = |row: usize| match &divisor.values {
            Values::Constant(_) => true,
            Values::Integers(a) => a.is_valid(row) && a.value(row) == 0,
            Values::Decimals(a) => a.is_valid(row) && a.value(row) == 0,
            _ => false,
        };
        let constant = call.args[0].is_constant();
        let rows = dividends.len().max(call.args[1].array().len());
        (0..rows).any(|row| zero_at(row) && dividends.is_valid(if constant { 0 } else { row }))
    };
    if fails { Err(Error::input("division by zero")) } else { Ok(()) }
}

fn has_zero<T: ArrowPrimitiveType<Native: Default>>(array: &PrimitiveArray<T>) -> bool {
    array.values().contains(&T::Native::default())
}

/// Computes every row; `f` is also called for rows that are NULL.
fn exact(call: &Call<'_>, a: &Operand, b: &Operand, f: impl Fn(i128, i128) -> i128) -> Result<Value> {
    let values: Vec<i128> = match (&a.values, &b.values) {
        (Values::Null, _) | (_, Values::Null) => return Ok(null(call)),
        (Values::Constant(a), Values::Constant(b)) => vec![f(i128::from(*a), i128::from(*b))],
        (Values::Constant(a), Values::WideConstant(b)) => vec![f(i128::from(*a), *b)],
        (Values::WideConstant(a), Values::Constant(b)) => vec![f(*a, i128::from(*b))],
        (Values::WideConstant(a), Values::WideConstant(b)) => vec![f(*a, *b)],
        (Values::Constant(a), Values::Integers(b)) => b.values().iter().map(|b| f(i128::from(*a), i128::from(*b))).collect(),
        (Values::Constant(a), Values::Decimals(b)) => b.values().iter().map(|b| f(i128::from(*a), *b)).collect(),
        (Values::WideConstant(a), Values::Integers(b)) => b.values().iter().map(|b| f(*a, i128::from(*b))).collect(),
        (Values::WideConstant(a), Values::Decimals(b)) => b.values().iter().map(|b| f(*a, *b)).collect(),
        (Values::Integers(a), Values::Constant(b)) => a.values().iter().map(|a| f(i128::from(*a), i128::from(*b))).collect(),
        (Values::Decimals(a), Values::Constant(b)) => a.values().iter().map(|a| f(*a, i128::from(*b))).collect(),
        (Values::Integers(a), Values::WideConstant(b)) => a.values().iter().map(|a| f(i128::from(*a), *b)).collect(),
        (Values::Decimals(a), Values::WideConstant(b)) => a.values().iter().map(|a| f(*a, *b)).collect(),
        (Values::Integers(a), Values::Integers(b)) => both(a, b, |a, b| f(i128::from(a), i128::from(b))),
        (Values::Integers(a), Values::Decimals(b)) => both(a, b, |a, b| f(i128::from(a), b)),
        (Values::Decimals(a), Values::Integers(b)) => both(a, b, |a, b| f(a, i128::from(b))),
        (Values::Decimals(a), Values::Decimals(b)) => both(a, b, f),
    };
    let array = Decimal128Array::new(values.into(), NullBuffer::union(a.nulls(), b.nulls()));
    Ok(result(call, Arc::new(array.with_data_type(call.result.to_arrow()))))
}

fn both<A, B>(a: &PrimitiveArray<A>, b: &PrimitiveArray<B>, f: impl Fn(A::Native, B::Native) -> i128) -> Vec<i128>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
{
    a.values().iter().zip(b.values()).map(|(a, b)| f(*a, *b)).collect()
}

fn null(call: &Call<'_>) -> Value {
    Value::Constant(arrow::array::new_null_array(&call.result.to_arrow(), 1))
}

/// Computes row by row in 256 bits; `None` is NULL.
fn checked(call: &Call<'_>, a: &Operand, b: &Operand, f: impl Fn(i256, i256) -> Option<i128>) -> Result<Value> {
    let get = |operand: &Operand, row: usize| match &operand.values {
        Values::Constant(v) => Some(i256::from(*v)),
        Values::WideConstant(v) => Some(i256::from_i128(*v)),
        Values::Null => None,
        Values::Integers(a) => a.is_valid(row).then(|| i256::from(a.value(row))),
        Values::Decimals(a) => a.is_valid(row).then(|| i256::from_i128(a.value(row))),
    };
    debug_assert!(matches!(call.result.kind, TypeKind::Decimal(..)));
    crate::functions::kernel::collect_numbers::<Decimal128Type>(call, |row| f(get(a, row)?, get(b, row)?))
}
