//! Texts as values: blanks around them do not count.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, StringArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{per_second, truncate_to_precision};
use rheos_core::text::{parse_boolean, parse_date, parse_decimal, parse_double, parse_float, parse_integer, parse_time, parse_timestamp};
use rheos_core::types::{TypeKind, timestamp_unit};

use super::Conversion;
use crate::functions::time::zone::{Overlap, Zone};

pub(super) fn conversion(to: &TypeKind, or_null: bool, zone: Zone) -> Result<Conversion> {
    use TypeKind as K;
    let target = Target { kind: to.clone(), or_null };
    Ok(match to {
        K::Boolean => Conversion::new(move |array| {
            let array = texts(array)?;
            let parsed = array.iter().map(|text| target.check(text, |t| parse_boolean(t).map(Some)));
            Ok(Arc::new(parsed.collect::<Result<BooleanArray>>()?))
        }),
        K::TinyInt => target.numbers::<Int8Type>(|t| i8::try_from(parse_integer(t)?).ok()),
        K::SmallInt => target.numbers::<Int16Type>(|t| i16::try_from(parse_integer(t)?).ok()),
        K::Int => target.numbers::<Int32Type>(|t| i32::try_from(parse_integer(t)?).ok()),
        K::BigInt => target.numbers::<Int64Type>(parse_integer),
        K::Float => target.numbers::<Float32Type>(parse_float),
        K::Double => target.numbers::<Float64Type>(parse_double),
        K::Decimal(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            // A number that is too large is NULL, what is no number is an error.
            target.values::<Decimal128Type>(move |t| match parse_decimal(t, precision, scale) {
                Some(value) => Some(Some(value)),
                None => parse_double(t).filter(|v| v.is_finite() || t.bytes().any(|b| b.is_ascii_digit())).map(|_| None),
            })
        }
        K::Date => target.numbers::<Date32Type>(parse_date),
        K::Time(precision) => {
            let precision = *precision;
            target.numbers::<Time32MillisecondType>(move |t| {
                Some(truncate_to_precision(i64::from(parse_time(t)?), TimeUnit::Millisecond, precision) as i32)
            })
        }
        K::Timestamp(precision) => timestamps(target, *precision, None),
        K::TimestampLtz(precision) => timestamps(target, *precision, Some(zone)),
        other => return Err(Error::bug(format!("no texts are read as {other}"))),
    })
}

fn timestamps(target: Target, precision: u8, zone: Option<Zone>) -> Conversion {
    let unit = timestamp_unit(precision);
    let parse = move |text: &str| {
        let local = truncate_to_precision(parse_timestamp(text, unit)?, unit, precision);
        let offset_s = zone.map_or(0, |zone| zone.offset_of_local(local.div_euclid(per_second(unit) / 1000), Overlap::Earlier));
        local.checked_sub(i64::from(offset_s) * per_second(unit))
    };
    match unit {
        TimeUnit::Second | TimeUnit::Millisecond => target.numbers::<TimestampMillisecondType>(parse),
        TimeUnit::Microsecond => target.numbers::<TimestampMicrosecondType>(parse),
        TimeUnit::Nanosecond => target.numbers::<TimestampNanosecondType>(parse),
    }
}

fn texts(array: &ArrayRef) -> Result<&StringArray> {
    array.as_string_opt().ok_or_else(|| Error::bug(format!("a text expected, got {}", array.data_type())))
}

/// What texts are read as.
#[derive(Clone)]
struct Target {
    kind: TypeKind,
    or_null: bool,
}

impl Target {
    /// The outer `None` of `parse` is what is no value, the inner one is NULL.
    fn check<T>(&self, text: Option<&str>, parse: impl Fn(&str) -> Option<Option<T>>) -> Result<Option<T>> {
        let Some(text) = text else { return Ok(None) };
        match parse(text.trim_matches(|c: char| c <= ' ')) {
            Some(value) => Ok(value),
            None if self.or_null => Ok(None),
            None => Err(Error::input(format!("'{text}' cannot be cast to {}; TRY_CAST gives NULL instead", self.kind))),
        }
    }

    fn numbers<T: ArrowPrimitiveType>(self, parse: impl Fn(&str) -> Option<T::Native> + Send + Sync + 'static) -> Conversion {
        self.values::<T>(move |text| parse(text).map(Some))
    }

    fn values<T: ArrowPrimitiveType>(self, parse: impl Fn(&str) -> Option<Option<T::Native>> + Send + Sync + 'static) -> Conversion {
        Conversion::new(move |array| {
            let array = texts(array)?;
            let parsed = array.iter().map(|text| self.check(text, &parse)).collect::<Result<PrimitiveArray<T>>>()?;
            Ok(Arc::new(parsed.with_data_type(self.kind.to_arrow())))
        })
    }
}
