//! Time zones by name: between an instant and the wall clock.

use chrono::{LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// A zone of the IANA database, or an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// So many seconds east of UTC, always.
    Fixed(i32),
    /// A zone whose offset changes.
    Named(Tz),
}

/// Which of two readings of a wall clock holds when the clock was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// The first, as `java.time` takes it.
    Earlier,
    /// Standard time, as `java.util.Calendar` takes it.
    Later,
}

impl Zone {
    /// The zone of a name: `UTC`, `Europe/Berlin`, `GMT+8`, `UTC+08:00`, `+08:00`.
    pub(crate) fn parse(name: &str) -> Option<Zone> {
        let name = name.trim();
        if matches!(name, "UTC" | "GMT" | "Z" | "Etc/UTC") {
            return Some(Zone::Fixed(0));
        }
        let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
        if let Some(sign) = match offset.as_bytes().first() {
            Some(b'+') => Some(1),
            Some(b'-') => Some(-1),
            _ => None,
        } {
            let digits = &offset[1..];
            let (hours, minutes) = match digits.split_once(':') {
                Some((h, m)) => (h, m),
                None if digits.len() == 4 => digits.split_at_checked(2)?,
                None => (digits, "0"),
            };
            let legal = |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
            if !legal(hours) || !legal(minutes) {
                return None;
            }
            let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
            return (hours <= 18 && minutes < 60).then_some(Zone::Fixed(sign * (hours * 3600 + minutes * 60)));
        }
        name.parse::<Tz>().ok().map(Zone::Named)
    }

    /// Seconds east of UTC at an instant.
    pub(crate) fn offset_at(&self, utc_ms: i64) -> i32 {
        match self {
            Zone::Fixed(offset_s) => *offset_s,
            Zone::Named(tz) => naive(utc_ms).map_or(0, |utc| tz.offset_from_utc_datetime(&utc).fix().local_minus_utc()),
        }
    }

    /// Seconds east of UTC when the wall clock shows a time. A time that the clock jumped over is read with the offset
    /// before the jump.
    pub(crate) fn offset_of_local(&self, local_ms: i64, overlap: Overlap) -> i32 {
        let tz = match self {
            Zone::Fixed(offset_s) => return *offset_s,
            Zone::Named(tz) => tz,
        };
        let Some(local) = naive(local_ms) else { return 0 };
        match tz.offset_from_local_datetime(&local) {
            LocalResult::Single(offset) => offset.fix().local_minus_utc(),
            LocalResult::Ambiguous(earlier, later) => match overlap {
                Overlap::Earlier => earlier.fix().local_minus_utc(),
                Overlap::Later => later.fix().local_minus_utc(),
            },
            LocalResult::None => {
                let before = local.checked_sub_signed(TimeDelta::hours(24)).unwrap_or(local);
                tz.offset_from_local_datetime(&before).earliest().map_or(0, |o| o.fix().local_minus_utc())
            }
        }
    }
}

fn naive(ms: i64) -> Option<NaiveDateTime> {
    chrono::DateTime::from_timestamp_millis(ms).map(|d| d.naive_utc())
}
