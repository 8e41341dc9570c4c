//! Timestamps in ISO 8601's form: `2024-02-29T12:34:56.789`.

use std::fmt::Write;

use arrow::array::Array;

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{civil_from_days, per_second};

use super::local::{Local, stored_array};

/// Which of Java's forms is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsoForm {
    /// `LocalDateTime.toString`: no seconds where they are zero, a fraction of 3, 6 or 9 digits.
    Short,
    /// `DateTimeFormatter.ISO_LOCAL_DATE_TIME`: always seconds, no more digits than needed.
    Long,
}

/// Appends a timestamp of whatever unit.
pub(crate) fn write_iso_timestamp(out: &mut String, array: &dyn Array, row: usize, form: IsoForm) -> Result<()> {
    let Local::Stamp(values, unit) = stored_array(array)? else {
        return Err(Error::bug(format!("a value of type {} is no timestamp", array.data_type())));
    };
    let per_second = per_second(unit);
    let (seconds, fraction) = (values.value(row).div_euclid(per_second), values.value(row).rem_euclid(per_second));
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400) as i32);
    let second_of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    // Writing to a text cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}");
    if form == IsoForm::Long || second != 0 || fraction != 0 {
        let _ = write!(out, ":{second:02}");
    }
    if fraction == 0 {
        return Ok(());
    }
    let digits = format!("{:09}", fraction * (1_000_000_000 / per_second));
    let needed = digits.trim_end_matches('0').len();
    let length = if form == IsoForm::Long { needed } else { needed.div_ceil(3) * 3 };
    out.push('.');
    out.push_str(&digits[..length]);
    Ok(())
}
