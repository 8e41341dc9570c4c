//! Dates, times and timestamps plus and minus intervals, and intervals among themselves.

use arrow::array::ArrowPrimitiveType;
use arrow::datatypes::{
    DataType, Date32Type, DurationMillisecondType, Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, add_months, per_second};
use rheos_core::types::{LogicalType, TypeKind};

use super::Operator;
use crate::function::{Call, Signature, Value};
use crate::functions::kernel::{collect_numbers, combine_numbers, numbers};

/// The types of a call with at least one argument that is no number; `None` if there is no such operator.
pub(super) fn resolve(operator: Operator, a: &LogicalType, b: &LogicalType) -> Option<Signature> {
    let count = TypeKind::BigInt;
    let (args, kind) = match (operator, &a.kind, &b.kind) {
        (Operator::Add | Operator::Subtract, t, i) if t.is_temporal() && i.is_interval() => (vec![a.clone(), b.clone()], t.clone()),
        (Operator::Add, i, t) if t.is_temporal() && i.is_interval() => (vec![a.clone(), b.clone()], t.clone()),
        (Operator::Add | Operator::Subtract, i, j) if i.is_interval() && i == j => (vec![a.clone(), b.clone()], i.clone()),
        (Operator::Multiply | Operator::Divide, i, n) if i.is_interval() && n.is_integer() => {
            (vec![a.clone(), count.with_nullable(b.nullable)], i.clone())
        }
        (Operator::Multiply, n, i) if i.is_interval() && n.is_integer() => (vec![count.with_nullable(a.nullable), b.clone()], i.clone()),
        _ => return None,
    };
    Some(Signature { args, result: kind.with_nullable(a.nullable || b.nullable) })
}

pub(super) fn eval(operator: Operator, call: &Call<'_>) -> Result<Value> {
    if call.arg_types[0].kind.is_interval() && call.result.kind.is_temporal() {
        let swapped = [call.args[1].clone(), call.args[0].clone()];
        let types = [call.arg_types[1].clone(), call.arg_types[0].clone()];
        return eval(operator, &Call { args: &swapped, arg_types: &types, ..*call });
    }
    let sign = if operator == Operator::Subtract { -1 } else { 1 };
    let unsupported = || Error::bug(format!("no arithmetic on {} and {}", call.arg_types[0], call.arg_types[1]));
    match (&call.arg_types[0].kind, &call.arg_types[1].kind) {
        (TypeKind::Date, TypeKind::IntervalDayTime) => combine_numbers::<Date32Type, DurationMillisecondType, Date32Type>(call, |d, ms| {
            (i64::from(d).wrapping_add(sign * (ms / MS_PER_DAY))) as i32
        }),
        (TypeKind::Date, TypeKind::IntervalYearMonth) => {
            let (days, months) = (numbers::<Date32Type>(call, 0)?, numbers::<IntervalYearMonthType>(call, 1)?);
            collect_numbers::<Date32Type>(call, |row| add_months(days.get(row)?, sign * i64::from(months.get(row)?)))
        }
        (TypeKind::Time(_), TypeKind::IntervalDayTime) => {
            combine_numbers::<Time32MillisecondType, DurationMillisecondType, Time32MillisecondType>(call, |t, ms| {
                (i64::from(t).wrapping_add(sign * (ms % MS_PER_DAY))).rem_euclid(MS_PER_DAY) as i32
            })
        }
        (TypeKind::Time(_), TypeKind::IntervalYearMonth) => {
            combine_numbers::<Time32MillisecondType, IntervalYearMonthType, Time32MillisecondType>(call, |t, _| t)
        }
        (kind, interval) if kind.is_timestamp() => match call.args[0].array().data_type() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => timestamp::<TimestampMillisecondType>(call, interval, sign),
            DataType::Timestamp(TimeUnit::Microsecond, _) => timestamp::<TimestampMicrosecondType>(call, interval, sign),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => timestamp::<TimestampNanosecondType>(call, interval, sign),
            _ => Err(unsupported()),
        },
        (TypeKind::IntervalDayTime, _) | (_, TypeKind::IntervalDayTime) => day_time(operator, call),
        (TypeKind::IntervalYearMonth, _) | (_, TypeKind::IntervalYearMonth) => year_month(operator, call),
        _ => Err(unsupported()),
    }
}

