//! Moments written by a pattern.

use std::fmt::{self, Write};

use rheos_core::text::calendar::{civil_from_days, days_from_civil, per_second};

use arrow::datatypes::TimeUnit;

use super::pattern::{Pattern, Piece, Style};
use super::unit::{Unit, extract_from_days};

/// A moment on the wall clock of a zone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) days: i32,
    pub(super) nanos_of_day: i64,
    /// Seconds east of UTC, for the letters that write the zone.
    pub(super) offset_s: i32,
}

const DAY_NS: i64 = 86_400_000_000_000;
pub(super) const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
pub(super) const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Moment {
    /// The moment that a timestamp without zone names.
    pub(super) fn from_local(value: i64, unit: TimeUnit) -> Moment {
        let per_day = per_second(unit) * 86_400;
        let days = value.div_euclid(per_day).clamp(i64::from(i32::MIN / 2), i64::from(i32::MAX / 2)) as i32;
        Moment { days, nanos_of_day: value.rem_euclid(per_day) * (DAY_NS / per_day), offset_s: 0 }
    }
}

impl Pattern {
    /// Writes a moment.
    pub(super) fn write(&self, moment: &Moment, out: &mut impl Write) -> fmt::Result {
        write_pieces(&self.pieces, self.style, &Parts::of(moment), out)
    }
}

/// What the letters of a pattern write, read off a moment once.
struct Parts {
    moment: Moment,
    year: i32,
    month: u32,
    day: u32,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
}

impl Parts {
    fn of(moment: &Moment) -> Parts {
        let (year, month, day) = civil_from_days(moment.days);
        let seconds = moment.nanos_of_day / 1_000_000_000;
        let nanos = moment.nanos_of_day % 1_000_000_000;
        Parts { moment: *moment, year, month, day, hour: seconds / 3600, minute: seconds / 60 % 60, second: seconds % 60, nanos }
    }
}

fn write_pieces(pieces: &[Piece], style: Style, parts: &Parts, out: &mut impl Write) -> fmt::Result {
    for piece in pieces {
        match piece {
            Piece::Literal(text) => out.write_str(text)?,
            Piece::Optional(inner) => write_pieces(inner, style, parts, out)?,
            Piece::Field(letter, count) => write_field(*letter, *count, style, parts, out)?,
        }
    }
    Ok(())
}

