//! Turns the text of a field into a value of its column's type, by the rules of the format that it came in.

use std::str::FromStr;

use arrow::datatypes::TimeUnit;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rheos_core::text::{self, calendar};
use rheos_core::types::{TypeKind, timestamp_unit};

use super::column::{Column, Values};

/// How dates, times and timestamps are written in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporalStyle {
    /// `2024-02-29 09:05:00.123`, single digits or a `T` allowed: CSV.
    Lenient,
    /// `2024-02-29 09:05:00.123`: JSON's standard `SQL`.
    Sql,
    /// `2024-02-29T09:05:00.123`: JSON's standard `ISO-8601`.
    Iso8601,
}

/// A text is no value of the type that was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAValue;

impl Column {
    /// Adds a scalar from its text. Numbers may have blanks around them. A DECIMAL with too many digits is NULL, as in Flink.
    pub(crate) fn push_text(&mut self, text: &str, style: TemporalStyle) -> Result<(), NotAValue> {
        match (&self.kind, &mut self.values) {
            (_, Values::Bytes { bytes, .. }) => {
                if self.kind.is_character() {
                    bytes.extend_from_slice(text.as_bytes());
                } else {
                    STANDARD.decode_vec(text, bytes).map_err(|_| NotAValue)?;
                }
                self.close_bytes();
                return Ok(());
            }
            // As Java reads it: whatever is not "true" is false.
            (_, Values::Boolean(v)) => v.append(java_trim(text).eq_ignore_ascii_case("true")),
            (_, Values::Int8(v)) => v.push(integer(text)?),
            (_, Values::Int16(v)) => v.push(integer(text)?),
            (TypeKind::Date, Values::Int32(v)) => v.push(date(text, style).ok_or(NotAValue)?),
            (TypeKind::Time(precision), Values::Int32(v)) => v.push(time(text, style, *precision).ok_or(NotAValue)?),
            (_, Values::Int32(v)) => v.push(integer(text)?),
            (TypeKind::Timestamp(p), Values::Int64(v)) => v.push(timestamp(text, style, timestamp_unit(*p)).ok_or(NotAValue)?),
            (TypeKind::TimestampLtz(p), Values::Int64(v)) => {
                let local = text.strip_suffix('Z').ok_or(NotAValue)?;
                v.push(timestamp(local, style, timestamp_unit(*p)).ok_or(NotAValue)?);
            }
            (_, Values::Int64(v)) => v.push(integer(text)?),
            (_, Values::Float32(v)) => v.push(text::parse_float(java_trim(text)).ok_or(NotAValue)?),
            (_, Values::Float64(v)) => v.push(text::parse_double(java_trim(text)).ok_or(NotAValue)?),
            (TypeKind::Decimal(precision, scale), Values::Decimal(v)) => {
                let text = java_trim(text);
                match text::parse_decimal(text, *precision, *scale) {
                    Some(value) => v.push(value),
                    None if is_plain_number(text) => {
                        self.push_null();
                        return Ok(());
                    }
                    None => return Err(NotAValue),
                }
            }
            _ => return Err(NotAValue),
        }
        self.pushed();
        Ok(())
    }
}

/// What a value of the type looks like, for messages about one that does not.
pub(crate) fn wanted(kind: &TypeKind, style: TemporalStyle) -> String {
    let t = if style == TemporalStyle::Iso8601 { 'T' } else { ' ' };
    match kind {
        TypeKind::Date => format!("{kind} (2024-02-29)"),
        TypeKind::Time(_) => format!("{kind} (09:05:00)"),
        TypeKind::Timestamp(_) => format!("{kind} (2024-02-29{t}09:05:00)"),
        TypeKind::TimestampLtz(_) => format!("{kind} (2024-02-29{t}09:05:00Z)"),
        TypeKind::Binary(_) | TypeKind::Varbinary(_) => format!("{kind} in base64"),
        _ => kind.to_string(),
    }
}

/// Without blanks and control characters at both ends.
fn java_trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

