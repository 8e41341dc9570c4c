//! Conversions between types: CAST and TRY_CAST, and the casts that calls insert.
//!
//! Integers wrap when they are narrowed, as in Java; what does not fit a DECIMAL is NULL; a text that is no value of the type
//! is an error, or NULL for TRY_CAST.

mod from_text;
mod nested;
mod number;
mod temporal;
#[cfg(test)]
mod tests;
mod to_text;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, new_null_array};
use arrow::datatypes::DataType;

use rheos_core::error::{Error, ErrorKind, Result};
use rheos_core::types::{LogicalType, MAX_LENGTH, TypeKind};

use crate::build::same_kind;
use crate::expr::EvalConfig;
use crate::functions::time::zone::Zone;

/// How a column of one type becomes one of another.
pub(crate) struct Conversion {
    /// Converts a column, or the single value of a constant.
    pub(crate) apply: Apply,
    /// Whether it cannot fail and costs next to nothing.
    pub(crate) cheap: bool,
}

/// Converts an array.
pub(crate) type Apply = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

impl Conversion {
    fn new(apply: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static) -> Conversion {
        Conversion { apply: Box::new(apply), cheap: false }
    }

    fn cheap(apply: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static) -> Conversion {
        Conversion { apply: Box::new(apply), cheap: true }
    }
}

/// Whether values of one kind can be converted to another; else why not.
pub(crate) fn check(from: &TypeKind, to: &TypeKind) -> Result<(), String> {
    use TypeKind as K;
    let possible = match (from, to) {
        (K::Null, _) => true,
        (_, K::Char(_) | K::Varchar(_)) => true,
        (K::Char(_) | K::Varchar(_), to) => !to.is_nested() && !to.is_interval() && *to != K::Null,
        (K::Boolean, to) => to.is_numeric() || *to == K::Boolean,
        (from, K::Boolean) => from.is_numeric(),
        (from, to) if from.is_numeric() && to.is_numeric() => true,
        (from, to) if from.is_binary() && to.is_binary() => true,
        (K::Date | K::Time(_), K::Timestamp(_) | K::TimestampLtz(_)) | (K::Time(_), K::Time(_)) => true,
        (from, to) if from.is_timestamp() && to.is_temporal() => true,
        (from, to) if from.is_interval() => to.is_exact_numeric() || from == to,
        (from, to) if to.is_interval() => from.is_exact_numeric(),
        (K::Array(from), K::Array(to)) | (K::Multiset(from), K::Multiset(to)) => return check(&from.kind, &to.kind),
        (K::Map(from_key, from_value), K::Map(to_key, to_value)) => {
            check(&from_key.kind, &to_key.kind)?;
            return check(&from_value.kind, &to_value.kind);
        }
        (K::Row(from), K::Row(to)) if from.len() == to.len() => {
            return from.iter().zip(to).try_for_each(|(from, to)| check(&from.ty.kind, &to.ty.kind));
        }
        (from, to) => same_kind(from, to),
    };
    if possible {
        return Ok(());
    }
    let instead = match (from, to) {
        (from, to) if from.is_timestamp() && to.is_numeric() => "; UNIX_TIMESTAMP and TIMESTAMPDIFF make numbers of timestamps",
        (from, to) if from.is_numeric() && to.is_timestamp() => "; TO_TIMESTAMP_LTZ makes timestamps of numbers",
        _ => "",
    };
    Err(format!("a value of {from} cannot be cast to {to}{instead}"))
}

