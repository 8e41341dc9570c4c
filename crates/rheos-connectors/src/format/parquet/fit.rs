//! Makes the columns of a file fit the types that the table declares, where no value can change by it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, ListArray, MapArray, PrimitiveArray, StructArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use rheos_core::text::calendar::{convert_unit, truncate_to_precision};
use rheos_core::types::{LogicalType, TypeKind, timestamp_unit};

/// Why a column of a file is none of the declared type.
#[derive(Debug)]
pub(super) enum Misfit {
    /// Its type is another one, at a place within the column.
    Type { within: Vec<String>, found: DataType, wanted: LogicalType },
    /// A value has no place in the declared type.
    Value(String),
}

impl Misfit {
    fn within(self, name: &str) -> Misfit {
        match self {
            Misfit::Type { mut within, found, wanted } => {
                within.insert(0, name.to_string());
                Misfit::Type { within, found, wanted }
            }
            value => value,
        }
    }

    /// The whole message about a column.
    pub(super) fn message(&self, column: &str) -> String {
        match self {
            Misfit::Type { within, found, wanted } => {
                let path = [column].into_iter().chain(within.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
                format!("column '{path}' is {found} there, which cannot be read as {}", wanted.kind)
            }
            Misfit::Value(problem) => format!("column '{column}': {problem}"),
        }
    }
}

impl From<arrow::error::ArrowError> for Misfit {
    fn from(e: arrow::error::ArrowError) -> Self {
        Misfit::Value(e.to_string())
    }
}

/// The values as the declared type. Numbers may become wider, timestamps coarser; fields of a row are found by name, and those that
/// the file lacks are NULL.
pub(super) fn fit(array: &ArrayRef, to: &LogicalType) -> Result<ArrayRef, Misfit> {
    let target = to.kind.to_arrow();
    match (array.data_type(), &to.kind) {
        (from, _) if *from == target && !to.kind.is_timestamp() => Ok(Arc::clone(array)),
        (DataType::Null, _) => Ok(new_null_array(&target, array.len())),
        (DataType::Struct(_), TypeKind::Row(fields)) => {
            let DataType::Struct(types) = target else { return Err(misfit(array, to)) };
            let row = array.as_struct();
            let of = |field: &rheos_core::schema::Field| match row.column_by_name(&field.name) {
                Some(column) => fit(column, &field.ty).map_err(|e| e.within(&field.name)),
                None => Ok(new_null_array(&field.ty.kind.to_arrow(), row.len())),
            };
            let columns = fields.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(types, columns, row.nulls().cloned())?))
        }
        (DataType::List(_), TypeKind::Array(element)) => {
            let DataType::List(field) = target else { return Err(misfit(array, to)) };
            let list = array.as_list::<i32>();
            let values = fit(list.values(), element).map_err(|e| e.within("element"))?;
            Ok(Arc::new(ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned())?))
        }
        (DataType::Map(..), TypeKind::Map(key, value)) => fit_map(array, to, key, value),
        (DataType::Map(..), TypeKind::Multiset(element)) => fit_map(array, to, element, &TypeKind::Int.not_null()),
        (DataType::Timestamp(unit, _), TypeKind::Timestamp(precision) | TypeKind::TimestampLtz(precision)) => {
            let zone = matches!(to.kind, TypeKind::TimestampLtz(_)).then(|| Arc::from("UTC"));
            let values = match unit {
                TimeUnit::Second => as_i64::<TimestampSecondType>(array),
                TimeUnit::Millisecond => as_i64::<TimestampMillisecondType>(array),
                TimeUnit::Microsecond => as_i64::<TimestampMicrosecondType>(array),
                TimeUnit::Nanosecond => as_i64::<TimestampNanosecondType>(array),
            };
            timestamps(&values, *unit, *precision, zone)
        }
        (from, kind) if converts(from, kind) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            Ok(cast_with_options(array, &target, &options)?)
        }
        _ => Err(misfit(array, to)),
    }
}

fn misfit(array: &ArrayRef, to: &LogicalType) -> Misfit {
    Misfit::Type { within: Vec::new(), found: array.data_type().clone(), wanted: to.clone() }
}