fn integer<T: FromStr>(text: &str) -> Result<T, NotAValue> {
    java_trim(text).parse().map_err(|_| NotAValue)
}

/// Whether a text that is no DECIMAL of the wanted precision is a number all the same.
fn is_plain_number(text: &str) -> bool {
    let ends_well = text.bytes().last().is_some_and(|b| b.is_ascii_digit() || b == b'.');
    ends_well && text::parse_double(text).is_some()
}

fn date(text: &str, style: TemporalStyle) -> Option<i32> {
    if let Some(days) = fixed_date(text.as_bytes()) {
        return Some(days);
    }
    let all = text.bytes().filter(|b| *b == b'-').count() == 2 && !text.contains(' ');
    if style == TemporalStyle::Lenient && all { text::parse_date(text) } else { None }
}

fn time(text: &str, style: TemporalStyle, precision: u8) -> Option<i32> {
    let bytes = text.as_bytes();
    let well_formed = match style {
        TemporalStyle::Lenient => bytes.len() >= 5 && bytes[2] == b':',
        _ => bytes.len() >= 8 && bytes[2] == b':' && bytes[5] == b':',
    };
    let ms = text::parse_time(text).filter(|_| well_formed)?;
    // JSON keeps what is finer than the type says, CSV does not.
    let step = if style == TemporalStyle::Lenient { 10i32.pow(3 - u32::from(precision.min(3))) } else { 1 };
    Some(ms / step * step)
}

fn timestamp(text: &str, style: TemporalStyle, unit: TimeUnit) -> Option<i64> {
    let separator = if style == TemporalStyle::Iso8601 { b'T' } else { b' ' };
    if let Some(value) = fixed_timestamp(text.as_bytes(), separator, unit) {
        return Some(value);
    }
    match style {
        TemporalStyle::Lenient => {
            let text = java_trim(text);
            let iso = || fixed_timestamp(text.as_bytes(), b'T', unit);
            if text.contains(' ') { text::parse_timestamp(text, unit) } else { iso() }
        }
        TemporalStyle::Sql => None,
        // ISO 8601 allows seconds to be left out.
        TemporalStyle::Iso8601 => {
            let without_zone = text.len() >= 16 && text.is_char_boundary(10) && !text[10..].contains(['Z', 'z', '+', '-']);
            if without_zone { text::parse_timestamp_iso(text, unit) } else { None }
        }
    }
}

/// Reads `2024-02-29`.
fn fixed_date(b: &[u8]) -> Option<i32> {
    if b.len() != 10 || b[4] != b'-' || b[7] != b'-' {
        return None;
    }
    let year = two(b, 0)? * 100 + two(b, 2)?;
    let (month, day) = (two(b, 5)?, two(b, 8)?);
    let legal = (1..=12).contains(&month) && day >= 1 && day <= calendar::days_in_month(year as i32, month);
    legal.then(|| calendar::days_from_civil(year as i32, month, day))
}

/// Reads `2024-02-29 09:05:00`, with up to nine digits after a point.
fn fixed_timestamp(b: &[u8], separator: u8, unit: TimeUnit) -> Option<i64> {
    if b.len() < 19 || b[10] != separator || b[13] != b':' || b[16] != b':' {
        return None;
    }
    let days = fixed_date(&b[..10])?;
    let (hour, minute, second) = (two(b, 11)?, two(b, 14)?, two(b, 17)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut nanos = 0i64;
    if b.len() > 19 {
        let digits = &b[20..];
        if b[19] != b'.' || digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        nanos = digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')) * 10i64.pow(9 - digits.len() as u32);
    }
    let per_second = calendar::per_second(unit);
    let seconds = i64::from(days) * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    seconds.checked_mul(per_second)?.checked_add(nanos / (1_000_000_000 / per_second))
}

/// Two digits as a number.
fn two(b: &[u8], at: usize) -> Option<u32> {
    let (tens, ones) = (b[at].wrapping_sub(b'0'), b[at + 1].wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}
