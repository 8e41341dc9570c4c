//! The session's time zone: between instants and the wall clock.

use chrono::{Offset, TimeZone};
use chrono_tz::Tz;

use rheos_core::error::{Error, Result};

/// A zone by name, or a fixed offset.
#[derive(Debug, Clone, Copy)]
pub(super) enum Zone {
    /// Seconds east of UTC.
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    /// `UTC`, `Europe/Berlin`, `+02:00`, `GMT+02:00`.
    pub(super) fn parse(name: &str) -> Result<Zone> {
        if matches!(name, "UTC" | "Z" | "GMT" | "Etc/UTC") {
            return Ok(Zone::Fixed(0));
        }
        if let Ok(zone) = name.parse() {
            return Ok(Zone::Named(zone));
        }
        let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
        let parse = || {
            let (sign, digits) = match offset.as_bytes().first()? {
                b'+' => (1, &offset[1..]),
                b'-' => (-1, &offset[1..]),
                _ => return None,
            };
            let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
            let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
            ((0..=18).contains(&hours) && (0..60).contains(&minutes)).then_some(Zone::Fixed(sign * (hours * 3600 + minutes * 60)))
        };
        parse().ok_or_else(|| Error::config(format!("there is no time zone '{name}'; 'UTC', 'Europe/Berlin' and '+02:00' are examples")))
    }

    pub(super) fn is_utc(self) -> bool {
        matches!(self, Zone::Fixed(0))
    }

    /// Seconds that the wall clock is ahead of UTC at an instant.
    pub(super) fn offset_at_utc(self, seconds: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => offset,
            Zone::Named(zone) => chrono::DateTime::from_timestamp(seconds, 0)
                .map_or(0, |at| i64::from(zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc())),
        }
    }

    /// Seconds that the wall clock is ahead of UTC where it shows a time. Shown twice, the first counts; a time that was
    /// skipped is taken with the offset before the gap.
    pub(super) fn offset_at_local(self, seconds: i64) -> i64 {
        match self {
            Zone::Fixed(offset) => offset,
            Zone::Named(zone) => {
                let Some(at) = chrono::DateTime::from_timestamp(seconds, 0).map(|at| at.naive_utc()) else { return 0 };
                let offset = zone.offset_from_local_datetime(&at).earliest().map(|o| i64::from(o.fix().local_minus_utc()));
                offset.unwrap_or_else(|| self.offset_at_utc(seconds - 86_400))
            }
        }
    }
}

/// Whether a session can have that time zone.
pub fn is_time_zone(name: &str) -> bool {
    Zone::parse(name).is_ok()
}
