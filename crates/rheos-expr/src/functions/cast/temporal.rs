//! Dates, times and timestamps among each other.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    Date32Type, Int64Type, Time32MillisecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, convert_unit, per_second, truncate_to_precision};
use rheos_core::types::{TypeKind, timestamp_unit};

use super::{Conversion, refuse_new_nulls};
use crate::functions::time::zone::{Overlap, Zone};

/// Every conversion goes over the wall clock's time in the finer unit of the two.
pub(super) fn conversion(from: &TypeKind, to: &TypeKind, or_null: bool, zone: Zone) -> Result<Conversion> {
    let (from, to) = (from.clone(), to.clone());
    let moves_clock = matches!((&from, &to), (TypeKind::TimestampLtz(_), _) | (_, TypeKind::TimestampLtz(_)))
        && !matches!((&from, &to), (TypeKind::TimestampLtz(_), TypeKind::TimestampLtz(_)))
        && zone != Zone::Fixed(0);
    let reader = zone_of(&from, zone, moves_clock);
    let writer = zone_of(&to, zone, moves_clock);
    let (source, target) = (unit_of(&from), unit_of(&to));
    let keeps_numbers = from.is_timestamp() && to.is_timestamp() && source == target && precision_of(&from) <= precision_of(&to);
    let cheap = !moves_clock && per_second(target) <= per_second(source);
    let apply = move |array: &ArrayRef| {
        let numbers = as_longs(array, &from)?;
        if keeps_numbers && !moves_clock {
            return of_longs(numbers, &to);
        }
        if let (TypeKind::Date, TimeUnit::Millisecond, false) = (&to, source, moves_clock) {
            return of_longs(numbers.unary(|ms| ms.div_euclid(MS_PER_DAY)), &to);
        }
        let converted: PrimitiveArray<Int64Type> = numbers.unary_opt(|value| {
            let local = match reader {
                Some(zone) => {
                    let offset_s = zone.offset_at(value.div_euclid(per_second(source) / 1000));
                    value.checked_add(i64::from(offset_s) * per_second(source))?
                }
                None => value,
            };
            let local = convert(local, &from, source, &to, target)?;
            match writer {
                Some(zone) => {
                    let offset_s = zone.offset_of_local(local.div_euclid(per_second(target) / 1000), Overlap::Earlier);
                    local.checked_sub(i64::from(offset_s) * per_second(target))
                }
                None => Some(local),
            }
        });
        let result = of_longs(converted, &to)?;
        refuse_new_nulls(array, &result, or_null, &to)?;
        Ok(result)
    };
    Ok(if cheap { Conversion::cheap(apply) } else { Conversion::new(apply) })
}

fn zone_of(kind: &TypeKind, zone: Zone, moves_clock: bool) -> Option<Zone> {
    (moves_clock && matches!(kind, TypeKind::TimestampLtz(_))).then_some(zone)
}

fn precision_of(kind: &TypeKind) -> u8 {
    match kind {
        TypeKind::Time(p) | TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => *p,
        _ => 0,
    }
}

fn unit_of(kind: &TypeKind) -> TimeUnit {
    if kind.is_timestamp() { timestamp_unit(precision_of(kind)) } else { TimeUnit::Millisecond }
}

/// One value, between days, milliseconds of the day and timestamps.
fn convert(value: i64, from: &TypeKind, source: TimeUnit, to: &TypeKind, target: TimeUnit) -> Option<i64> {
    let per_day = per_second(source) * 86_400;
    Some(match (from, to) {
        (TypeKind::Date, _) => value.checked_mul(per_second(target) * 86_400)?,
        (_, TypeKind::Date) => value.div_euclid(per_day),
        (from, TypeKind::Time(precision)) => {
            let of_day = if from.is_timestamp() { value.rem_euclid(per_day) } else { value };
            let ms = convert_unit(of_day, source, TimeUnit::Millisecond)?;
            truncate_to_precision(ms, TimeUnit::Millisecond, *precision) % MS_PER_DAY
        }
        _ => truncate_to_precision(convert_unit(value, source, target)?, target, precision_of(to)),
    })
}

fn as_longs(array: &ArrayRef, from: &TypeKind) -> Result<PrimitiveArray<Int64Type>> {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, from: &TypeKind) -> Result<PrimitiveArray<T>> {
        let wrong = || Error::bug(format!("a column of {from} holds {}", array.data_type()));
        array.as_primitive_opt::<T>().cloned().ok_or_else(wrong)
    }
    Ok(match (from, unit_of(from)) {
        (TypeKind::Date, _) => of::<Date32Type>(array, from)?.unary(i64::from),
        (TypeKind::Time(_), _) => of::<Time32MillisecondType>(array, from)?.unary(i64::from),
        (_, TimeUnit::Second | TimeUnit::Millisecond) => of::<TimestampMillisecondType>(array, from)?.reinterpret_cast(),
        (_, TimeUnit::Microsecond) => of::<TimestampMicrosecondType>(array, from)?.reinterpret_cast(),
        (_, TimeUnit::Nanosecond) => of::<TimestampNanosecondType>(array, from)?.reinterpret_cast(),
    })
}

fn of_longs(numbers: PrimitiveArray<Int64Type>, to: &TypeKind) -> Result<ArrayRef> {
    let arrow = to.to_arrow();
    Ok(match (to, unit_of(to)) {
        (TypeKind::Date, _) => Arc::new(numbers.unary::<_, Date32Type>(|v| v as i32)),
        (TypeKind::Time(_), _) => Arc::new(numbers.unary::<_, Time32MillisecondType>(|v| v as i32)),
        (_, TimeUnit::Second | TimeUnit::Millisecond) => {
            Arc::new(numbers.reinterpret_cast::<TimestampMillisecondType>().with_data_type(arrow))
        }
        (_, TimeUnit::Microsecond) => Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>().with_data_type(arrow)),
        (_, TimeUnit::Nanosecond) => Arc::new(numbers.reinterpret_cast::<TimestampNanosecondType>().with_data_type(arrow)),
    })
}
