//! The proleptic Gregorian calendar in plain integers: days since 1970-01-01, and timestamps in their unit.
//!
//! The day arithmetic is Howard Hinnant's ("chrono-compatible low-level date algorithms").

use arrow::datatypes::TimeUnit;

/// Milliseconds of a day.
pub const MS_PER_DAY: i64 = 86_400_000;

/// The days since the epoch of a date; the month is 1 to 12, the day may be any number.
pub fn days_from_civil(year: i32, month: u32, day: u32) -> i32 {
    let y = i64::from(year) - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as i32
}

/// Year, month (1 to 12) and day (1 to 31) of a number of days since the epoch.
pub fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let z = i64::from(days) + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let mp = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month, day)
}

/// Whether February has 29 days.
pub fn is_leap_year(year: i32) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

/// The number of days of a month (1 to 12).
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The date `months` later, its day clamped to the last of the month; `None` beyond the calendar's reach.
pub fn add_months(days: i32, months: i64) -> Option<i32> {
    let (year, month, day) = civil_from_days(days);
    let total = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(months)?;
    let year = i32::try_from(total.div_euclid(12)).ok().filter(|y| (-5_000_000..=5_000_000).contains(y))?;
    let month = total.rem_euclid(12) as u32 + 1;
    Some(days_from_civil(year, month, day.min(days_in_month(year, month))))
}

/// How many of a unit make a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// How many digits after the seconds' point a unit has.
pub fn unit_digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The timestamp in another unit: rounded down where the unit is coarser, `None` where the number does not fit.
pub fn convert_unit(value: i64, from: TimeUnit, to: TimeUnit) -> Option<i64> {
    let (from, to) = (per_second(from), per_second(to));
    if to >= from { value.checked_mul(to / from) } else { Some(value.div_euclid(from / to)) }
}

/// The timestamp with only `precision` digits after the seconds' point, rounded down.
pub fn truncate_to_precision(value: i64, unit: TimeUnit, precision: u8) -> i64 {
    let digits = unit_digits(unit);
    if precision >= digits {
        return value;
    }
    let step = 10i64.pow(u32::from(digits - precision));
    value.div_euclid(step) * step
}
