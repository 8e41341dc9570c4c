//! Moments moved, subtracted and compared: TIMESTAMPADD, TIMESTAMPDIFF, OVERLAPS.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array};
use arrow::datatypes::{Date32Type, Int64Type, Time32MillisecondType};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, add_months, per_second};
use rheos_core::types::{TypeKind, timestamp_unit};

use crate::function::{Arg, Call, Signature, Value};
use crate::functions::kernel::{collect, numbers, result, rows_to_compute, texts};

use super::local::{Local, at, local, stored};
use super::round::typed;
use super::unit::{Unit, months_between};
use super::{LONG, accept, any_nullable, count, moment, unit_of};

fn unit_argument(call: &Call<'_>) -> Result<Unit> {
    let name = texts(call, 0)?.get(0).unwrap_or_default();
    Unit::parse(name).ok_or_else(|| Error::bug(format!("arithmetic in '{name}'")))
}

pub(super) fn resolve_add(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 3, 3)?;
    let unit = unit_of(args, 0)?;
    if unit.length_ms().is_none() && unit.length_months().is_none() {
        return Err(format!("{unit:?} is not a unit that is added; YEAR, MONTH, DAY, HOUR and SECOND are"));
    }
    let (number, ty) = (accept(1, &args[1], &LONG)?, moment(args, 2, false)?);
    let kind = match &ty.kind {
        // A date with hours is a timestamp.
        TypeKind::Date if unit == Unit::Millisecond => TypeKind::Timestamp(3),
        TypeKind::Date if unit.is_of_day() => TypeKind::Timestamp(0),
        TypeKind::Time(_) if !unit.is_of_day() => return Err(format!("{unit:?} is not added to a TIME")),
        kind => kind.clone(),
    };
    let nullable = any_nullable(&[number.clone(), ty.clone()]);
    Ok(Signature { args: vec![args[0].ty().clone(), number, ty], result: kind.with_nullable(nullable) })
}

pub(super) fn add(call: &Call<'_>) -> Result<Value> {
    let (unit, number) = (unit_argument(call)?, numbers::<Int64Type>(call, 1)?);
    let rows = rows_to_compute(call);
    let months = unit.length_months();
    let length_ms = unit.length_ms().unwrap_or(0);
    // A sum that does not fit is NULL rather than a wrong moment.
    let array: ArrayRef = match (stored(call, 2)?, &call.result.kind) {
        (Local::Days(days), TypeKind::Date) => {
            let days: Int64Array = days.unary(i64::from);
            let sums: Int32Array = (0..rows)
                .map(|row| {
                    let (days, number) = (at(&days, row)? as i32, number.get(row)?);
                    match months {
                        Some(months) => add_months(days, number.checked_mul(months)?),
                        None => i32::try_from(number.checked_mul(length_ms / MS_PER_DAY)?.checked_add(days.into())?).ok(),
                    }
                })
                .collect();
            Arc::new(sums.reinterpret_cast::<Date32Type>())
        }
        (Local::Time(ms), _) => {
            let ms: Int64Array = ms.unary(i64::from);
            let sums = (0..rows).map(|row| {
                let sum = number.get(row)?.checked_mul(length_ms)?.checked_add(at(&ms, row)?)?;
                Some(sum.rem_euclid(MS_PER_DAY) as i32)
            });
            Arc::new(sums.collect::<Int32Array>().reinterpret_cast::<Time32MillisecondType>())
        }
        (Local::Days(days), _) => {
            let midnights: Int64Array = days.unary(|d| i64::from(d) * MS_PER_DAY);
            let sums = (0..rows).map(|row| number.get(row)?.checked_mul(length_ms)?.checked_add(at(&midnights, row)?));
            typed(sums.collect(), timestamp_unit(3), call)
        }
        (Local::Stamp(values, values_unit), _) => {
            let per_ms = per_second(values_unit) / 1000;
            let per_day = MS_PER_DAY * per_ms;
            let sums = (0..rows).map(|row| {
                let (value, number) = (at(&values, row)?, number.get(row)?);
                let Some(months) = months else {
                    return number.checked_mul(length_ms)?.checked_mul(per_ms)?.checked_add(value);
                };
                let days = add_months(i32::try_from(value.div_euclid(per_day)).ok()?, number.checked_mul(months)?)?;
                i64::from(days).checked_mul(per_day)?.checked_add(value.rem_euclid(per_day))
            });
            typed(sums.collect(), values_unit, call)
        }
        _ => return Err(Error::bug("TIMESTAMPADD to an interval")),
    };
    Ok(result(call, array))
}

