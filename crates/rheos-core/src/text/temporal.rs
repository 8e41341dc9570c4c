//! Dates, times of day and timestamps as text.

use arrow::datatypes::TimeUnit;

use super::ascii::Ascii;
use super::calendar::{MS_PER_DAY, civil_from_days, days_from_civil, days_in_month, per_second};

/// Appends a date: `2024-02-29`.
pub fn write_date(out: &mut String, days: i32) {
    let mut text = Ascii::new();
    push_date(&mut text, days);
    out.push_str(text.text());
}

/// Appends a time of day, given in milliseconds: `09:05:00`, with `fraction_digits` digits after the seconds.
pub fn write_time(out: &mut String, ms: i32, fraction_digits: u8) {
    let ms = i64::from(ms).rem_euclid(MS_PER_DAY);
    let mut text = Ascii::new();
    push_clock(&mut text, (ms / 1000) as u32, (ms % 1000) as u32 * 1_000_000, fraction_digits);
    out.push_str(text.text());
}

/// Appends a timestamp: `2024-02-29 09:05:00`, with `fraction_digits` digits after the seconds, cut, not rounded.
pub fn write_timestamp(out: &mut String, value: i64, unit: TimeUnit, fraction_digits: u8) {
    let per_second = per_second(unit);
    let seconds = value.div_euclid(per_second);
    let mut text = Ascii::new();
    push_date(&mut text, seconds.div_euclid(86_400).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32);
    text.push(b' ');
    let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    push_clock(&mut text, seconds.rem_euclid(86_400) as u32, nanos as u32, fraction_digits);
    out.push_str(text.text());
}

fn push_date(text: &mut Ascii, days: i32) {
    let (year, month, day) = civil_from_days(days);
    if year < 0 {
        text.push(b'-');
    }
    text.push_number(u64::from(year.unsigned_abs()), 4);
    text.push(b'-');
    push_pair(text, month);
    text.push(b'-');
    push_pair(text, day);
}

fn push_clock(text: &mut Ascii, seconds: u32, nanos: u32, fraction_digits: u8) {
    push_pair(text, seconds / 3600);
    text.push(b':');
    push_pair(text, seconds / 60 % 60);
    text.push(b':');
    push_pair(text, seconds % 60);
    let digits = fraction_digits.min(9);
    if digits > 0 {
        text.push(b'.');
        text.push_number(u64::from(nanos / 10u32.pow(u32::from(9 - digits))), usize::from(digits));
    }
}

/// Two digits.
#[inline]
fn push_pair(text: &mut Ascii, value: u32) {
    text.push(b'0' + (value / 10 % 10) as u8);
    text.push(b'0' + (value % 10) as u8);
}

/// Reads a date: `2024-02-29`, `2024-2-9`, and also `2024-2` and `2024` for the first of the month or year. What follows a
/// blank is passed over, as in Flink.
pub fn parse_date(text: &str) -> Option<i32> {
    let date = match text.find(' ') {
        Some(at) if at > 0 => &text[..at],
        _ => text,
    };
    let mut parts = date.splitn(3, '-');
    let year = number(parts.next()?, 9)? as i32;
    let month = parts.next().map_or(Some(1), |m| number(m, 2))?;
    let day = parts.next().map_or(Some(1), |d| number(d, 2))?;
    let legal = year <= 9999 && (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    legal.then(|| days_from_civil(year, month, day))
}

/// Reads a time of day as milliseconds: `9:05:00.5`, `09:05`, `9`; digits beyond milliseconds are cut.
pub fn parse_time(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, ':');
    let hour = number(parts.next()?, 2)?;
    let minute = parts.next().map_or(Some(0), |m| number(m, 2))?;
    let (second, nanos) = match parts.next() {
        Some(seconds) => parse_seconds(seconds)?,
        None => (0, 0),
    };
    let legal = hour < 24 && minute < 60 && second < 60;
    legal.then(|| ((hour * 3600 + minute * 60 + second) * 1000) as i32 + (nanos / 1_000_000) as i32)
}

/// Reads a timestamp in SQL's form, as Flink's casts do: `2024-02-29 09:05:00.123`; single digits and a date alone are
/// accepted, fractions finer than the unit are cut, and a day that the month does not have is its last day.
pub fn parse_timestamp(text: &str, unit: TimeUnit) -> Option<i64> {
    let (date, time) = match text.split_once(' ') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let (seconds, nanos) = time.map_or(Some((0, 0)), parse_clock)?;
    timestamp(parse_day(date)?, seconds, nanos, unit)
}

/// Reads a timestamp in ISO 8601's form, `T` between date and time: `2024-02-29T09:05:00.123`. With a zone, `Z` or
/// `+01:00`, the instant is given in UTC.
pub fn parse_timestamp_iso(text: &str, unit: TimeUnit) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let clock = if clock.bytes().filter(|b| *b == b':').count() == 1 && !clock.contains('.') { &format!("{clock}:00") } else { clock };
    let (seconds, nanos) = parse_clock(clock)?;
    timestamp(parse_day(date)?, seconds - parse_offset(zone)?, nanos, unit)
}

/// The seconds east of UTC of `Z`, `+01`, `+0100`, `+01:00`, `+01:00:00` or nothing.
fn parse_offset(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: Vec<u8> = zone.bytes().skip(1).filter(|b| *b != b':').collect();
    if !matches!(digits.len(), 2 | 4 | 6) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let pair = |i: usize| digits.get(2 * i..2 * i + 2).map_or(0, |d| i64::from(d[0] - b'0') * 10 + i64::from(d[1] - b'0'));
    (pair(0) <= 18 && pair(1) < 60 && pair(2) < 60).then(|| sign * (pair(0) * 3600 + pair(1) * 60 + pair(2)))
}

fn parse_day(date: &str) -> Option<i32> {
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() < 4 {
        return None;
    }
    let (year, month, day) = (number(year, 6)? as i32, number(month, 2)?, number(day, 2)?);
    let legal = (1..=12).contains(&month) && (1..=31).contains(&day);
    legal.then(|| days_from_civil(year, month, day.min(days_in_month(year, month))))
}

/// Seconds of the day and nanoseconds of `9:05:00.123`; 24:00:00 is the end of the day.
fn parse_clock(time: &str) -> Option<(i64, u32)> {
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (second, nanos) = parse_seconds(parts.next()?)?;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    let legal = (hour < 24 && minute < 60 && second < 60) || (seconds == 86_400 && minute + second + nanos == 0);
    legal.then_some((seconds, nanos))
}

fn parse_seconds(text: &str) -> Option<(u32, u32)> {
    let (second, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, b| n * 10 + u32::from(b - b'0'));
    Some((number(second, 2)?, nanos))
}

fn timestamp(days: i32, seconds: i64, nanos: u32, unit: TimeUnit) -> Option<i64> {
    let per_second = per_second(unit);
    let seconds = i64::from(days) * 86_400 + seconds;
    seconds.checked_mul(per_second)?.checked_add(i64::from(nanos) / (1_000_000_000 / per_second))
}

/// One to `max_digits` digits as a number.
fn number(digits: &str, max_digits: usize) -> Option<u32> {
    let legal = !digits.is_empty() && digits.len() <= max_digits && digits.bytes().all(|b| b.is_ascii_digit());
    if legal { digits.parse().ok() } else { None }
}
