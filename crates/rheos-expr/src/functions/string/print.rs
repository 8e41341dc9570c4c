//! Texts put together.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, AsArray, StringArray, StringBuilder};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
};

use rheos_core::error::Result;
use rheos_core::text::{pow10, rescale, write_decimal, write_double, write_float, write_nested_value};
use rheos_core::types::{LogicalType, TypeKind};

use crate::function::{Call, Value};
use crate::functions::kernel::{argument, texts, write_texts};
use crate::functions::time::iso::{IsoForm, write_iso_timestamp};

/// NULL if any part is.
pub(super) fn concat(call: &Call<'_>) -> Result<Value> {
    let parts = (0..call.args.len()).map(|i| texts(call, i)).collect::<Result<Vec<_>>>()?;
    write_texts(call, |row, out| {
        for part in &parts {
            out.push_str(part.get(row)?);
        }
        Some(())
    })
}

/// Leaves out parts that are NULL; NULL if the separator is.
pub(super) fn concat_ws(call: &Call<'_>) -> Result<Value> {
    let separator = texts(call, 0)?;
    let parts = (1..call.args.len()).map(|i| texts(call, i)).collect::<Result<Vec<_>>>()?;
    write_texts(call, |row, out| {
        let separator = separator.get(row)?;
        for (i, part) in parts.iter().filter_map(|part| part.get(row)).enumerate() {
            out.push_str(if i > 0 { separator } else { "" });
            out.push_str(part);
        }
        Some(())
    })
}

/// The name of the argument's type, whatever its value.
pub(super) fn type_of(call: &Call<'_>) -> Result<Value> {
    let name = call.arg_types.first().map(ToString::to_string);
    Ok(Value::Constant(Arc::new(StringArray::from(vec![name]))))
}

/// A random (version 4) UUID for each row.
pub(super) fn uuid(call: &Call<'_>) -> Result<Value> {
    let random = &call.env()?.random;
    let mut out = StringBuilder::with_capacity(call.rows, call.rows * 36);
    for _ in 0..call.rows {
        let bits = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
        let bits = bits & !(0xF << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
        let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (digits * 4)) - 1);
        // Writing to a builder cannot fail.
        let _ = write!(out, "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12));
        out.append_value("");
    }
    Ok(Value::Column(Arc::new(out.finish())))
}

/// A value to be printed, as Java sees Flink's internal values.
enum Printed {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Decimal(i128, u8),
    Text(String),
}