fn write_field(letter: u8, count: usize, style: Style, parts: &Parts, out: &mut impl Write) -> fmt::Result {
    let Parts { moment, year, month, day, hour, minute, second, nanos } = *parts;
    let simple = style == Style::Simple;
    let year_of_era = i64::from(if year > 0 { year } else { 1 - year });
    // Sunday is 0.
    let weekday = (moment.days + 4).rem_euclid(7);
    match letter {
        b'G' if simple || count < 4 => out.write_str(if year > 0 { "AD" } else { "BC" }),
        b'G' if count == 4 => out.write_str(if year > 0 { "Anno Domini" } else { "Before Christ" }),
        b'G' => out.write_str(if year > 0 { "A" } else { "B" }),
        b'u' if simple => write_padded(out, i64::from((weekday + 6) % 7 + 1), count),
        b'u' => write_year(out, i64::from(year), count, simple),
        b'y' => write_year(out, year_of_era, count, simple),
        b'Y' => write_year(out, i64::from(us_week(moment.days).0), count, simple),
        b'M' | b'L' => write_name(out, MONTHS[month as usize - 1], i64::from(month), count),
        b'd' => write_padded(out, i64::from(day), count),
        b'D' => write_padded(out, extract_from_days(Unit::DayOfYear, moment.days), count),
        b'Q' | b'q' => {
            let quarter = month.div_ceil(3);
            match count {
                1 | 2 => write_padded(out, i64::from(quarter), count),
                3 => write!(out, "Q{quarter}"),
                4 => out.write_str(["1st quarter", "2nd quarter", "3rd quarter", "4th quarter"][quarter as usize - 1]),
                _ => write_padded(out, i64::from(quarter), 1),
            }
        }
        b'w' => write_padded(out, i64::from(us_week(moment.days).1), count),
        b'W' => {
            let first_weekday = (moment.days - day as i32 + 1 + 4).rem_euclid(7);
            write_padded(out, i64::from((day as i32 - 1 + first_weekday) / 7 + 1), count)
        }
        b'F' => write_padded(out, i64::from((day - 1) / 7 + 1), count),
        b'E' => write_name(out, WEEKDAYS[weekday as usize], 0, count.max(3)),
        b'e' | b'c' => write_name(out, WEEKDAYS[weekday as usize], i64::from(weekday) + 1, count),
        b'a' => out.write_str(if hour < 12 { "AM" } else { "PM" }),
        b'H' => write_padded(out, hour, count),
        b'k' => write_padded(out, if hour == 0 { 24 } else { hour }, count),
        b'K' => write_padded(out, hour % 12, count),
        b'h' => write_padded(out, if hour % 12 == 0 { 12 } else { hour % 12 }, count),
        b'm' => write_padded(out, minute, count),
        b's' => write_padded(out, second, count),
        b'S' if simple => write_padded(out, nanos / 1_000_000, count),
        b'S' => write_padded(out, nanos / 10i64.pow(9 - count.min(9) as u32), count),
        b'A' => write_padded(out, moment.nanos_of_day / 1_000_000, count),
        b'n' => write_padded(out, nanos, count),
        b'N' => write_padded(out, moment.nanos_of_day, count),
        b'z' => write_offset(out, "GMT", moment.offset_s, ":"),
        b'Z' => write_offset(out, "", moment.offset_s, ""),
        b'X' if moment.offset_s == 0 => out.write_str("Z"),
        b'X' if count == 1 => {
            write!(out, "{}{:02}", if moment.offset_s < 0 { '-' } else { '+' }, moment.offset_s.abs() / 3600)
        }
        b'X' => write_offset(out, "", moment.offset_s, if count == 2 { "" } else { ":" }),
        _ => Ok(()),
    }
}

fn write_year(out: &mut impl Write, year: i64, count: usize, simple: bool) -> fmt::Result {
    if count == 2 {
        return write_padded(out, year.rem_euclid(100), 2);
    }
    if !simple && count >= 4 && year >= 10i64.pow(count.min(18) as u32) {
        out.write_char('+')?;
    }
    write_padded(out, year, count)
}

/// One or two letters are the number, three the short name, four the name, five its initial.
fn write_name(out: &mut impl Write, name: &str, number: i64, count: usize) -> fmt::Result {
    match count {
        1 | 2 => write_padded(out, number, count),
        3 => out.write_str(&name[..3]),
        5 => out.write_str(&name[..1]),
        _ => out.write_str(name),
    }
}

fn write_offset(out: &mut impl Write, zone: &str, offset_s: i32, between: &str) -> fmt::Result {
    if offset_s == 0 && !zone.is_empty() {
        return out.write_str("UTC");
    }
    let (sign, minutes) = (if offset_s < 0 { '-' } else { '+' }, offset_s.abs() / 60);
    write!(out, "{zone}{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}

fn write_padded(out: &mut impl Write, value: i64, width: usize) -> fmt::Result {
    // The common cases without the machinery of formatting.
    match (width, value) {
        (2, 0..100) => out.write_str(pair(value)),
        (3, 0..1000) => {
            out.write_str(&pair(value / 100)[1..])?;
            out.write_str(pair(value % 100))
        }
        (4, 0..10_000) => {
            out.write_str(pair(value / 100))?;
            out.write_str(pair(value % 100))
        }
        _ => write!(out, "{value:0width$}"),
    }
}

/// Two digits.
fn pair(value: i64) -> &'static str {
    const PAIRS: &str = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    let at = 2 * value as usize;
    &PAIRS[at..at + 2]
}

/// Year and week as Java's default locale (US) counts them: weeks begin on Sunday, the first is the one with 1 January.
fn us_week(days: i32) -> (i32, i32) {
    let sunday = days - (days + 4).rem_euclid(7);
    let (year, _, _) = civil_from_days(sunday + 6);
    let first = days_from_civil(year, 1, 1);
    let first_sunday = first - (first + 4).rem_euclid(7);
    (year, (sunday - first_sunday) / 7 + 1)
}
