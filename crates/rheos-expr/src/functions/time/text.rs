//! Moments written as texts and read from them.

use std::sync::Arc;

use arrow::array::{Date32Array, Int64Array, StringArray, StringBuilder, TimestampMillisecondArray};
use arrow::datatypes::{Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMillisecondType};

use rheos_core::error::{Error, Result};
use rheos_core::text::calendar::{MS_PER_DAY, per_second};
use rheos_core::text::{parse_date, parse_timestamp};
use rheos_core::types::{LogicalType, TypeKind};

use crate::expr::{EvalConfig, Expr};
use crate::function::{Arg, Call, Prepared, Signature, Value};
use crate::functions::kernel::{Rows, collect_numbers, numbers, result, rows_to_compute, texts, write_texts};
use crate::functions::signature::Param::{self, Integer, Kind, Text};

use super::format::Moment;
use super::local::{Local, Offsets, at, local, session_zone, to_utc_ms};
use super::pattern::{Pattern, Style};
use super::zone::{Overlap, Zone};
use super::{STRING, accept, count, nullable, signature};

/// The pattern of texts where none is given.
const DEFAULT_PATTERN: &str = "yyyy-MM-dd HH:mm:ss";
/// 0000-01-01 to 9999-12-31: beyond, Flink gives NULL.
const LEGAL_MS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// A pattern that may change from row to row, parsed when it does.
struct Patterns<'a> {
    style: Style,
    rows: Option<Rows<'a, StringArray>>,
    last: Option<(&'a str, Pattern)>,
}

