//! Units of time: what each extracts from a moment, and how a moment is rounded to it.
//!
//! Everything rounds towards the past, also before 1970, where Flink's truncation gives negative hours.

use rheos_core::text::calendar::{MS_PER_DAY, civil_from_days, days_from_civil};

/// A unit as EXTRACT, FLOOR, CEIL, TIMESTAMPADD and TIMESTAMPDIFF name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Nanosecond,
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Week,
    Month,
    Quarter,
    Year,
    IsoYear,
    Decade,
    Century,
    Millennium,
    Epoch,
}

impl Unit {
    /// The unit of a name, also of the forms `SQL_TSI_DAY`, `FRAC_SECOND` and plural that ODBC and people use.
    pub(super) fn parse(name: &str) -> Option<Unit> {
        let name = name.to_ascii_uppercase();
        let name = name.strip_prefix("SQL_TSI_").unwrap_or(&name);
        Some(match name {
            "NANOSECOND" | "NANOSECONDS" => Unit::Nanosecond,
            "MICROSECOND" | "MICROSECONDS" => Unit::Microsecond,
            "MILLISECOND" | "MILLISECONDS" => Unit::Millisecond,
            "SECOND" | "SECONDS" => Unit::Second,
            "MINUTE" | "MINUTES" => Unit::Minute,
            "HOUR" | "HOURS" => Unit::Hour,
            "DAY" | "DAYS" => Unit::Day,
            "DOW" => Unit::DayOfWeek,
            "ISODOW" => Unit::IsoDayOfWeek,
            "DOY" => Unit::DayOfYear,
            "WEEK" | "WEEKS" => Unit::Week,
            "MONTH" | "MONTHS" => Unit::Month,
            "QUARTER" | "QUARTERS" => Unit::Quarter,
            "YEAR" | "YEARS" => Unit::Year,
            "ISOYEAR" => Unit::IsoYear,
            "DECADE" | "DECADES" => Unit::Decade,
            "CENTURY" | "CENTURIES" => Unit::Century,
            "MILLENNIUM" | "MILLENNIUMS" => Unit::Millennium,
            "EPOCH" => Unit::Epoch,
            _ => return None,
        })
    }

    /// Whether it is read off the time of day.
    pub(super) fn is_of_day(self) -> bool {
        matches!(self, Unit::Nanosecond | Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour)
    }

    /// Its length in milliseconds, if all are equally long and not shorter than that.
    pub(super) fn length_ms(self) -> Option<i64> {
        Some(match self {
            Unit::Millisecond => 1,
            Unit::Second => 1000,
            Unit::Minute => 60_000,
            Unit::Hour => 3_600_000,
            Unit::Day => MS_PER_DAY,
            Unit::Week => 7 * MS_PER_DAY,
            _ => return None,
        })
    }

    /// Its length in months, if it is made of months.
    pub(super) fn length_months(self) -> Option<i64> {
        Some(match self {
            Unit::Month => 1,
            Unit::Quarter => 3,
            Unit::Year => 12,
            Unit::Decade => 120,
            Unit::Century => 1200,
            Unit::Millennium => 12_000,
            _ => return None,
        })
    }
}

/// What a unit of a day or longer says of a date.
pub(super) fn extract_from_days(unit: Unit, days: i32) -> i64 {
    let (year, month, day) = civil_from_days(days);
    let years_up = |n: i32| if year > 0 { (year + n - 1) / n } else { (year - n + 1) / n };
    i64::from(match unit {
        Unit::Year => year,
        Unit::Quarter => (month as i32 + 2) / 3,
        Unit::Month => month as i32,
        Unit::Day => day as i32,
        Unit::DayOfYear => days - days_from_civil(year, 1, 1) + 1,
        // The epoch was a Thursday.
        Unit::DayOfWeek => (days + 4).rem_euclid(7) + 1,
        Unit::IsoDayOfWeek => (days + 3).rem_euclid(7) + 1,
        Unit::Week => iso_week(days).1,
        Unit::IsoYear => iso_week(days).0,
        Unit::Decade => year / 10,
        Unit::Century => years_up(100),
        Unit::Millennium => years_up(1000),
        Unit::Epoch => return i64::from(days) * 86_400,
        _ => 0,
    })
}

/// The ISO 8601 year and week of a date: weeks begin on Monday and belong to the year of their Thursday.
pub(super) fn iso_week(days: i32) -> (i32, i32) {
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// The first day of the unit that a date lies in; units shorter than a day leave it.
pub(super) fn floor_days(unit: Unit, days: i32) -> i32 {
    let (year, month, _) = civil_from_days(days);
    match unit {
        // Weeks begin on Sunday here, as in Flink, although WEEK() counts ISO weeks.
        Unit::Week => days - (days + 4).rem_euclid(7),
        Unit::Month => days_from_civil(year, month, 1),
        Unit::Quarter => days_from_civil(year, month - (month - 1) % 3, 1),
        Unit::Year => days_from_civil(year, 1, 1),
        Unit::Decade => days_from_civil(year.div_euclid(10) * 10, 1, 1),
        // Centuries and millennia begin with the years 1, 101, ... .
        Unit::Century => days_from_civil((year - 1).div_euclid(100) * 100 + 1, 1, 1),
        Unit::Millennium => days_from_civil((year - 1).div_euclid(1000) * 1000 + 1, 1, 1),
        _ => days,
    }
}

/// The first day of the unit that follows the one that begins with `start`.
pub(super) fn next_days(unit: Unit, start: i32) -> i32 {
    match unit.length_months() {
        Some(months) => rheos_core::text::calendar::add_months(start, months).unwrap_or(i32::MAX),
        None if unit == Unit::Week => start.saturating_add(7),
        None => start.saturating_add(1),
    }
}

/// Whole months from one moment to another, each given as a day and a time within it: towards zero.
pub(super) fn months_between(from: (i32, i64), to: (i32, i64)) -> i64 {
    if to < from {
        return -months_between(to, from);
    }
    let ((from_year, from_month, from_day), (to_year, to_month, to_day)) = (civil_from_days(from.0), civil_from_days(to.0));
    let months = i64::from(to_year - from_year) * 12 + i64::from(to_month) - i64::from(from_month);
    // A month is whole when the day is reached, or the last of a month that is too short for it.
    let last = rheos_core::text::calendar::days_in_month(to_year, to_month);
    let begins = (from_day.min(last), from.1);
    if (to_day, to.1) < begins { months - 1 } else { months }
}