pub(super) fn resolve_diff(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 3, 3)?;
    let unit = unit_of(args, 0)?;
    if unit.length_ms().is_none() && unit.length_months().is_none() && unit != Unit::Microsecond {
        return Err(format!("{unit:?} is not a unit of differences; YEAR, MONTH, DAY, HOUR and SECOND are"));
    }
    let (from, to) = (moment(args, 1, false)?, moment(args, 2, false)?);
    let time = |kind: &TypeKind| matches!(kind, TypeKind::Time(_));
    if time(&from.kind) != time(&to.kind) {
        return Err(format!("the difference of {} and {} is not defined", from.kind, to.kind));
    }
    let nullable = from.nullable || to.nullable;
    let kind = if unit == Unit::Microsecond { TypeKind::BigInt } else { TypeKind::Int };
    Ok(Signature { args: vec![args[0].ty().clone(), from, to], result: kind.with_nullable(nullable) })
}

pub(super) fn diff(call: &Call<'_>) -> Result<Value> {
    let unit = unit_argument(call)?;
    // Instants differ by what passed between them, whatever the clock showed; calendars need the clock.
    let instants = unit.length_months().is_none() && [1, 2].iter().all(|i| matches!(call.arg_types[*i].kind, TypeKind::TimestampLtz(_)));
    let read = if instants { stored } else { local };
    let (from, to) = (read(call, 1)?.into_ms()?, read(call, 2)?.into_ms()?);
    if let Some(months) = unit.length_months() {
        let split = |ms: i64| (ms.div_euclid(MS_PER_DAY) as i32, ms.rem_euclid(MS_PER_DAY));
        return collect::<Int32Array, _>(call, |row| Some((months_between(split(at(&from, row)?), split(at(&to, row)?)) / months) as i32));
    }
    if unit == Unit::Microsecond {
        return collect::<Int64Array, _>(call, |row| Some(at(&to, row)?.wrapping_sub(at(&from, row)?).wrapping_mul(1000)));
    }
    let length = unit.length_ms().unwrap_or(1);
    collect::<Int32Array, _>(call, |row| Some((at(&to, row)?.wrapping_sub(at(&from, row)?) / length) as i32))
}

pub(super) fn resolve_overlaps(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 4, 4)?;
    let types = (0..4).map(|i| moment(args, i, i % 2 == 1)).collect::<Result<Vec<_>, _>>()?;
    let result = TypeKind::Boolean.with_nullable(any_nullable(&types));
    Ok(Signature { args: types, result })
}

/// Two periods, each a start and an end or a length, in either order; both ends belong to them.
pub(super) fn overlaps(call: &Call<'_>) -> Result<Value> {
    let starts = [local(call, 0)?.into_ms()?, local(call, 2)?.into_ms()?];
    let ends = [End::of(local(call, 1)?)?, End::of(local(call, 3)?)?];
    let period = |i: usize, row: usize| {
        let start = at(&starts[i], row)?;
        let end = ends[i].after(start, row)?;
        Some((start.min(end), start.max(end)))
    };
    collect::<BooleanArray, _>(call, |row| {
        let ((start, end), (other_start, other_end)) = (period(0, row)?, period(1, row)?);
        Some(start <= other_end && other_start <= end)
    })
}

/// The end of a period as it is given.
enum End {
    At(Int64Array),
    Millis(Int64Array),
    Months(Int64Array),
}

impl End {
    fn of(value: Local) -> Result<End> {
        Ok(match value {
            Local::Months(months) => End::Months(months.unary(i64::from)),
            Local::Millis(ms) => End::Millis(ms),
            moment => End::At(moment.into_ms()?),
        })
    }

    fn after(&self, start: i64, row: usize) -> Option<i64> {
        match self {
            End::At(ms) => at(ms, row),
            End::Millis(ms) => start.checked_add(at(ms, row)?),
            End::Months(months) => {
                let days = add_months(start.div_euclid(MS_PER_DAY) as i32, at(months, row)?)?;
                Some(i64::from(days) * MS_PER_DAY + start.rem_euclid(MS_PER_DAY))
            }
        }
    }
}