impl<'a> Patterns<'a> {
    /// The pattern in argument `index`, or the default one.
    fn of(call: &Call<'a>, index: usize, style: Style) -> Result<Patterns<'a>> {
        let rows = (call.args.len() > index).then(|| texts(call, index)).transpose()?;
        Ok(Patterns { style, rows, last: None })
    }

    fn get(&mut self, row: usize) -> Result<Option<&Pattern>> {
        let text = match &self.rows {
            None => DEFAULT_PATTERN,
            Some(rows) => match rows.get(row) {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        if self.last.as_ref().is_none_or(|(last, _)| *last != text) {
            self.last = Some((text, Pattern::parse(text, self.style).map_err(Error::input)?));
        }
        Ok(self.last.as_ref().map(|(_, pattern)| pattern))
    }
}

/// Refuses a constant that is no pattern.
fn legal_pattern(args: &[Arg<'_>], index: usize, style: Style) -> Result<(), String> {
    match args.get(index).and_then(Arg::text) {
        Some(pattern) => Pattern::parse(pattern, style).map(drop),
        None => Ok(()),
    }
}

/// Only timestamps are written by a formatter.
fn style_of(kind: &TypeKind) -> Style {
    if kind.is_timestamp() { Style::Formatter } else { Style::Simple }
}

pub(super) fn resolve_date_format(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, 2)?;
    let value = match args[0].kind() {
        TypeKind::Null => TypeKind::Timestamp(3).nullable(),
        kind if kind.is_timestamp() || kind.is_character() || *kind == TypeKind::Date => args[0].ty().clone(),
        kind => return Err(format!("argument 1 must be a DATE, a TIMESTAMP or a text, got {kind}")),
    };
    legal_pattern(args, 1, style_of(&value.kind))?;
    Ok(Signature { args: vec![value, accept(1, &args[1], &Text)?], result: STRING.nullable() })
}

/// Moments written by one pattern, the text kept as long as it is the same.
struct Writer {
    unit: TimeUnit,
    step: i64,
    /// The values from `from` on, `step` many, have this text.
    from: i64,
    text: String,
}

impl Writer {
    fn new(pattern: &Pattern, unit: TimeUnit) -> Self {
        Writer { unit, step: pattern.step_ns / (1_000_000_000 / per_second(unit)), from: i64::MIN, text: String::with_capacity(32) }
    }

    #[inline]
    fn write(&mut self, pattern: &Pattern, value: i64, offset_s: i32) -> &str {
        let same = self.from != i64::MIN && value >= self.from && value - self.from < self.step;
        if !same {
            self.text.clear();
            // Writing to a text cannot fail.
            let _ = pattern.write(&Moment { offset_s, ..Moment::from_local(value, self.unit) }, &mut self.text);
            self.from = if self.step > 0 { value.div_euclid(self.step).saturating_mul(self.step) } else { i64::MIN };
        }
        &self.text
    }
}

fn write_column(call: &Call<'_>, pattern: &Pattern, values: &Int64Array, unit: TimeUnit) -> Value {
    let mut writer = Writer::new(pattern, unit);
    let mut out = StringBuilder::with_capacity(values.len(), values.len() * 16);
    for value in values {
        out.append_option(value.map(|v| writer.write(pattern, v, 0)));
    }
    result(call, Arc::new(out.finish()))
}

/// Texts read by the default pattern.
fn read_texts(call: &Call<'_>) -> Result<Int64Array> {
    let reader = Pattern::parse(DEFAULT_PATTERN, Style::Simple).map_err(Error::bug)?;
    Ok(texts(call, 0)?.array().iter().map(|text| reader.read(text?).map(|read| read.local_ms)).collect())
}

fn format_column(call: &Call<'_>, pattern: &Pattern) -> Result<Value> {
    if call.arg_types[0].kind.is_character() {
        return Ok(write_column(call, pattern, &read_texts(call)?, TimeUnit::Millisecond));
    }
    Ok(match local(call, 0)? {
        Local::Stamp(values, unit) => write_column(call, pattern, &values, unit),
        other => write_column(call, pattern, &other.into_ms()?, TimeUnit::Millisecond),
    })
}

pub(super) fn prepare_date_format(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some((pattern, style)) = args.get(1).and_then(Expr::literal_text).zip(args.first().map(|a| style_of(&a.ty().kind))) else {
        return Ok(None);
    };
    let pattern = Pattern::parse(pattern, style).map_err(Error::config)?;
    Ok(Some(Box::new(move |call| format_column(call, &pattern))))
}

pub(super) fn date_format(call: &Call<'_>) -> Result<Value> {
    let mut patterns = Patterns::of(call, 1, style_of(&call.arg_types[0].kind))?;
    let (values, unit) = if call.arg_types[0].kind.is_character() {
        (read_texts(call)?, TimeUnit::Millisecond)
    } else {
        match local(call, 0)? {
            Local::Stamp(values, unit) => (values, unit),
            other => (other.into_ms()?, TimeUnit::Millisecond),
        }
    };
    let rows = rows_to_compute(call);
    let mut out = StringBuilder::with_capacity(rows, rows * 16);
    let mut text = String::new();
    for row in 0..rows {
        let written = match (at(&values, row), patterns.get(row)?) {
            (Some(value), Some(pattern)) => {
                text.clear();
                pattern.write(&Moment::from_local(value, unit), &mut text).ok()
            }
            _ => None,
        };
        out.append_option(written.map(|()| &text));
    }
    Ok(result(call, Arc::new(out.finish())))
}

pub(super) fn resolve_to_timestamp(args: &[Arg<'_>]) -> Result<Signature, String> {
    legal_pattern(args, 1, Style::Formatter)?;
    nullable(signature(args, &[Text], &[Text], TypeKind::Timestamp(3)))
}

/// A text that is not of the pattern may still be of SQL's own form.
fn read_timestamp(pattern: &Pattern, text: &str) -> Option<i64> {
    let read = pattern.read(text).map(|p| p.local_ms);
    read.or_else(|| parse_timestamp(text.trim(), TimeUnit::Millisecond))
}

pub(super) fn prepare_to_timestamp(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(pattern) = args.get(1).and_then(Expr::literal_text) else { return Ok(None) };
    let pattern = Pattern::parse(pattern, Style::Formatter).map_err(Error::config)?;
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        collect_numbers::<TimestampMillisecondType>(call, |row| read_timestamp(&pattern, text.get(row)?))
    })))
}

pub(super) fn to_timestamp(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    if call.args.len() < 2 {
        return collect_numbers::<TimestampMillisecondType>(call, |row| parse_timestamp(text.get(row)?, TimeUnit::Millisecond));
    }
    let mut patterns = Patterns::of(call, 1, Style::Formatter)?;
    let read = (0..rows_to_compute(call)).map(|row| match (text.get(row), patterns.get(row)?) {
        (Some(text), Some(pattern)) => Ok(read_timestamp(pattern, text)),
        _ => Ok(None),
    });
    Ok(result(call, Arc::new(read.collect::<Result<TimestampMillisecondArray>>()?)))
}

