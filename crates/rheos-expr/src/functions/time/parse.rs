//! Texts read by a pattern.

use rheos_core::text::calendar::{MS_PER_DAY, days_from_civil, days_in_month, is_leap_year};

use super::format::{MONTHS, WEEKDAYS};
use super::pattern::{Pattern, Piece, Style};

/// What a text said. Fields that it did not mention are absent.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    year: Option<i64>,
    before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    hour_of_half: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    nano: Option<i64>,
    offset_s: Option<i32>,
}

/// A date and time on a wall clock, in milliseconds since the epoch, with the zone's offset if the text named one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) local_ms: i64,
    pub(super) offset_s: Option<i32>,
}

impl Pattern {
    /// Reads a text; `None` if it is not of this pattern. What the pattern leaves out is that of 1970-01-01 00:00:00.
    pub(super) fn read(&self, text: &str) -> Option<Parsed> {
        let mut fields = Fields::default();
        match self.style {
            Style::Formatter => {
                let end = read_exact(&self.pieces, text, 0, &mut fields)?;
                if end == text.len() { fields.resolve() } else { None }
            }
            Style::Simple => {
                read_lenient(&self.pieces, text, &mut fields)?;
                fields.resolve_lenient()
            }
        }
    }
}

fn read_exact(pieces: &[Piece], text: &str, mut at: usize, fields: &mut Fields) -> Option<usize> {
    for (i, piece) in pieces.iter().enumerate() {
        at = match piece {
            Piece::Literal(literal) => text[at..].starts_with(literal.as_str()).then_some(at + literal.len())?,
            Piece::Optional(inner) => {
                let mut tried = *fields;
                match read_exact(inner, text, at, &mut tried) {
                    Some(end) => {
                        *fields = tried;
                        end
                    }
                    None => at,
                }
            }
            Piece::Field(letter, count) => read_field_exact(*letter, *count, &pieces[i + 1..], text, at, fields)?,
        }
    }
    Some(at)
}

/// The digits that a numeric field takes at least and at most, and whether it is numeric at all.
fn width(letter: u8, count: usize) -> Option<(usize, usize)> {
    Some(match (letter, count) {
        (b'y' | b'u' | b'Y', 2) => (2, 2),
        (b'y' | b'u' | b'Y', _) => (count, 19),
        (b'M' | b'L' | b'e' | b'c', 3..) | (b'E' | b'a' | b'G', _) => return None,
        (b'D', 2 | 3) => (count, 3),
        (b'S', _) => (count, count),
        (b'A' | b'n' | b'N', _) => (count, 19),
        (_, 1) => (1, 19),
        (_, _) => (count, count),
    })
}