fn timestamp<T: ArrowPrimitiveType<Native = i64>>(call: &Call<'_>, interval: &TypeKind, sign: i64) -> Result<Value> {
    let DataType::Timestamp(unit, _) = T::DATA_TYPE else {
        return Err(Error::bug("a timestamp without a unit"));
    };
    if *interval == TypeKind::IntervalDayTime {
        let factor = sign * per_second(unit) / 1000;
        return combine_numbers::<T, DurationMillisecondType, T>(call, |t, ms| t.wrapping_add(ms.wrapping_mul(factor)));
    }
    let per_day = per_second(unit) * 86_400;
    let (timestamps, months) = (numbers::<T>(call, 0)?, numbers::<IntervalYearMonthType>(call, 1)?);
    collect_numbers::<T>(call, |row| {
        let timestamp = timestamps.get(row)?;
        let days = add_months(timestamp.div_euclid(per_day) as i32, sign * i64::from(months.get(row)?))?;
        i64::from(days).checked_mul(per_day)?.checked_add(timestamp.rem_euclid(per_day))
    })
}

type Ms = DurationMillisecondType;
type Months = IntervalYearMonthType;

fn day_time(operator: Operator, call: &Call<'_>) -> Result<Value> {
    let number_first = call.arg_types[0].kind.is_integer();
    match operator {
        Operator::Add => combine_numbers::<Ms, Ms, Ms>(call, i64::wrapping_add),
        Operator::Subtract => combine_numbers::<Ms, Ms, Ms>(call, i64::wrapping_sub),
        Operator::Multiply if number_first => combine_numbers::<Int64Type, Ms, Ms>(call, i64::wrapping_mul),
        Operator::Multiply => combine_numbers::<Ms, Int64Type, Ms>(call, i64::wrapping_mul),
        Operator::Divide | Operator::Remainder => {
            let (intervals, divisors) = (numbers::<Ms>(call, 0)?, numbers::<Int64Type>(call, 1)?);
            refuse_zero(call, |row| Some((intervals.get(row)?, divisors.get(row)?)))?;
            collect_numbers::<Ms>(call, |row| intervals.get(row)?.checked_div(divisors.get(row)?))
        }
    }
}

fn year_month(operator: Operator, call: &Call<'_>) -> Result<Value> {
    let number_first = call.arg_types[0].kind.is_integer();
    match operator {
        Operator::Add => combine_numbers::<Months, Months, Months>(call, i32::wrapping_add),
        Operator::Subtract => combine_numbers::<Months, Months, Months>(call, i32::wrapping_sub),
        Operator::Multiply if number_first => {
            combine_numbers::<Int64Type, Months, Months>(call, |n, months| n.wrapping_mul(i64::from(months)) as i32)
        }
        Operator::Multiply => combine_numbers::<Months, Int64Type, Months>(call, |months, n| n.wrapping_mul(i64::from(months)) as i32),
        Operator::Divide | Operator::Remainder => {
            let (intervals, divisors) = (numbers::<Months>(call, 0)?, numbers::<Int64Type>(call, 1)?);
            refuse_zero(call, |row| Some((i64::from(intervals.get(row)?), divisors.get(row)?)))?;
            collect_numbers::<Months>(call, |row| i64::from(intervals.get(row)?).checked_div(divisors.get(row)?).map(|m| m as i32))
        }
    }
}

fn refuse_zero(call: &Call<'_>, operands: impl Fn(usize) -> Option<(i64, i64)>) -> Result<()> {
    let fails = (0..super::super::kernel::rows_to_compute(call)).any(|row| operands(row).is_some_and(|(_, divisor)| divisor == 0));
    if fails { Err(Error::input("division by zero")) } else { Ok(()) }
}
