//! Parts of a moment: EXTRACT, YEAR, HOUR and the like.

use std::sync::Arc;

use arrow::array::Int64Array;

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, per_second};
use rheos_core::types::TypeKind;

use crate::function::{Arg, Call, Signature, Value};
use crate::functions::kernel::{result, texts};

use super::local::{Local, local};
use super::unit::{Unit, extract_from_days};
use super::{count, moment, unit_of};

pub(super) fn resolve(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let unit = unit_of(args, 0)?;
    let ty = moment(args, 1, true)?;
    let fits = match &ty.kind {
        TypeKind::IntervalYearMonth => unit.length_months().is_some(),
        TypeKind::IntervalDayTime => unit.is_of_day() || matches!(unit, Unit::Day | Unit::Epoch),
        TypeKind::Time(_) => unit.is_of_day() || unit == Unit::Epoch,
        TypeKind::Date => !matches!(unit, Unit::Nanosecond | Unit::Microsecond | Unit::Millisecond),
        _ => true,
    };
    if !fits {
        return Err(format!("a value of type {} has no such part as {unit:?}", ty.kind));
    }
    let result = TypeKind::BigInt.with_nullable(ty.nullable);
    Ok(Signature { args: vec![args[0].ty().clone(), ty], result })
}

pub(super) fn resolve_part(unit: Unit, args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, 1)?;
    let ty = moment(args, 0, false)?;
    if matches!(ty.kind, TypeKind::Time(_)) && !unit.is_of_day() {
        return Err(format!("argument 1 must be a DATE or TIMESTAMP, got {}", ty.kind));
    }
    let result = TypeKind::BigInt.with_nullable(ty.nullable);
    Ok(Signature { args: vec![ty], result })
}

pub(super) fn extract(call: &Call<'_>) -> Result<Value> {
    let name = texts(call, 0)?.get(0).unwrap_or_default();
    let unit = Unit::parse(name).ok_or_else(|| Error::bug(format!("EXTRACT of '{name}'")))?;
    part(unit, call, 1)
}

/// The part of argument `index`.
pub(super) fn part(unit: Unit, call: &Call<'_>, index: usize) -> Result<Value> {
    let value = local(call, index)?;
    let parts: Int64Array = match value {
        Local::Days(days) if unit.is_of_day() => days.unary(|_| 0),
        Local::Days(days) => days.unary(|d| extract_from_days(unit, d)),
        Local::Stamp(values, unit_of_values) if matches!(unit, Unit::Microsecond | Unit::Nanosecond) => {
            let per_second = per_second(unit_of_values);
            let wanted = if unit == Unit::Microsecond { 1_000_000 } else { 1_000_000_000 };
            // What is finer than wanted is cut off.
            values.unary(|v| (i128::from(v.rem_euclid(per_second)) * wanted / i128::from(per_second)) as i64)
        }
        Local::Months(months) => {
            let length = unit.length_months().unwrap_or(1);
            months.unary(|m| {
                let m = i64::from(m);
                // The months and quarters of an interval are those beyond its years.
                if length < 12 { m % 12 / length } else { m / length }
            })
        }
        Local::Millis(ms) => ms.unary(|v| of_interval(unit, v)),
        other => of_ms(unit, &other.into_ms()?),
    };
    Ok(result(call, Arc::new(parts)))
}

/// Divisors are constants here, so that the compiler makes multiplications of them.
fn of_ms(unit: Unit, ms: &Int64Array) -> Int64Array {
    match unit {
        Unit::Hour => ms.unary(|v| v.div_euclid(3_600_000).rem_euclid(24)),
        Unit::Minute => ms.unary(|v| v.div_euclid(60_000).rem_euclid(60)),
        Unit::Second => ms.unary(|v| v.div_euclid(1000).rem_euclid(60)),
        Unit::Millisecond => ms.unary(|v| v.rem_euclid(1000)),
        Unit::Microsecond => ms.unary(|v| v.rem_euclid(1000) * 1000),
        Unit::Nanosecond => ms.unary(|v| v.rem_euclid(1000) * 1_000_000),
        Unit::Epoch => ms.unary(|v| v.div_euclid(1000)),
        unit => ms.unary(|v| extract_from_days(unit, v.div_euclid(MS_PER_DAY) as i32)),
    }
}

/// The parts of an interval have its sign.
fn of_interval(unit: Unit, ms: i64) -> i64 {
    match unit {
        Unit::Day => ms / MS_PER_DAY,
        Unit::Hour => ms / 3_600_000 % 24,
        Unit::Minute => ms / 60_000 % 60,
        Unit::Second => ms / 1000 % 60,
        Unit::Millisecond => ms % 1000,
        Unit::Microsecond => ms % 1000 * 1000,
        Unit::Nanosecond => ms % 1000 * 1_000_000,
        _ => ms / 1000,
    }
}