pub(super) fn resolve_to_date(args: &[Arg<'_>]) -> Result<Signature, String> {
    legal_pattern(args, 1, Style::Simple)?;
    nullable(signature(args, &[Text], &[Text], TypeKind::Date))
}

fn read_date(pattern: &Pattern, text: &str) -> Option<i32> {
    pattern.read(text).map(|p| p.local_ms.div_euclid(MS_PER_DAY) as i32)
}

pub(super) fn prepare_to_date(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(pattern) = args.get(1).and_then(Expr::literal_text) else { return Ok(None) };
    let pattern = Pattern::parse(pattern, Style::Simple).map_err(Error::config)?;
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        collect_numbers::<Date32Type>(call, |row| read_date(&pattern, text.get(row)?))
    })))
}

pub(super) fn to_date(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    if call.args.len() < 2 {
        return collect_numbers::<Date32Type>(call, |row| parse_date(text.get(row)?));
    }
    let mut patterns = Patterns::of(call, 1, Style::Simple)?;
    let read = (0..rows_to_compute(call)).map(|row| match (text.get(row), patterns.get(row)?) {
        (Some(text), Some(pattern)) => Ok(read_date(pattern, text)),
        _ => Ok(None),
    });
    Ok(result(call, Arc::new(read.collect::<Result<Date32Array>>()?)))
}

pub(super) fn resolve_to_ltz(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, 3)?;
    let result = TypeKind::TimestampLtz(3);
    if args[0].kind().is_character() {
        legal_pattern(args, 1, Style::Formatter)?;
        return nullable(signature(args, &[Text], &[Text, Text], result));
    }
    if args.get(1).and_then(Arg::int).is_some_and(|p| !(0..=9).contains(&p)) {
        return Err("argument 2 is the precision of the number: 0 for seconds, 3 for milliseconds, at most 9".into());
    }
    let number = if args[0].kind().is_approximate() { Kind(TypeKind::Double) } else { Kind(TypeKind::BigInt) };
    // A decimal is cut to a whole number.
    let number_type = match args[0].kind() {
        TypeKind::Decimal(..) => TypeKind::BigInt.with_nullable(args[0].ty().nullable),
        _ => accept(0, &args[0], &number)?,
    };
    let mut types = vec![number_type];
    if let Some(precision) = args.get(1) {
        accept(1, precision, &Integer)?;
        types.push(accept(1, precision, &Kind(TypeKind::BigInt) as &Param)?);
    }
    count(args, 1, 2)?;
    Ok(Signature { args: types, result: result.nullable() })
}

pub(super) fn to_ltz(call: &Call<'_>) -> Result<Value> {
    match call.arg_types[0].kind {
        TypeKind::Double => {
            let (number, precision) = (numbers::<Float64Type>(call, 0)?, precisions(call)?);
            collect_numbers::<TimestampMillisecondType>(call, |row| {
                let ms = number.get(row)? * 10f64.powi(3 - i32::try_from(precision(row)?).ok()?);
                Some(ms as i64).filter(|ms| LEGAL_MS.contains(ms))
            })
        }
        TypeKind::BigInt => {
            let (number, precision) = (numbers::<Int64Type>(call, 0)?, precisions(call)?);
            collect_numbers::<TimestampMillisecondType>(call, |row| {
                let (number, precision) = (number.get(row)?, u32::try_from(precision(row)?).ok().filter(|p| *p <= 9)?);
                let ms = if precision <= 3 {
                    number.checked_mul(10i64.pow(3 - precision))?
                } else {
                    number.div_euclid(10i64.pow(precision - 3))
                };
                Some(ms).filter(|ms| LEGAL_MS.contains(ms))
            })
        }
        _ => texts_to_ltz(call),
    }
}

/// Milliseconds where nothing else is said.
fn precisions<'a>(call: &Call<'a>) -> Result<impl Fn(usize) -> Option<i64> + use<'a>> {
    let rows: Option<Rows<'a, _>> = (call.args.len() > 1).then(|| numbers::<Int64Type>(call, 1)).transpose()?;
    Ok(move |row| rows.as_ref().map_or(Some(3), |r| r.get(row)))
}

