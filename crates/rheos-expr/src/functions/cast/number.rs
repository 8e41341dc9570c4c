//! Numbers to numbers, with booleans and intervals as the numbers that they are kept as.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    DataType, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalYearMonthType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::{parse_decimal, pow10, rescale, write_double};
use rheos_core::types::{MAX_DECIMAL_PRECISION, TypeKind};

use super::Conversion;

pub(super) fn conversion(from: &TypeKind, to: &TypeKind, or_null: bool) -> Result<Conversion> {
    // What carries an interval or a boolean as a number.
    let carrier = |kind: &TypeKind| match kind {
        TypeKind::IntervalYearMonth => TypeKind::Int,
        TypeKind::IntervalDayTime => TypeKind::BigInt,
        TypeKind::Boolean => TypeKind::TinyInt,
        kind => kind.clone(),
    };
    let (source, target, to) = (carrier(from), carrier(to), to.clone());
    let fallible = source.is_approximate() && matches!(target, TypeKind::Decimal(..));
    Ok(Conversion {
        apply: Box::new(move |array| {
            let numbers = as_numbers(array)?;
            if to == TypeKind::Boolean {
                return is_not_zero(&numbers);
            }
            let converted = convert(&numbers, &source, &target, or_null)?;
            Ok(match to {
                TypeKind::IntervalYearMonth => Arc::new(primitive::<Int32Type>(&converted)?.reinterpret_cast::<IntervalYearMonthType>()),
                TypeKind::IntervalDayTime => Arc::new(primitive::<Int64Type>(&converted)?.reinterpret_cast::<DurationMillisecondType>()),
                _ => converted,
            })
        }),
        cheap: !fallible,
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<&PrimitiveArray<T>> {
    array.as_primitive_opt::<T>().ok_or_else(|| Error::bug(format!("a number expected, got {}", array.data_type())))
}

fn as_numbers(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Boolean => arrow::compute::cast(array, &DataType::Int8)?,
        DataType::Interval(_) => Arc::new(primitive::<IntervalYearMonthType>(array)?.reinterpret_cast::<Int32Type>()),
        DataType::Duration(_) => Arc::new(primitive::<DurationMillisecondType>(array)?.reinterpret_cast::<Int64Type>()),
        _ => Arc::clone(array),
    })
}

fn is_not_zero(array: &ArrayRef) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType<Native: Default>>(array: &ArrayRef) -> Result<ArrayRef> {
        let numbers = primitive::<T>(array)?;
        let bits = BooleanBuffer::collect_bool(numbers.len(), |i| numbers.values()[i] != T::Native::default());
        Ok(Arc::new(BooleanArray::new(bits, numbers.nulls().cloned())))
    }
    match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Int64 => of::<Int64Type>(array),
        DataType::Float32 => of::<Float32Type>(array),
        DataType::Float64 => of::<Float64Type>(array),
        _ => of::<Decimal128Type>(array),
    }
}

fn convert(array: &ArrayRef, from: &TypeKind, to: &TypeKind, or_null: bool) -> Result<ArrayRef> {
    if let TypeKind::Decimal(precision, scale) = to {
        return to_decimal(array, from, *precision, *scale, or_null);
    }
    match from {
        TypeKind::TinyInt => primitives::<Int8Type>(array, to),
        TypeKind::SmallInt => primitives::<Int16Type>(array, to),
        TypeKind::Int => primitives::<Int32Type>(array, to),
        TypeKind::BigInt => primitives::<Int64Type>(array, to),
        TypeKind::Float => primitives::<Float32Type>(array, to),
        TypeKind::Double => primitives::<Float64Type>(array, to),
        TypeKind::Decimal(_, scale) => from_decimal(primitive::<Decimal128Type>(array)?, *scale, to),
        other => Err(Error::bug(format!("{other} is no number"))),
    }
}

/// Java's conversions between its number types: integers wrap, floating-point numbers are cut and stop at the ends.
trait Java: Copy {
    fn to_i32(self) -> i32;
    fn to_i64(self) -> i64;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
}