/// `%[index$][flags][width][.precision]conversion`
#[derive(Default)]
struct Spec {
    index: Option<usize>,
    minus: bool,
    plus: bool,
    space: bool,
    zero: bool,
    group: bool,
    paren: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats as Java's `String.format`; NULL for a format or value that it refuses.
pub(super) fn printf(call: &Call<'_>) -> Result<Value> {
    let format = texts(call, 0)?;
    let mut failure = None;
    let value = write_texts(call, |row, out| {
        let value = |index: usize| {
            let argument = argument(call, index + 1)?;
            printed(argument.array().as_ref(), if argument.is_constant() { 0 } else { row }, &call.arg_types[index + 1])
        };
        let mut values = Vec::with_capacity(call.args.len() - 1);
        for index in 0..call.args.len() - 1 {
            match value(index) {
                Ok(value) => values.push(value),
                Err(e) => {
                    failure = Some(e);
                    return None;
                }
            }
        }
        print(format.get(row)?, &values, out)
    })?;
    failure.map_or(Ok(value), Err)
}

fn printed(array: &dyn Array, row: usize, ty: &LogicalType) -> Result<Printed> {
    if array.is_null(row) || ty.kind == TypeKind::Null {
        return Ok(Printed::Null);
    }
    Ok(match &ty.kind {
        TypeKind::Boolean => Printed::Boolean(array.as_boolean().value(row)),
        TypeKind::TinyInt => Printed::Integer(array.as_primitive::<Int8Type>().value(row).into()),
        TypeKind::SmallInt => Printed::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        TypeKind::Int => Printed::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        TypeKind::BigInt => Printed::Integer(array.as_primitive::<Int64Type>().value(row)),
        TypeKind::Date => Printed::Integer(array.as_primitive::<Date32Type>().value(row).into()),
        TypeKind::Time(_) => Printed::Integer(array.as_primitive::<Time32MillisecondType>().value(row).into()),
        TypeKind::IntervalDayTime => Printed::Integer(array.as_primitive::<arrow::datatypes::DurationMillisecondType>().value(row)),
        TypeKind::IntervalYearMonth => Printed::Integer(array.as_primitive::<arrow::datatypes::IntervalYearMonthType>().value(row).into()),
        TypeKind::Float => {
            let value = array.as_primitive::<Float32Type>().value(row);
            // Through its text, so that 10.24 stays that.
            let mut text = String::new();
            write_float(&mut text, value);
            Printed::Double(rheos_core::text::parse_double(&text).unwrap_or(f64::from(value)))
        }
        TypeKind::Double => Printed::Double(array.as_primitive::<Float64Type>().value(row)),
        TypeKind::Decimal(_, scale) => Printed::Decimal(array.as_primitive::<Decimal128Type>().value(row), *scale),
        TypeKind::Char(_) | TypeKind::Varchar(_) => Printed::Text(array.as_string::<i32>().value(row).to_string()),
        TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => {
            let mut text = String::new();
            write_iso_timestamp(&mut text, array, row, IsoForm::Short)?;
            Printed::Text(text)
        }
        _ => {
            let mut text = String::new();
            write_nested_value(&mut text, array, row, ty)?;
            Printed::Text(text)
        }
    })
}

fn print(format: &str, values: &[Printed], out: &mut String) -> Option<()> {
    let mut rest = format;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (spec, conversion, after) = spec(&rest[at + 1..])?;
        rest = after;
        match conversion {
            '%' => pad(out, &spec, "%"),
            'n' => out.push('\n'),
            _ => {
                let index = spec.index.unwrap_or(next);
                next += usize::from(spec.index.is_none());
                print_value(out, &spec, conversion, values.get(index)?)?;
            }
        }
    }
    out.push_str(rest);
    Some(())
}

