//! Arguments of any temporal type as plain integers, TIMESTAMP_LTZ on the wall clock of the session.

use arrow::array::{Array, AsArray, Int32Array, Int64Array, PrimitiveArray};
use arrow::datatypes::{
    DataType, Date32Type, DurationMillisecondType, Int32Type, Int64Type, IntervalYearMonthType, Time32MillisecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, per_second};
use rheos_core::types::TypeKind;

use crate::function::Call;
use crate::functions::kernel::argument;

use super::zone::{Overlap, Zone};

/// The values of an argument; of one value if it is a constant.
pub(super) enum Local {
    /// DATE: days.
    Days(Int32Array),
    /// TIME: milliseconds of the day.
    Time(Int32Array),
    /// TIMESTAMP and TIMESTAMP_LTZ: since the epoch, in a unit.
    Stamp(Int64Array, TimeUnit),
    /// INTERVAL YEAR TO MONTH: months.
    Months(Int32Array),
    /// INTERVAL DAY TO SECOND: milliseconds.
    Millis(Int64Array),
}

/// An argument without regard to its zone.
pub(super) fn stored(call: &Call<'_>, index: usize) -> Result<Local> {
    stored_array(argument(call, index)?.array().as_ref())
}

/// A column of any temporal type.
pub(super) fn stored_array(array: &dyn Array) -> Result<Local> {
    Ok(match array.data_type() {
        DataType::Date32 => Local::Days(array.as_primitive::<Date32Type>().reinterpret_cast::<Int32Type>()),
        DataType::Time32(TimeUnit::Millisecond) => {
            Local::Time(array.as_primitive::<Time32MillisecondType>().reinterpret_cast::<Int32Type>())
        }
        DataType::Interval(_) => Local::Months(array.as_primitive::<IntervalYearMonthType>().reinterpret_cast::<Int32Type>()),
        DataType::Duration(_) => Local::Millis(array.as_primitive::<DurationMillisecondType>().reinterpret_cast::<Int64Type>()),
        DataType::Timestamp(unit, _) => {
            let values = match unit {
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast::<Int64Type>(),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().reinterpret_cast::<Int64Type>(),
                _ => array.as_primitive::<TimestampMillisecondType>().reinterpret_cast::<Int64Type>(),
            };
            Local::Stamp(values, *unit)
        }
        other => return Err(Error::bug(format!("a function of time is given a value of type {other}"))),
    })
}

/// An argument on the wall clock of the session.
pub(super) fn local(call: &Call<'_>, index: usize) -> Result<Local> {
    let value = stored(call, index)?;
    let Local::Stamp(values, unit) = value else { return Ok(value) };
    if !matches!(call.arg_types[index].kind, TypeKind::TimestampLtz(_)) {
        return Ok(Local::Stamp(values, unit));
    }
    let zone = session_zone(call)?;
    if zone == Zone::Fixed(0) {
        return Ok(Local::Stamp(values, unit));
    }
    let per_ms = per_second(unit) / 1000;
    let mut offsets = Offsets::new(zone);
    Ok(Local::Stamp(shifted(&values, |v| i64::from(offsets.at(v.div_euclid(per_ms))) * 1000 * per_ms), unit))
}

fn shifted(values: &Int64Array, mut offset: impl FnMut(i64) -> i64) -> Int64Array {
    let shifted = values.values().iter().map(|v| v.saturating_add(offset(*v))).collect();
    PrimitiveArray::new(shifted, values.nulls().cloned())
}

/// The session's time zone.
pub(super) fn session_zone(call: &Call<'_>) -> Result<Zone> {
    let name = &call.config.time_zone;
    Zone::parse(name)
        .ok_or_else(|| Error::config(format!("'table.local-time-zone' is '{name}', which is no time zone; 'Europe/Berlin' is one")))
}

/// Offsets of a zone, looked up once for each quarter of an hour: consecutive rows are mostly close in time.
pub(super) struct Offsets {
    zone: Zone,
    quarter: i64,
    offset_s: i32,
}

const QUARTER_MS: i64 = 15 * 60 * 1000;

impl Offsets {
    pub(super) fn new(zone: Zone) -> Self {
        Offsets { zone, quarter: i64::MIN, offset_s: 0 }
    }

    /// Seconds east of UTC at an instant.
    #[inline]
    pub(super) fn at(&mut self, utc_ms: i64) -> i32 {
        if let Zone::Fixed(offset_s) = self.zone {
            return offset_s;
        }
        // Zones changed at any second before the seventies.
        if utc_ms < 1000 * MS_PER_DAY {
            return self.zone.offset_at(utc_ms);
        }
        let quarter = utc_ms.div_euclid(QUARTER_MS);
        if quarter != self.quarter {
            (self.quarter, self.offset_s) = (quarter, self.zone.offset_at(utc_ms));
        }
        self.offset_s
    }
}

/// The instant at which the wall clock of a zone shows a time.
pub(super) fn to_utc_ms(zone: Zone, local_ms: i64, overlap: Overlap) -> i64 {
    local_ms.saturating_sub(i64::from(zone.offset_of_local(local_ms, overlap)) * 1000)
}

impl Local {
    /// Milliseconds: since the epoch, of the day, or of an interval that has a fixed length.
    pub(super) fn into_ms(self) -> Result<Int64Array> {
        Ok(match self {
            Local::Days(days) => days.unary(|d| i64::from(d) * MS_PER_DAY),
            Local::Time(ms) => ms.unary(i64::from),
            Local::Stamp(values, TimeUnit::Millisecond) | Local::Millis(values) => values,
            Local::Stamp(values, TimeUnit::Microsecond) => values.unary(|v| v.div_euclid(1000)),
            Local::Stamp(values, _) => values.unary(|v| v.div_euclid(1_000_000)),
            Local::Months(_) => return Err(Error::bug("months have no fixed length")),
        })
    }
}

/// The value of a row in an array that holds one value for all rows or one for each.
#[inline]
pub(super) fn at(array: &Int64Array, row: usize) -> Option<i64> {
    let row = if array.len() == 1 { 0 } else { row };
    array.is_valid(row).then(|| array.value(row))
}
