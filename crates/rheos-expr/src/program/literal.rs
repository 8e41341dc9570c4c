//! Constants as arrays of one value, and back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMillisecondArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalYearMonthArray, StringArray, Time32MillisecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, new_null_array,
};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};

use crate::expr::Literal;

/// An array of exactly the type's Arrow type that holds the constant.
pub(crate) fn array_of(literal: &Literal, ty: &LogicalType) -> Result<ArrayRef> {
    use TypeKind as K;
    let arrow = ty.to_arrow();
    let wrong = || Error::bug(format!("a constant of {ty} is stored as {literal:?}"));
    Ok(match (literal, &ty.kind) {
        (Literal::Null, _) => new_null_array(&arrow, 1),
        (Literal::Bool(v), K::Boolean) => Arc::new(BooleanArray::from(vec![*v])),
        (Literal::Int(v), K::TinyInt) => Arc::new(Int8Array::from(vec![narrow::<i8>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::SmallInt) => Arc::new(Int16Array::from(vec![narrow::<i16>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::Int) => Arc::new(Int32Array::from(vec![narrow::<i32>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::BigInt) => Arc::new(Int64Array::from(vec![*v])),
        (Literal::Int(v), K::Date) => Arc::new(Date32Array::from(vec![narrow::<i32>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::Time(_)) => Arc::new(Time32MillisecondArray::from(vec![narrow::<i32>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::IntervalYearMonth) => Arc::new(IntervalYearMonthArray::from(vec![narrow::<i32>(*v).ok_or_else(wrong)?])),
        (Literal::Int(v), K::IntervalDayTime) => Arc::new(DurationMillisecondArray::from(vec![*v])),
        (Literal::Int(v), K::Timestamp(p) | K::TimestampLtz(p)) => match timestamp_unit(*p) {
            TimeUnit::Second | TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::from(vec![*v]).with_data_type(arrow)),
            TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::from(vec![*v]).with_data_type(arrow)),
            TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::from(vec![*v]).with_data_type(arrow)),
        },
        (Literal::Float(bits), K::Float) => Arc::new(Float32Array::from(vec![f64::from_bits(*bits) as f32])),
        (Literal::Float(bits), K::Double) => Arc::new(Float64Array::from(vec![f64::from_bits(*bits)])),
        (Literal::Decimal(digits), K::Decimal(..)) => {
            let unscaled: i128 = digits.parse().map_err(|_| wrong())?;
            Arc::new(Decimal128Array::from(vec![unscaled]).with_data_type(arrow))
        }
        (Literal::Text(text), K::Char(_) | K::Varchar(_)) => Arc::new(StringArray::from(vec![text.as_str()])),
        (Literal::Bytes(bytes), K::Binary(_) | K::Varbinary(_)) => Arc::new(BinaryArray::from(vec![bytes.as_slice()])),
        _ => return Err(wrong()),
    })
}

fn narrow<T: TryFrom<i64>>(value: i64) -> Option<T> {
    T::try_from(value).ok()
}

/// The constant in a row of an array of that kind; `None` for kinds that constants do not have.
pub(crate) fn literal_of(array: &dyn Array, row: usize, kind: &TypeKind) -> Option<Literal> {
    use TypeKind as K;
    if array.is_null(row) || *kind == K::Null {
        return Some(Literal::Null);
    }
    Some(match kind {
        K::Boolean => Literal::Bool(array.as_boolean_opt()?.value(row)),
        K::TinyInt => Literal::Int(i64::from(value::<Int8Type>(array, row)?)),
        K::SmallInt => Literal::Int(i64::from(value::<Int16Type>(array, row)?)),
        K::Int => Literal::Int(i64::from(value::<Int32Type>(array, row)?)),
        K::BigInt => Literal::Int(value::<Int64Type>(array, row)?),
        K::Float => Literal::Float(f64::from(value::<Float32Type>(array, row)?).to_bits()),
        K::Double => Literal::Float(value::<Float64Type>(array, row)?.to_bits()),
        K::Decimal(..) => Literal::Decimal(value::<Decimal128Type>(array, row)?.to_string()),
        K::Char(_) | K::Varchar(_) => Literal::Text(array.as_string_opt::<i32>()?.value(row).to_string()),
        K::Binary(_) | K::Varbinary(_) => Literal::Bytes(array.as_binary_opt::<i32>()?.value(row).to_vec()),
        K::Date => Literal::Int(i64::from(value::<Date32Type>(array, row)?)),
        K::Time(_) => Literal::Int(i64::from(value::<Time32MillisecondType>(array, row)?)),
        K::Timestamp(p) | K::TimestampLtz(p) => Literal::Int(match timestamp_unit(*p) {
            TimeUnit::Second | TimeUnit::Millisecond => value::<TimestampMillisecondType>(array, row)?,
            TimeUnit::Microsecond => value::<TimestampMicrosecondType>(array, row)?,
            TimeUnit::Nanosecond => value::<TimestampNanosecondType>(array, row)?,
        }),
        K::IntervalYearMonth => Literal::Int(i64::from(value::<IntervalYearMonthType>(array, row)?)),
        K::IntervalDayTime => Literal::Int(value::<DurationMillisecondType>(array, row)?),
        K::Null | K::Array(_) | K::Multiset(_) | K::Map(..) | K::Row(_) => return None,
    })
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    Some(array.as_primitive_opt::<T>()?.value(row))
}
