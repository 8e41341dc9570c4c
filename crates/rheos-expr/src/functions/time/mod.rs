//! Functions of dates, times, timestamps and intervals.
//!
//! A unit is given as a constant text: `EXTRACT('YEAR', value)`, `FLOOR(value, 'HOUR')`, `TIMESTAMPADD('DAY', 1, value)`.

use rheos_core::types::TypeKind;

use crate::function::{Arg, Function, Signature};

use super::signature::Param::{self, Kind, Text};
use super::signature::{accept, any_nullable, count, signature};

mod arithmetic;
mod extract;
mod format;
pub(super) mod iso;
mod local;
mod now;
mod parse;
mod pattern;
pub(super) mod round;
#[cfg(test)]
mod tests;
mod text;
mod unit;
pub(super) mod zone;

use unit::Unit;

const STRING: TypeKind = TypeKind::STRING;
const LONG: Param = Kind(TypeKind::BigInt);

macro_rules! part {
    ($name:literal, $unit:expr) => {
        Function::new($name, concat!($name, "(date or timestamp)"), |a| extract::resolve_part($unit, a), |c| extract::part($unit, c, 0))
            .cheap()
            .session_dependent()
    };
}

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    // Parts. TIMESTAMP_LTZ is read in the session's zone.
    Function::new("EXTRACT", "EXTRACT(unit FROM value)", extract::resolve, extract::extract).cheap().session_dependent(),
    part!("YEAR", Unit::Year),
    part!("QUARTER", Unit::Quarter),
    part!("MONTH", Unit::Month),
    part!("WEEK", Unit::Week),
    part!("DAYOFYEAR", Unit::DayOfYear),
    part!("DAYOFMONTH", Unit::Day),
    part!("DAYOFWEEK", Unit::DayOfWeek),
    part!("HOUR", Unit::Hour),
    part!("MINUTE", Unit::Minute),
    part!("SECOND", Unit::Second),
    // Arithmetic.
    Function::new("TIMESTAMPADD", "TIMESTAMPADD(unit, count, value)", arithmetic::resolve_add, arithmetic::add),
    Function::new("TIMESTAMPDIFF", "TIMESTAMPDIFF(unit, from, to)", arithmetic::resolve_diff, arithmetic::diff).session_dependent(),
    Function::new("OVERLAPS", "(start, end) OVERLAPS (start, end)", arithmetic::resolve_overlaps, arithmetic::overlaps).session_dependent(),
    // Texts.
    Function::new("DATE_FORMAT", "DATE_FORMAT(value, pattern)", text::resolve_date_format, text::date_format)
        .prepared(text::prepare_date_format)
        .session_dependent(),
    Function::new("TO_TIMESTAMP", "TO_TIMESTAMP(text [, pattern])", text::resolve_to_timestamp, text::to_timestamp)
        .prepared(text::prepare_to_timestamp),
    Function::new("TO_DATE", "TO_DATE(text [, pattern])", text::resolve_to_date, text::to_date).prepared(text::prepare_to_date),
    Function::new(
        "TO_TIMESTAMP_LTZ",
        "TO_TIMESTAMP_LTZ(number [, precision]) or (text [, pattern [, zone]])",
        text::resolve_to_ltz,
        text::to_ltz,
    )
    .session_dependent(),
    Function::new(
        "FROM_UNIXTIME",
        "FROM_UNIXTIME(seconds [, pattern])",
        |a| nullable(signature(a, &[LONG], &[Text], STRING)),
        text::from_unixtime,
    )
    .session_dependent(),
    Function::new("UNIX_TIMESTAMP", "UNIX_TIMESTAMP([text [, pattern]])", now::resolve_unix_timestamp, now::unix_timestamp)
        .nondeterministic()
        .session_dependent(),
    Function::new(
        "CONVERT_TZ",
        "CONVERT_TZ(text, from zone, to zone)",
        |a| nullable(signature(a, &[Text, Text, Text], &[], STRING)),
        text::convert_tz,
    ),
    // Now.
    Function::new("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", now::resolve_instant, now::instant)
        .aliases(&["NOW", "CURRENT_ROW_TIMESTAMP"])
        .nondeterministic(),
    // Known to calcs only; the planner sees to it.
    Function::new("CURRENT_WATERMARK", "CURRENT_WATERMARK(row time)", now::resolve_watermark, now::watermark).nondeterministic(),
    // A time attribute: operators over it use their own clock.
    Function::new("PROCTIME", "PROCTIME()", now::resolve_instant, now::instant).nondeterministic(),
    Function::new("LOCALTIMESTAMP", "LOCALTIMESTAMP", |a| now::resolve(a, TypeKind::Timestamp(3)), now::timestamp)
        .nondeterministic()
        .session_dependent(),
    Function::new("CURRENT_DATE", "CURRENT_DATE", |a| now::resolve(a, TypeKind::Date), now::date).nondeterministic().session_dependent(),
    Function::new("LOCALTIME", "LOCALTIME", |a| now::resolve(a, TypeKind::Time(0)), now::time)
        .aliases(&["CURRENT_TIME"])
        .nondeterministic()
        .session_dependent(),
];

/// The result may be NULL although no argument is.
fn nullable(signature: Result<Signature, String>) -> Result<Signature, String> {
    signature.map(|s| Signature { result: s.result.with_nullable(true), ..s })
}

/// The unit that a constant argument names.
fn unit_of(args: &[Arg<'_>], index: usize) -> Result<Unit, String> {
    let name = args.get(index).and_then(Arg::text).ok_or_else(|| format!("argument {} must be a constant unit of time", index + 1))?;
    Unit::parse(name).ok_or_else(|| format!("'{name}' is no unit of time; YEAR, MONTH, DAY, HOUR and SECOND are"))
}

/// A DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ, or an interval where one may be.
fn moment(args: &[Arg<'_>], index: usize, interval: bool) -> Result<rheos_core::types::LogicalType, String> {
    let arg = args[index];
    match arg.kind() {
        TypeKind::Null => Ok(TypeKind::Timestamp(3).nullable()),
        kind if kind.is_temporal() || (interval && kind.is_interval()) => Ok(arg.ty().clone()),
        // A text is read as a timestamp.
        kind if kind.is_character() => Ok(TypeKind::Timestamp(3).nullable()),
        kind => Err(format!("argument {} must be a DATE, TIME or TIMESTAMP, got {kind}", index + 1)),
    }
}