macro_rules! java {
    ($($t:ty)*) => {$(
        impl Java for $t {
            fn to_i32(self) -> i32 {
                self as i32
            }

            fn to_i64(self) -> i64 {
                self as i64
            }

            fn to_f32(self) -> f32 {
                self as f32
            }

            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

java!(i8 i16 i32 i64 f32 f64);

fn primitives<T: ArrowPrimitiveType<Native: Java>>(array: &ArrayRef, to: &TypeKind) -> Result<ArrayRef> {
    let array = primitive::<T>(array)?;
    Ok(match to {
        TypeKind::TinyInt => Arc::new(array.unary::<_, Int8Type>(|v| v.to_i32() as i8)),
        TypeKind::SmallInt => Arc::new(array.unary::<_, Int16Type>(|v| v.to_i32() as i16)),
        TypeKind::Int => Arc::new(array.unary::<_, Int32Type>(Java::to_i32)),
        TypeKind::BigInt => Arc::new(array.unary::<_, Int64Type>(Java::to_i64)),
        TypeKind::Float => Arc::new(array.unary::<_, Float32Type>(Java::to_f32)),
        TypeKind::Double => Arc::new(array.unary::<_, Float64Type>(Java::to_f64)),
        other => return Err(Error::bug(format!("{other} is no number"))),
    })
}

fn to_decimal(array: &ArrayRef, from: &TypeKind, precision: u8, scale: u8, or_null: bool) -> Result<ArrayRef> {
    let decimals: Decimal128Array = match from {
        TypeKind::TinyInt => integers_to_decimal(primitive::<Int8Type>(array)?, 3, precision, scale),
        TypeKind::SmallInt => integers_to_decimal(primitive::<Int16Type>(array)?, 5, precision, scale),
        TypeKind::Int => integers_to_decimal(primitive::<Int32Type>(array)?, 10, precision, scale),
        TypeKind::BigInt => integers_to_decimal(primitive::<Int64Type>(array)?, 19, precision, scale),
        TypeKind::Decimal(p, s) => rescaled(primitive::<Decimal128Type>(array)?, (*p, *s), precision, scale),
        TypeKind::Float => floats_to_decimal(primitive::<Float32Type>(array)?, precision, scale, or_null)?,
        TypeKind::Double => floats_to_decimal(primitive::<Float64Type>(array)?, precision, scale, or_null)?,
        other => return Err(Error::bug(format!("{other} is no number"))),
    };
    Ok(Arc::new(decimals.with_data_type(DataType::Decimal128(precision, scale as i8))))
}

/// What does not fit is NULL.
fn integers_to_decimal<T>(array: &PrimitiveArray<T>, digits: u8, precision: u8, scale: u8) -> Decimal128Array
where
    T: ArrowPrimitiveType<Native: Into<i128>>,
{
    let factor = pow10(scale.min(MAX_DECIMAL_PRECISION));
    if digits + scale <= precision {
        return array.unary(|v| v.into() * factor);
    }
    let limit = pow10(precision.min(MAX_DECIMAL_PRECISION)).unsigned_abs();
    array.unary_opt(|v| v.into().checked_mul(factor).filter(|v| v.unsigned_abs() < limit))
}

fn rescaled(array: &Decimal128Array, (from_precision, from_scale): (u8, u8), precision: u8, scale: u8) -> Decimal128Array {
    let always_fits = scale >= from_scale && from_precision + (scale - from_scale) <= precision;
    if always_fits && scale == from_scale {
        return array.clone();
    }
    if always_fits {
        let factor = pow10(scale - from_scale);
        return array.unary(|v| v.wrapping_mul(factor));
    }
    array.unary_opt(|v| rescale(v, from_scale, precision, scale))
}

/// The decimal that the number reads as, rounded half up; NULL if too large. NaN and infinity are no numbers.
fn floats_to_decimal<T>(array: &PrimitiveArray<T>, precision: u8, scale: u8, or_null: bool) -> Result<Decimal128Array>
where
    T: ArrowPrimitiveType<Native: Into<f64>>,
{
    let mut text = String::new();
    (0..array.len())
        .map(|row| {
            let value: f64 = if array.is_null(row) { return Ok(None) } else { array.value(row).into() };
            if !value.is_finite() && !or_null {
                return Err(Error::input(format!("{value} cannot be cast to DECIMAL({precision}, {scale})")));
            }
            text.clear();
            write_double(&mut text, value);
            Ok(parse_decimal(&text, precision, scale))
        })
        .collect()
}

/// Integers are cut, not rounded, and wrap.
fn from_decimal(array: &Decimal128Array, scale: u8, to: &TypeKind) -> Result<ArrayRef> {
    let one = pow10(scale.min(MAX_DECIMAL_PRECISION));
    let whole = |v: i128| if one == 1 { v as i64 } else { (v / one) as i64 };
    Ok(match to {
        TypeKind::TinyInt => Arc::new(array.unary::<_, Int8Type>(|v| whole(v) as i8)),
        TypeKind::SmallInt => Arc::new(array.unary::<_, Int16Type>(|v| whole(v) as i16)),
        TypeKind::Int => Arc::new(array.unary::<_, Int32Type>(|v| whole(v) as i32)),
        TypeKind::BigInt => Arc::new(array.unary::<_, Int64Type>(whole)),
        TypeKind::Float => Arc::new(array.unary::<_, Float32Type>(|v| double(v, scale) as f32)),
        TypeKind::Double => Arc::new(array.unary::<_, Float64Type>(|v| double(v, scale))),
        other => return Err(Error::bug(format!("{other} is no number"))),
    })
}

/// The DOUBLE nearest to a decimal: one exact division where both numbers are exact, else by its digits.
fn double(unscaled: i128, scale: u8) -> f64 {
    const EXACT: u128 = 1 << 53;
    if unscaled.unsigned_abs() <= EXACT && scale <= 22 {
        return unscaled as f64 / pow10(scale) as f64;
    }
    format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN)
}
