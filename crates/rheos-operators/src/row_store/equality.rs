//! Whether two values of one type are the same: NULL is NULL, floats by their bits.

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

/// Whether value `i` of `a` is the same as value `j` of `b`; both arrays are of one type.
pub(super) fn same(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> bool {
    if a.is_null(i) || b.is_null(j) {
        return a.is_null(i) && b.is_null(j);
    }
    match a.data_type() {
        DataType::Null => true,
        DataType::Boolean => a.as_boolean().value(i) == b.as_boolean().value(j),
        DataType::Int8 => number::<Int8Type>(a, i, b, j),
        DataType::Int16 => number::<Int16Type>(a, i, b, j),
        DataType::Int32 => number::<Int32Type>(a, i, b, j),
        DataType::Int64 => number::<Int64Type>(a, i, b, j),
        DataType::Date32 => number::<Date32Type>(a, i, b, j),
        DataType::Time32(_) => number::<Time32MillisecondType>(a, i, b, j),
        DataType::Timestamp(TimeUnit::Millisecond, _) => number::<TimestampMillisecondType>(a, i, b, j),
        DataType::Timestamp(TimeUnit::Microsecond, _) => number::<TimestampMicrosecondType>(a, i, b, j),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number::<TimestampNanosecondType>(a, i, b, j),
        DataType::Interval(_) => number::<IntervalYearMonthType>(a, i, b, j),
        DataType::Duration(_) => number::<DurationMillisecondType>(a, i, b, j),
        DataType::Decimal128(..) => number::<Decimal128Type>(a, i, b, j),
        DataType::Float32 => a.as_primitive::<Float32Type>().value(i).to_bits() == b.as_primitive::<Float32Type>().value(j).to_bits(),
        DataType::Float64 => a.as_primitive::<Float64Type>().value(i).to_bits() == b.as_primitive::<Float64Type>().value(j).to_bits(),
        DataType::Utf8 => a.as_string::<i32>().value(i) == b.as_string::<i32>().value(j),
        DataType::Binary => a.as_binary::<i32>().value(i) == b.as_binary::<i32>().value(j),
        DataType::Struct(_) => {
            let (a, b) = (a.as_struct(), b.as_struct());
            a.columns().iter().zip(b.columns()).all(|(a, b)| same(a.as_ref(), i, b.as_ref(), j))
        }
        DataType::List(_) => items(a.as_list::<i32>().value(i).as_ref(), b.as_list::<i32>().value(j).as_ref()),
        DataType::Map(..) => items(&a.as_map().value(i), &b.as_map().value(j)),
        // No other type carries a SQL value.
        _ => a.slice(i, 1).to_data() == b.slice(j, 1).to_data(),
    }
}

fn number<T: ArrowPrimitiveType>(a: &dyn Array, i: usize, b: &dyn Array, j: usize) -> bool {
    a.as_primitive::<T>().value(i) == b.as_primitive::<T>().value(j)
}

fn items(a: &dyn Array, b: &dyn Array) -> bool {
    a.len() == b.len() && (0..a.len()).all(|k| same(a, k, b, k))
}
