//! FLOOR and CEIL of a moment to a unit. The same names round numbers, see the family of mathematics.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, PrimitiveArray};
use arrow::datatypes::{
    Date32Type, Int32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, per_second};
use rheos_core::types::TypeKind;

use crate::function::{Arg, Call, Signature, Value};
use crate::functions::kernel::{result, texts};

use super::local::{Local, Offsets, session_zone, stored};
use super::unit::{Unit, floor_days, next_days};
use super::zone::Zone;
use super::{count, moment, unit_of};

/// `FLOOR(value, unit)`: the result has the value's type.
pub(crate) fn resolve(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let unit = unit_of(args, 1)?;
    let ty = moment(args, 0, false)?;
    let rounds = match &ty.kind {
        TypeKind::Time(_) => matches!(unit, Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond),
        _ => unit.length_ms().is_some() || unit.length_months().is_some(),
    };
    if !rounds {
        return Err(format!("a value of type {} is not rounded to {unit:?}; YEAR, MONTH, WEEK, DAY, HOUR and MINUTE are units", ty.kind));
    }
    Ok(Signature { args: vec![ty.clone(), args[1].ty().clone()], result: ty })
}

/// Rounds down.
pub(crate) fn floor(call: &Call<'_>) -> Result<Value> {
    round(call, false)
}

/// Rounds up.
pub(crate) fn ceil(call: &Call<'_>) -> Result<Value> {
    round(call, true)
}

fn round(call: &Call<'_>, up: bool) -> Result<Value> {
    let name = texts(call, 1)?.get(0).unwrap_or_default();
    let unit = Unit::parse(name).ok_or_else(|| Error::bug(format!("rounding to '{name}'")))?;
    let rounded: ArrayRef = match stored(call, 0)? {
        Local::Days(days) => {
            let rounded: Int32Array = days.unary(|d| round_days(unit, d, up));
            Arc::new(rounded.reinterpret_cast::<Date32Type>())
        }
        Local::Time(ms) => {
            let step = unit.length_ms().unwrap_or(1) as i32;
            let rounded: PrimitiveArray<Int32Type> = ms.unary(|v| round_step(v.into(), step.into(), up) as i32);
            Arc::new(rounded.reinterpret_cast::<Time32MillisecondType>())
        }
        Local::Stamp(values, values_unit) => {
            let zone = match call.arg_types[0].kind {
                TypeKind::TimestampLtz(_) => session_zone(call)?,
                _ => Zone::Fixed(0),
            };
            let rounded = round_stamps(&values, per_second(values_unit), unit, up, zone);
            typed(rounded, values_unit, call)
        }
        _ => return Err(Error::bug("an interval is not rounded to a unit")),
    };
    Ok(result(call, rounded))
}

/// Numbers as timestamps of the result's type.
pub(super) fn typed(values: Int64Array, unit: TimeUnit, call: &Call<'_>) -> ArrayRef {
    let ty = call.result.to_arrow();
    match unit {
        TimeUnit::Microsecond => Arc::new(values.reinterpret_cast::<TimestampMicrosecondType>().with_data_type(ty)),
        TimeUnit::Nanosecond => Arc::new(values.reinterpret_cast::<TimestampNanosecondType>().with_data_type(ty)),
        _ => Arc::new(values.reinterpret_cast::<TimestampMillisecondType>().with_data_type(ty)),
    }
}

fn round_stamps(values: &Int64Array, per_second: i64, unit: Unit, up: bool, zone: Zone) -> Int64Array {
    let per_ms = per_second / 1000;
    let per_day = MS_PER_DAY * per_ms;
    // Weeks do not begin with the epoch.
    let step = unit.length_ms().filter(|_| unit != Unit::Week).map(|ms| ms * per_ms);
    let round_local = |v: i64| match step {
        Some(step) => round_step(v, step, up),
        None => {
            // As Flink: the date alone is rounded, so that ten o'clock on the first of a month is rounded up to midnight of it.
            let days = v.div_euclid(per_day) as i32;
            i64::from(round_days(unit, days, up)) * per_day
        }
    };
    if zone == Zone::Fixed(0) {
        return values.unary::<_, Int64Type>(round_local);
    }
    let mut offsets = Offsets::new(zone);
    let rounded = values.values().iter().map(|v| {
        let offset = i64::from(offsets.at(v.div_euclid(per_ms))) * per_second;
        round_local(v.saturating_add(offset)).saturating_sub(offset)
    });
    Int64Array::new(rounded.collect(), values.nulls().cloned())
}

fn round_days(unit: Unit, days: i32, up: bool) -> i32 {
    let start = floor_days(unit, days);
    if up && start != days { next_days(unit, start) } else { start }
}

fn round_step(value: i64, step: i64, up: bool) -> i64 {
    let floor = value.div_euclid(step).saturating_mul(step);
    if up && floor != value { floor.saturating_add(step) } else { floor }
}
