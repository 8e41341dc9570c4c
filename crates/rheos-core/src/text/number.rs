//! Numbers as text: Java's forms of FLOAT and DOUBLE, decimals of a fixed scale, and what Flink accepts as a number.

use std::fmt::{self, Write};

use super::ascii::Ascii;
use crate::types::MAX_DECIMAL_PRECISION;

fn formatted(args: fmt::Arguments<'_>) -> Ascii {
    let mut text = Ascii::new();
    // A number in its shortest form always fits.
    let _ = text.write_fmt(args);
    text
}

/// Appends an integer.
pub fn write_integer(out: &mut String, value: i64) {
    let mut text = Ascii::new();
    if value < 0 {
        text.push(b'-');
    }
    text.push_number(value.unsigned_abs(), 1);
    out.push_str(text.text());
}

/// Appends a DOUBLE as Java's `Double.toString` (19 and later) writes it: `1.0`, `1.0E10`, `4.9E-324`, `NaN`, `-Infinity`.
pub fn write_double(out: &mut String, value: f64) {
    let magnitude = value.abs();
    if (1e-3..1e7).contains(&magnitude) || value == 0.0 {
        out.push_str(formatted(format_args!("{value:?}")).text());
    } else if !value.is_finite() {
        write_not_finite(out, value.is_nan(), value < 0.0);
    } else {
        // Java gives at least two digits, and the pair of digits closest to the value where one would do.
        let shortest = formatted(format_args!("{value:e}"));
        let pair = formatted(format_args!("{value:.1e}"));
        let use_pair = !shortest.text().contains('.') && pair.text().parse() == Ok(value);
        write_scientific(out, if use_pair { pair.text() } else { shortest.text() });
    }
}

/// Appends a FLOAT as Java's `Float.toString` writes it.
pub fn write_float(out: &mut String, value: f32) {
    let magnitude = value.abs();
    if (1e-3..1e7).contains(&magnitude) || value == 0.0 {
        out.push_str(formatted(format_args!("{value:?}")).text());
    } else if !value.is_finite() {
        write_not_finite(out, value.is_nan(), value < 0.0);
    } else {
        let shortest = formatted(format_args!("{value:e}"));
        let pair = formatted(format_args!("{value:.1e}"));
        let use_pair = !shortest.text().contains('.') && pair.text().parse() == Ok(value);
        write_scientific(out, if use_pair { pair.text() } else { shortest.text() });
    }
}

fn write_not_finite(out: &mut String, nan: bool, negative: bool) {
    out.push_str(match (nan, negative) {
        (true, _) => "NaN",
        (_, true) => "-Infinity",
        _ => "Infinity",
    });
}

fn write_scientific(out: &mut String, text: &str) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    out.push_str(mantissa);
    if !mantissa.contains('.') {
        out.push_str(".0");
    }
    out.push('E');
    out.push_str(exponent);
}

/// Appends a decimal's unscaled value with all digits of its scale: `-0.10`.
pub fn write_decimal(out: &mut String, unscaled: i128, scale: u8) {
    if unscaled < 0 {
        out.push('-');
    }
    let digits = match u64::try_from(unscaled.unsigned_abs()) {
        Ok(small) => {
            let mut digits = Ascii::new();
            digits.push_number(small, 1);
            digits
        }
        Err(_) => formatted(format_args!("{}", unscaled.unsigned_abs())),
    };
    let digits = digits.text();
    let scale = usize::from(scale);
    if scale == 0 {
        out.push_str(digits);
    } else if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.push_str(whole);
        out.push('.');
        out.push_str(fraction);
    } else {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', scale - digits.len()));
        out.push_str(digits);
    }
}

/// Ten to the power of `exponent`, which is at most 38.
pub const fn pow10(exponent: u8) -> i128 {
    10i128.pow(exponent as u32)
}

/// The unscaled value at another scale, rounded half up; `None` where it has more than `precision` digits.
pub fn rescale(unscaled: i128, from_scale: u8, precision: u8, scale: u8) -> Option<i128> {
    let value = if scale >= from_scale {
        if scale - from_scale > MAX_DECIMAL_PRECISION {
            return (unscaled == 0).then_some(0);
        }
        unscaled.checked_mul(pow10(scale - from_scale))?
    } else if from_scale - scale > MAX_DECIMAL_PRECISION {
        0
    } else {
        let divisor = pow10(from_scale - scale);
        let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
        if rest.unsigned_abs() * 2 >= divisor.unsigned_abs() { quotient + unscaled.signum() } else { quotient }
    };
    (value.unsigned_abs() < pow10(precision.min(MAX_DECIMAL_PRECISION)).unsigned_abs()).then_some(value)
}

/// Reads a decimal number (`12`, `-.5`, `1.20e3`) as the unscaled value of DECIMAL(precision, scale), rounded half up;
/// `None` for what is no number and what has too many digits.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, text) = sign(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // The number is 0.DIGITS * 10^(whole.len() + exponent): of its digits, the first `kept` are those of the result.
    let leading_zeros = whole.bytes().chain(fraction.bytes()).take_while(|b| *b == b'0').count();
    let mut digits = whole.bytes().chain(fraction.bytes()).skip(leading_zeros).peekable();
    if digits.peek().is_none() {
        return Some(0);
    }
    let kept = whole.len() as i64 - leading_zeros as i64 + exponent + i64::from(scale);
    if kept > i64::from(precision.min(MAX_DECIMAL_PRECISION)) {
        return None;
    }
    if kept < 0 {
        return Some(0);
    }
    let mut value = 0i128;
    for _ in 0..kept {
        value = value * 10 + digits.next().map_or(0, |b| i128::from(b - b'0'));
    }
    if digits.next().is_some_and(|b| b >= b'5') {
        value += 1;
    }
    if value >= pow10(precision.min(MAX_DECIMAL_PRECISION)) {
        return None;
    }
    Some(if negative { -value } else { value })
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // What does not fit is beyond any precision either way.
    let value = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if negative { -value } else { value })
}

/// Reads an integer; digits after a point are checked and cut off, as Flink's casts do: `12.7` is 12.
pub fn parse_integer(text: &str) -> Option<i64> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text, ""),
    };
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (_, digits) = sign(whole);
    if digits.is_empty() {
        return if text.contains('.') && !fraction.is_empty() { Some(0) } else { None };
    }
    whole.parse().ok()
}

/// Reads a DOUBLE as Java's `Double.parseDouble` does: `1`, `.5`, `1e3`, `NaN`, `-Infinity`, also with a final `d` or `f`.
pub fn parse_double(text: &str) -> Option<f64> {
    java_number(text)?.parse().ok()
}

/// Reads a FLOAT as Java's `Float.parseFloat` does.
pub fn parse_float(text: &str) -> Option<f32> {
    java_number(text)?.parse().ok()
}

/// The part of a Java number that Rust reads alike; Rust's further spellings of infinity are left out.
fn java_number(text: &str) -> Option<&str> {
    let (_, unsigned) = sign(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return Some(text);
    }
    let number = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    number.bytes().all(plain).then_some(number)
}

/// Reads a BOOLEAN in any of Flink's spellings, without regard to case: true, t, yes, y, 1; false, f, no, n, 0.
pub fn parse_boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 5]| words.iter().any(|w| text.eq_ignore_ascii_case(w));
    if is(["true", "t", "yes", "y", "1"]) {
        Some(true)
    } else if is(["false", "f", "no", "n", "0"]) {
        Some(false)
    } else {
        None
    }
}