/// The specification after a `%`, its conversion, and what follows.
fn spec(text: &str) -> Option<(Spec, char, &str)> {
    let mut spec = Spec::default();
    let mut rest = text;
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let index = digits(rest);
    if index > 0 && rest[index..].starts_with('$') {
        spec.index = Some(rest[..index].parse::<usize>().ok()?.checked_sub(1)?);
        rest = &rest[index + 1..];
    }
    while let Some(flag) = rest.chars().next() {
        match flag {
            '-' => spec.minus = true,
            '+' => spec.plus = true,
            ' ' => spec.space = true,
            '0' => spec.zero = true,
            ',' => spec.group = true,
            '(' => spec.paren = true,
            '#' => spec.alternate = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let width = digits(rest);
    if width > 0 {
        spec.width = rest[..width].parse().ok().filter(|w| *w <= 10_000)?;
        rest = &rest[width..];
    }
    if let Some(precision) = rest.strip_prefix('.') {
        let length = digits(precision);
        spec.precision = Some(precision[..length].parse().ok().filter(|p| *p <= 10_000)?);
        rest = &precision[length..];
    }
    let conversion = rest.chars().next()?;
    Some((spec, conversion, &rest[conversion.len_utf8()..]))
}

fn pad(out: &mut String, spec: &Spec, text: &str) {
    let missing = spec.width.saturating_sub(text.chars().count());
    let blanks = std::iter::repeat_n(' ', missing);
    if spec.minus {
        out.push_str(text);
        out.extend(blanks);
    } else {
        out.extend(blanks);
        out.push_str(text);
    }
}

fn print_value(out: &mut String, spec: &Spec, conversion: char, value: &Printed) -> Option<()> {
    let mut text = String::new();
    match (conversion.to_ascii_lowercase(), value) {
        ('b', value) => text.push_str(match value {
            Printed::Null | Printed::Boolean(false) => "false",
            _ => "true",
        }),
        (_, Printed::Null) => text.push_str("null"),
        ('s', Printed::Boolean(b)) => text.push_str(if *b { "true" } else { "false" }),
        ('s', Printed::Integer(i)) => write!(text, "{i}").ok()?,
        ('s', Printed::Double(d)) => write_double(&mut text, *d),
        ('s', Printed::Decimal(unscaled, scale)) => write_decimal(&mut text, *unscaled, *scale),
        ('s', Printed::Text(t)) => text.push_str(t),
        ('d', Printed::Integer(i)) => return number(out, spec, *i < 0, &i.unsigned_abs().to_string()),
        ('x', Printed::Integer(i)) => write!(text, "{i:x}").ok()?,
        ('o', Printed::Integer(i)) => write!(text, "{i:o}").ok()?,
        ('c', Printed::Integer(i)) => text.push(char::from_u32(u32::try_from(*i).ok()?)?),
        ('c', Printed::Text(t)) if t.chars().count() == 1 => text.push_str(t),
        ('f', Printed::Double(d)) if d.is_finite() => {
            let digits = fixed(d.abs(), spec.precision.unwrap_or(6));
            return number(out, spec, *d < 0.0, &digits);
        }
        ('f', Printed::Decimal(unscaled, scale)) => {
            let precision = spec.precision.unwrap_or(6).min(37) as u8;
            let mut digits = String::new();
            write_decimal(&mut digits, rescale(unscaled.checked_abs()?, *scale, 38, precision)?, precision);
            return number(out, spec, *unscaled < 0, &digits);
        }
        ('e', Printed::Double(d)) if d.is_finite() => {
            let scientific = format!("{:.*e}", spec.precision.unwrap_or(6), d.abs());
            let (mantissa, exponent) = scientific.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let digits = format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
            let digits = if conversion == 'E' { digits.to_ascii_uppercase() } else { digits };
            return number(out, spec, *d < 0.0, &digits);
        }
        ('f' | 'e', Printed::Double(d)) => write_double(&mut text, *d),
        _ => return None,
    }
    if let (Some(precision), 's' | 'b') = (spec.precision, conversion.to_ascii_lowercase()) {
        text = text.chars().take(precision).collect();
    }
    if conversion.is_ascii_uppercase() {
        text = text.to_uppercase();
    }
    if spec.zero && matches!(conversion, 'x' | 'X' | 'o') {
        text.insert_str(0, &"0".repeat(spec.width.saturating_sub(text.len())));
    }
    pad(out, spec, &text);
    Some(())
}

/// Rounds half up on the decimal digits, as Java does, not on the binary value.
fn fixed(value: f64, precision: usize) -> String {
    let mut shortest = String::new();
    write_double(&mut shortest, value);
    let scale = precision.min(30) as u8;
    match rheos_core::text::parse_decimal(&shortest, 38, scale) {
        Some(unscaled) if value < 1e7 || unscaled < pow10(37) => {
            let mut digits = String::new();
            write_decimal(&mut digits, unscaled, scale);
            digits
        }
        _ => format!("{value:.precision$}"),
    }
}

/// Writes a number's digits with sign, groups and zeros.
fn number(out: &mut String, spec: &Spec, negative: bool, digits: &str) -> Option<()> {
    let (whole, fraction) = digits.find(['.', 'e']).map_or((digits, ""), |at| digits.split_at(at));
    let mut text = String::new();
    for (i, c) in whole.chars().enumerate() {
        if spec.group && i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text.push_str(fraction);
    let (before, after) = match (negative, spec.paren) {
        (true, true) => ("(", ")"),
        (true, false) => ("-", ""),
        (false, _) if spec.plus => ("+", ""),
        (false, _) if spec.space => (" ", ""),
        _ => ("", ""),
    };
    if spec.zero {
        text.insert_str(0, &"0".repeat(spec.width.saturating_sub(text.len() + before.len() + after.len())));
    }
    pad(out, spec, &format!("{before}{text}{after}"));
    Some(())
}