fn fit_map(array: &ArrayRef, to: &LogicalType, key: &LogicalType, value: &LogicalType) -> Result<ArrayRef, Misfit> {
    let DataType::Map(field, sorted) = to.kind.to_arrow() else { return Err(misfit(array, to)) };
    let DataType::Struct(types) = field.data_type().clone() else { return Err(misfit(array, to)) };
    let map = array.as_map();
    let keys = fit(map.keys(), key).map_err(|e| e.within("key"))?;
    let values = fit(map.values(), value).map_err(|e| e.within("value"))?;
    let entries = StructArray::try_new(types, vec![keys, values], None)?;
    Ok(Arc::new(MapArray::try_new(field, map.offsets().clone(), entries, map.nulls().cloned(), sorted)?))
}

fn as_i64<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> PrimitiveArray<arrow::datatypes::Int64Type> {
    let values = array.as_primitive::<T>();
    PrimitiveArray::new(values.values().clone(), values.nulls().cloned())
}

/// Timestamps of a unit with so many digits; what the file says of their zone is not looked at.
fn timestamps(
    values: &PrimitiveArray<arrow::datatypes::Int64Type>,
    from: TimeUnit,
    precision: u8,
    zone: Option<Arc<str>>,
) -> Result<ArrayRef, Misfit> {
    let to = timestamp_unit(precision);
    let convert = |value: i64| {
        let converted = convert_unit(value, from, to).map(|value| truncate_to_precision(value, to, precision));
        converted.ok_or_else(|| Misfit::Value(format!("the timestamp {value} in units of {from:?} has no place in TIMESTAMP({precision})")))
    };
    Ok(match to {
        TimeUnit::Microsecond => Arc::new(values.try_unary::<_, TimestampMicrosecondType, _>(convert)?.with_timezone_opt(zone)),
        TimeUnit::Nanosecond => Arc::new(values.try_unary::<_, TimestampNanosecondType, _>(convert)?.with_timezone_opt(zone)),
        _ => Arc::new(values.try_unary::<_, TimestampMillisecondType, _>(convert)?.with_timezone_opt(zone)),
    })
}

/// Whether every value of a type of Arrow has its place in a scalar type.
fn converts(from: &DataType, to: &TypeKind) -> bool {
    use DataType as D;
    match (from, to) {
        (D::Decimal128(p, s) | D::Decimal256(p, s), TypeKind::Decimal(precision, scale)) => {
            let (digits, fraction) = (i16::from(*p) - i16::from(*s), i16::from(*s));
            fraction <= i16::from(*scale) && digits <= i16::from(*precision) - i16::from(*scale)
        }
        (_, TypeKind::Decimal(precision, scale)) => decimal_digits(from).is_some_and(|digits| digits + scale <= *precision),
        (_, TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt) => {
            let bits = |t: &D| t.primitive_width().map_or(0, |bytes| 8 * bytes);
            let needed = bits(from) + usize::from(from.is_unsigned_integer());
            from.is_integer() && needed <= bits(&to.to_arrow())
        }
        (D::Float16 | D::Float32, TypeKind::Float) | (D::Float16 | D::Float32 | D::Float64, TypeKind::Double) => true,
        // Old writers say of no text that it is one: what is no UTF-8 is an error of the value.
        (D::Utf8 | D::Binary, TypeKind::Char(_) | TypeKind::Varchar(_)) => true,
        (D::Utf8 | D::Binary | D::FixedSizeBinary(_), TypeKind::Binary(_) | TypeKind::Varbinary(_)) => true,
        (D::Time32(_) | D::Time64(_), TypeKind::Time(_)) => true,
        _ => false,
    }
}

/// How many digits the integers of a type have.
fn decimal_digits(ty: &DataType) -> Option<u8> {
    Some(match ty {
        DataType::Int8 | DataType::UInt8 => 3,
        DataType::Int16 | DataType::UInt16 => 5,
        DataType::Int32 | DataType::UInt32 => 10,
        DataType::Int64 => 19,
        DataType::UInt64 => 20,
        _ => return None,
    })
}