/// Text, pattern, zone; UTC where no zone is given.
fn texts_to_ltz(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    let zone_rows: Option<Rows<'_, StringArray>> = (call.args.len() > 2).then(|| texts(call, 2)).transpose()?;
    let mut patterns = Patterns::of(call, 1, Style::Formatter)?;
    let default = call.args.len() < 2;
    let mut zones = Zones::default();
    let read = (0..rows_to_compute(call)).map(|row| {
        let (Some(text), Some(pattern)) = (text.get(row), patterns.get(row)?) else { return Ok(None) };
        let zone = match &zone_rows {
            None => Some(Zone::Fixed(0)),
            Some(rows) => rows.get(row).and_then(|name| zones.get(name)),
        };
        let local = if default { parse_timestamp(text, TimeUnit::Millisecond) } else { read_timestamp(pattern, text) };
        Ok(local.zip(zone).map(|(local, zone)| to_utc_ms(zone, local, Overlap::Earlier)))
    });
    let array = read.collect::<Result<TimestampMillisecondArray>>()?.with_timezone("UTC");
    Ok(result(call, Arc::new(array)))
}

/// Zones by name, the last one kept.
#[derive(Default)]
struct Zones<'a>(Option<(&'a str, Option<Zone>)>);

impl<'a> Zones<'a> {
    fn get(&mut self, name: &'a str) -> Option<Zone> {
        match self.0 {
            Some((last, zone)) if last == name => zone,
            _ => {
                let zone = Zone::parse(name);
                self.0 = Some((name, zone));
                zone
            }
        }
    }
}

/// Seconds since the epoch written in the session's zone.
pub(super) fn from_unixtime(call: &Call<'_>) -> Result<Value> {
    let seconds = numbers::<Int64Type>(call, 0)?;
    let mut patterns = Patterns::of(call, 1, Style::Simple)?;
    let constant = call.args.get(1).is_none_or(Value::is_constant);
    let mut offsets = Offsets::new(session_zone(call)?);
    let mut writer: Option<Writer> = None;
    let rows = rows_to_compute(call);
    let mut out = StringBuilder::with_capacity(rows, rows * 19);
    for row in 0..rows {
        let (Some(seconds), Some(pattern)) = (seconds.get(row), patterns.get(row)?) else {
            out.append_null();
            continue;
        };
        let Some(utc_ms) = seconds.checked_mul(1000) else {
            out.append_null();
            continue;
        };
        if !constant {
            writer = None;
        }
        let writer = writer.get_or_insert_with(|| Writer::new(pattern, TimeUnit::Millisecond));
        let offset_s = offsets.at(utc_ms);
        out.append_value(writer.write(pattern, utc_ms.saturating_add(i64::from(offset_s) * 1000), offset_s));
    }
    Ok(result(call, Arc::new(out.finish())))
}

/// Texts on the session's wall clock as seconds since the epoch; NULL where Flink gives the least number there is.
pub(super) fn read_unix_timestamps(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    let mut patterns = Patterns::of(call, 1, Style::Simple)?;
    let zone = session_zone(call)?;
    let read = (0..rows_to_compute(call)).map(|row| {
        let (Some(text), Some(pattern)) = (text.get(row), patterns.get(row)?) else { return Ok(None) };
        Ok(pattern.read(text).map(|read| {
            let utc_ms = match read.offset_s {
                Some(offset_s) => read.local_ms - i64::from(offset_s) * 1000,
                None => to_utc_ms(zone, read.local_ms, Overlap::Later),
            };
            utc_ms.div_euclid(1000)
        }))
    });
    Ok(result(call, Arc::new(read.collect::<Result<Int64Array>>()?)))
}

/// A text on one wall clock rewritten for another; NULL for what is no time or no zone.
pub(super) fn convert_tz(call: &Call<'_>) -> Result<Value> {
    let (text, from, to) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let pattern = Pattern::parse(DEFAULT_PATTERN, Style::Simple).map_err(Error::bug)?;
    let (mut from_zones, mut to_zones) = (Zones::default(), Zones::default());
    write_texts(call, |row, out| {
        let (from, to) = (from_zones.get(from.get(row)?)?, to_zones.get(to.get(row)?)?);
        let utc_ms = to_utc_ms(from, pattern.read(text.get(row)?)?.local_ms, Overlap::Later);
        let local_ms = utc_ms.saturating_add(i64::from(to.offset_at(utc_ms)) * 1000);
        pattern.write(&Moment::from_local(local_ms, TimeUnit::Millisecond), out).ok()
    })
}
