//! A column's values by their SQL type, bound once for a batch, so that writers of rows look at each value without a cast.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMillisecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};
use rheos_core::{Error, Result};

/// The values of a column, and which of them are NULL.
pub(crate) struct View<'a> {
    nulls: Option<&'a NullBuffer>,
    pub(crate) cells: Cells<'a>,
}

/// The values, by type.
pub(crate) enum Cells<'a> {
    Null,
    Boolean(&'a BooleanArray),
    TinyInt(&'a [i8]),
    SmallInt(&'a [i16]),
    Int(&'a [i32]),
    BigInt(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    /// The unscaled values and their scale.
    Decimal(&'a [i128], u8),
    Text(&'a arrow::array::StringArray),
    Bytes(&'a arrow::array::BinaryArray),
    Date(&'a [i32]),
    /// Milliseconds of the day.
    Time(&'a [i32]),
    Timestamp {
        values: &'a [i64],
        unit: TimeUnit,
        /// It is an instant, not a local time.
        instant: bool,
    },
    Array {
        offsets: &'a [i32],
        item: Box<View<'a>>,
    },
    Map {
        offsets: &'a [i32],
        key: Box<View<'a>>,
        value: Box<View<'a>>,
    },
    Row {
        names: Vec<&'a str>,
        fields: Vec<View<'a>>,
    },
}

impl<'a> View<'a> {
    /// The view of a column of type `ty`.
    pub(crate) fn new(ty: &'a LogicalType, array: &'a ArrayRef) -> Result<View<'a>> {
        let cells = match &ty.kind {
            TypeKind::Null => Cells::Null,
            TypeKind::Boolean => Cells::Boolean(array.as_boolean_opt().ok_or_else(|| mismatch(ty, array))?),
            TypeKind::TinyInt => Cells::TinyInt(values::<Int8Type>(ty, array)?),
            TypeKind::SmallInt => Cells::SmallInt(values::<Int16Type>(ty, array)?),
            TypeKind::Int => Cells::Int(values::<Int32Type>(ty, array)?),
            TypeKind::IntervalYearMonth => Cells::Int(values::<IntervalYearMonthType>(ty, array)?),
            TypeKind::BigInt => Cells::BigInt(values::<Int64Type>(ty, array)?),
            TypeKind::IntervalDayTime => Cells::BigInt(values::<DurationMillisecondType>(ty, array)?),
            TypeKind::Float => Cells::Float(values::<Float32Type>(ty, array)?),
            TypeKind::Double => Cells::Double(values::<Float64Type>(ty, array)?),
            TypeKind::Decimal(_, scale) => Cells::Decimal(values::<Decimal128Type>(ty, array)?, *scale),
            TypeKind::Char(_) | TypeKind::Varchar(_) => Cells::Text(array.as_string_opt().ok_or_else(|| mismatch(ty, array))?),
            TypeKind::Binary(_) | TypeKind::Varbinary(_) => Cells::Bytes(array.as_binary_opt().ok_or_else(|| mismatch(ty, array))?),
            TypeKind::Date => Cells::Date(values::<Date32Type>(ty, array)?),
            TypeKind::Time(_) => Cells::Time(values::<Time32MillisecondType>(ty, array)?),
            TypeKind::Timestamp(precision) => timestamps(ty, array, *precision, false)?,
            TypeKind::TimestampLtz(precision) => timestamps(ty, array, *precision, true)?,
            TypeKind::Array(item) => {
                let list = array.as_list_opt::<i32>().ok_or_else(|| mismatch(ty, array))?;
                Cells::Array { offsets: list.value_offsets(), item: Box::new(View::new(item, list.values())?) }
            }
            TypeKind::Map(key, value) => {
                let map = array.as_map_opt().ok_or_else(|| mismatch(ty, array))?;
                let (key, value) = (View::new(key, map.keys())?, View::new(value, map.values())?);
                Cells::Map { offsets: map.value_offsets(), key: Box::new(key), value: Box::new(value) }
            }
            TypeKind::Multiset(element) => {
                let map = array.as_map_opt().ok_or_else(|| mismatch(ty, array))?;
                let counts = Cells::Int(values::<Int32Type>(ty, map.values())?);
                let value = View { nulls: map.values().nulls(), cells: counts };
                Cells::Map { offsets: map.value_offsets(), key: Box::new(View::new(element, map.keys())?), value: Box::new(value) }
            }
            TypeKind::Row(fields) => {
                let row = array.as_struct_opt().ok_or_else(|| mismatch(ty, array))?;
                let names = fields.iter().map(|f| f.name.as_str()).collect();
                let fields = fields.iter().zip(row.columns()).map(|(f, c)| View::new(&f.ty, c)).collect::<Result<Vec<_>>>()?;
                Cells::Row { names, fields }
            }
        };
        Ok(View { nulls: array.nulls(), cells })
    }

    /// Whether the value of a row is NULL.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        matches!(self.cells, Cells::Null) || self.nulls.is_some_and(|n| n.is_null(row))
    }
}

fn values<'a, T: ArrowPrimitiveType>(ty: &LogicalType, array: &'a ArrayRef) -> Result<&'a [T::Native]> {
    Ok(array.as_primitive_opt::<T>().ok_or_else(|| mismatch(ty, array))?.values())
}

fn timestamps<'a>(ty: &LogicalType, array: &'a ArrayRef, precision: u8, instant: bool) -> Result<Cells<'a>> {
    let unit = timestamp_unit(precision);
    let values = match unit {
        TimeUnit::Microsecond => values::<TimestampMicrosecondType>(ty, array)?,
        TimeUnit::Nanosecond => values::<TimestampNanosecondType>(ty, array)?,
        _ => values::<TimestampMillisecondType>(ty, array)?,
    };
    Ok(Cells::Timestamp { values, unit, instant })
}

fn mismatch(ty: &LogicalType, array: &ArrayRef) -> Error {
    Error::bug(format!("a column of {ty} is carried by {}", Arc::clone(array).data_type()))
}