fn read_field_exact(letter: u8, count: usize, rest: &[Piece], text: &str, at: usize, fields: &mut Fields) -> Option<usize> {
    let Some((min, max)) = width(letter, count) else {
        return read_name(letter, count, text, at, fields, false);
    };
    // A field of varying width leaves to the fields that follow it without a separator what they need.
    let mut reserved = 0;
    if min != max {
        for piece in rest {
            match piece {
                Piece::Field(l, c) => match width(*l, *c) {
                    Some((a, b)) if a == b => reserved += a,
                    _ => break,
                },
                _ => break,
            }
        }
    }
    let run = text.as_bytes()[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut taken = run.min(max + reserved);
    if reserved > 0 {
        taken = taken.saturating_sub(reserved).max(min);
    }
    // More digits than the year's letters say need a sign.
    let too_wide = matches!(letter, b'y' | b'u' | b'Y') && count >= 4 && taken > count;
    if taken < min || taken > run || too_wide {
        return None;
    }
    let value = number(&text[at..at + taken])?;
    let value = match (letter, count) {
        (b'y' | b'u' | b'Y', 2) => 2000 + value,
        (b'S', _) => value * 10i64.pow(9 - count.min(9) as u32),
        _ => value,
    };
    fields.set(letter, value, false)?;
    Some(at + taken)
}

fn number(digits: &str) -> Option<i64> {
    digits.parse().ok().filter(|n| *n <= 1_000_000_000_000)
}

/// Reads a month, a weekday, half of the day or era by name.
fn read_name(letter: u8, count: usize, text: &str, at: usize, fields: &mut Fields, lenient: bool) -> Option<usize> {
    let starts = |name: &str| {
        let found = text.as_bytes().get(at..at + name.len())?;
        let same = if lenient { found.eq_ignore_ascii_case(name.as_bytes()) } else { found == name.as_bytes() };
        same.then_some(name.len())
    };
    let find = |names: &[&str]| {
        let full = lenient || count >= 4;
        let short = lenient || count < 4;
        let long = names.iter().enumerate().filter(|_| full).find_map(|(i, n)| Some((i, starts(n)?)));
        long.or_else(|| names.iter().enumerate().filter(|_| short).find_map(|(i, n)| Some((i, starts(&n[..3])?))))
    };
    let taken = match letter {
        b'M' | b'L' => {
            let (month, taken) = find(&MONTHS)?;
            fields.month = Some(month as i64 + 1);
            taken
        }
        b'E' | b'e' | b'c' => find(&WEEKDAYS)?.1,
        b'a' => {
            fields.afternoon = Some(starts("PM").is_some());
            starts("AM").or_else(|| starts("PM"))?
        }
        _ => {
            fields.before_christ = starts("BC").is_some();
            starts("AD").or_else(|| starts("BC"))?
        }
    };
    Some(at + taken)
}

fn read_lenient(pieces: &[Piece], text: &str, fields: &mut Fields) -> Option<()> {
    let mut at = 0;
    for (i, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Literal(literal) => {
                at = text[at..].starts_with(literal.as_str()).then_some(at + literal.len())?;
            }
            Piece::Optional(_) => return None,
            Piece::Field(letter, count) => {
                at += text.as_bytes()[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
                at = match letter {
                    b'M' | b'L' if *count >= 3 => read_name(*letter, *count, text, at, fields, true)?,
                    b'E' | b'a' | b'G' => read_name(*letter, *count, text, at, fields, true)?,
                    b'z' | b'Z' | b'X' => {
                        let (end, offset_s) = read_offset(text, at)?;
                        fields.offset_s = Some(offset_s);
                        end
                    }
                    _ => {
                        let abuts = matches!(pieces.get(i + 1), Some(Piece::Field(l, c)) if width(*l, *c).is_some());
                        let bytes = &text.as_bytes()[at..];
                        let sign = usize::from(!abuts && bytes.first() == Some(&b'-'));
                        let digits = bytes[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
                        let digits = if abuts { digits.min(*count) } else { digits };
                        let value = number(&text[at + sign..at + sign + digits])? * if sign == 1 { -1 } else { 1 };
                        // Two digits mean the century around now.
                        let short_year = matches!(letter, b'y' | b'Y') && *count <= 2 && digits == 2 && sign == 0;
                        fields.set(*letter, if short_year { century(value) } else { value }, true)?;
                        at + sign + digits
                    }
                };
            }
        }
    }
    Some(())
}

/// The year of two digits that lies within 80 years before and 20 years after now.
fn century(value: i64) -> i64 {
    let today = rheos_core::env::system_now_ms().div_euclid(MS_PER_DAY) as i32;
    let this_year = i64::from(rheos_core::text::calendar::civil_from_days(today).0);
    let year = this_year / 100 * 100 + value;
    if year > this_year + 20 {
        year - 100
    } else if year <= this_year - 80 {
        year + 100
    } else {
        year
    }
}

/// Reads `Z`, `UTC`, `GMT`, `+01`, `+0100`, `+01:00` or `GMT+01:00`.
fn read_offset(text: &str, mut at: usize) -> Option<(usize, i32)> {
    if text[at..].starts_with('Z') {
        return Some((at + 1, 0));
    }
    let named = text[at..].starts_with("GMT") || text[at..].starts_with("UTC");
    at += if named { 3 } else { 0 };
    let sign = match text.as_bytes().get(at) {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return named.then_some((at, 0)),
    };
    let bytes = &text.as_bytes()[at + 1..];
    let pair = |i: usize| {
        let digits = bytes.get(i..i + 2)?;
        digits.iter().all(u8::is_ascii_digit).then(|| i32::from(digits[0] - b'0') * 10 + i32::from(digits[1] - b'0'))
    };
    let hours = pair(0)?;
    let colon = usize::from(bytes.get(2) == Some(&b':'));
    let (minutes, taken) = pair(2 + colon).map_or((0, 2), |m| (m, 4 + colon));
    Some((at + 1 + taken, sign * (hours * 3600 + minutes * 60)))
}

impl Fields {
    fn set(&mut self, letter: u8, value: i64, lenient: bool) -> Option<()> {
        let within = |low: i64, high: i64| (lenient || (low..=high).contains(&value)).then_some(value);
        match letter {
            b'u' if lenient => {}
            b'y' | b'u' => self.year = Some(value),
            b'M' | b'L' => self.month = Some(within(1, 12)?),
            b'd' => self.day = Some(within(1, 31)?),
            b'D' => self.day_of_year = Some(within(1, 366)?),
            b'H' => self.hour = Some(within(0, 23)?),
            b'k' => self.hour = Some(within(1, 24)? % 24),
            b'K' => self.hour_of_half = Some(within(0, 11)?),
            b'h' => self.hour_of_half = Some(within(1, 12)? % 12),
            b'm' => self.minute = Some(within(0, 59)?),
            b's' => self.second = Some(within(0, 59)?),
            b'S' if lenient => self.nano = Some(value * 1_000_000),
            b'S' | b'n' => self.nano = Some(within(0, 999_999_999)?),
            b'A' => return within(0, MS_PER_DAY - 1).map(|v| self.set_time_of_day(v * 1_000_000)),
            b'N' => return within(0, MS_PER_DAY * 1_000_000 - 1).map(|v| self.set_time_of_day(v)),
            // Weeks, weekdays and quarters alone do not make a date.
            _ => {}
        }
        Some(())
    }

    fn set_time_of_day(&mut self, nanos: i64) {
        let seconds = nanos / 1_000_000_000;
        (self.hour, self.minute, self.second) = (Some(seconds / 3600), Some(seconds / 60 % 60), Some(seconds % 60));
        self.nano = Some(nanos % 1_000_000_000);
    }

    fn hours(&self) -> i64 {
        match (self.hour, self.hour_of_half, self.afternoon) {
            (Some(hour), _, _) => hour,
            (None, Some(hour), Some(afternoon)) => hour + if afternoon { 12 } else { 0 },
            _ => 0,
        }
    }

    fn time_ms(&self) -> i64 {
        let seconds = self.hours() * 3600 + self.minute.unwrap_or(0) * 60 + self.second.unwrap_or(0);
        seconds * 1000 + self.nano.unwrap_or(0).div_euclid(1_000_000)
    }

    /// As java.time's SMART resolution: a day beyond the month's end is its last day.
    fn resolve(&self) -> Option<Parsed> {
        let year = self.year.map_or(1970, |y| if self.before_christ { 1 - y } else { y });
        let year = i32::try_from(year).ok().filter(|y| y.abs() <= 999_999)?;
        let days = match self.day_of_year {
            Some(day) if self.year.is_some() && self.month.is_none() => {
                if day > 365 + i64::from(is_leap_year(year)) {
                    return None;
                }
                days_from_civil(year, 1, 1) + day as i32 - 1
            }
            _ => {
                let month = self.month.unwrap_or(1) as u32;
                days_from_civil(year, month, (self.day.unwrap_or(1) as u32).min(days_in_month(year, month)))
            }
        };
        Some(Parsed { local_ms: i64::from(days) * MS_PER_DAY + self.time_ms(), offset_s: self.offset_s })
    }

    /// As a lenient calendar: the thirteenth month is the next year's first.
    fn resolve_lenient(&self) -> Option<Parsed> {
        let year = self.year.map_or(1970, |y| if self.before_christ { 1 - y } else { y });
        let mut fields = *self;
        if fields.hour.is_none() && fields.afternoon.is_none() {
            fields.hour = fields.hour_of_half;
        }
        let month = self.month.unwrap_or(1) - 1;
        let year = i32::try_from(year.checked_add(month.div_euclid(12))?).ok().filter(|y| y.abs() <= 999_999)?;
        let first = match self.day_of_year {
            Some(day) if self.month.is_none() => i64::from(days_from_civil(year, 1, 1)).checked_add(day - 1)?,
            _ => i64::from(days_from_civil(year, month.rem_euclid(12) as u32 + 1, 1)).checked_add(self.day.unwrap_or(1) - 1)?,
        };
        let local_ms = first.checked_mul(MS_PER_DAY)?.checked_add(fields.time_ms())?;
        Some(Parsed { local_ms, offset_s: self.offset_s })
    }
}