/// The conversion from one type to another; `or_null` gives NULL for values that cannot be converted.
pub(crate) fn conversion(from: &LogicalType, to: &LogicalType, or_null: bool, config: &EvalConfig) -> Result<Conversion> {
    use TypeKind as K;
    let arrow = to.to_arrow();
    let zone = || session_zone(config);
    Ok(match (&from.kind, &to.kind) {
        (a, b) if same_kind(a, b) => Conversion::cheap(|array| Ok(Arc::clone(array))),
        (K::Null, _) => Conversion::cheap(move |array| Ok(new_null_array(&arrow, array.len()))),
        (_, K::Char(_) | K::Varchar(_)) => to_text::conversion(from, &to.kind, or_null, zone()?),
        (K::Char(_) | K::Varchar(_), kind) if kind.is_binary() => resize(kind.clone()),
        (K::Char(_) | K::Varchar(_), _) => from_text::conversion(&to.kind, or_null, zone()?)?,
        (_, kind) if kind.is_binary() => resize(kind.clone()),
        (a, b) if is_number_like(a) && is_number_like(b) => number::conversion(a, b, or_null)?,
        (a, b) if a.is_temporal() && b.is_temporal() => temporal::conversion(a, b, or_null, zone()?)?,
        _ if or_null => or_null_as_a_whole(nested::conversion(from, to, config)?, arrow),
        _ => nested::conversion(from, to, config)?,
    })
}

/// A value of which some part cannot be converted is NULL as a whole, as Flink's TRY_CAST gives it.
fn or_null_as_a_whole(strict: Conversion, to: DataType) -> Conversion {
    Conversion::new(move |array| {
        let convert = |rows: &ArrayRef| match (strict.apply)(rows) {
            Err(e) if e.kind() == ErrorKind::FixInput => Ok(None),
            converted => converted.map(Some),
        };
        if let Some(all) = convert(array)? {
            return Ok(all);
        }
        let rows = (0..array.len()).map(|row| Ok(convert(&array.slice(row, 1))?.unwrap_or_else(|| new_null_array(&to, 1))));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let rows: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
        Ok(arrow::compute::concat(&rows)?)
    })
}

fn session_zone(config: &EvalConfig) -> Result<Zone> {
    let wrong = || Error::config(format!("there is no time zone '{}'; 'UTC', 'Europe/Berlin' and '+02:00' are some", config.time_zone));
    Zone::parse(&config.time_zone).ok_or_else(wrong)
}

/// Whether a session can have that time zone.
pub fn is_time_zone(name: &str) -> bool {
    Zone::parse(name).is_some()
}

fn is_number_like(kind: &TypeKind) -> bool {
    kind.is_numeric() || kind.is_interval() || *kind == TypeKind::Boolean
}

/// The length of BINARY(n) and VARBINARY(n): longer values are cut, BINARY is filled with zeros.
fn resize(to: TypeKind) -> Conversion {
    let (length, fill) = match to {
        TypeKind::Binary(n) => (n as usize, true),
        TypeKind::Varbinary(n) => (n as usize, false),
        _ => (MAX_LENGTH as usize, false),
    };
    Conversion::new(move |array| {
        let array = arrow::compute::cast(array, &DataType::Binary)?;
        let bytes = array.as_binary::<i32>();
        if !fill && length == MAX_LENGTH as usize {
            return Ok(array);
        }
        let resize = |value: &[u8]| {
            let mut value = value.to_vec();
            if value.len() > length || fill {
                value.resize(length, 0);
            }
            value
        };
        let resized: BinaryArray = bytes.iter().map(|value| value.map(resize)).collect();
        Ok(Arc::new(resized))
    })
}

/// The array's `is_null` bits may only have grown where NULL is an allowed outcome: else the first lost value is an error.
fn refuse_new_nulls(before: &ArrayRef, after: &ArrayRef, or_null: bool, to: &TypeKind) -> Result<()> {
    if or_null || after.null_count() == before.null_count() {
        return Ok(());
    }
    let lost = (0..before.len()).find(|row| before.is_valid(*row) && after.is_null(*row)).unwrap_or(0);
    let ty = DataType::Utf8;
    let text =
        arrow::compute::cast(&before.slice(lost, 1), &ty).ok().and_then(|a| a.as_string_opt::<i32>().map(|a| a.value(0).to_string()));
    Err(Error::input(format!("{} is out of the range of {to}", text.unwrap_or_else(|| "a value".into()))))
}
