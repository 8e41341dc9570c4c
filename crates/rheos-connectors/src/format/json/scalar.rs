//! Turns one JSON value, given as its text, into a scalar of a column's type.

use rheos_core::types::TypeKind;

use crate::format::TemporalStyle;
use crate::format::column::{Column, Values};
use crate::format::text::NotAValue;

/// Adds the scalar that `json` stands for. Texts are accepted for numbers and numbers for texts, as Flink does; an object or
/// array becomes a text as it is.
pub(super) fn push_scalar(column: &mut Column, json: &str, style: TemporalStyle, scratch: &mut Vec<u8>) -> Result<(), NotAValue> {
    let bytes = json.as_bytes();
    match bytes.first() {
        Some(b'n') => {
            column.push_null();
            Ok(())
        }
        Some(b'"') => {
            let inner = &json[1..json.len() - 1];
            push_string(column, inner, style, scratch)
        }
        Some(b'{' | b'[') => {
            if !column.kind().is_character() {
                return Err(NotAValue);
            }
            if let Values::Bytes { bytes: text, .. } = &mut column.values {
                minify(bytes, text);
            }
            column.close_bytes();
            Ok(())
        }
        Some(b't' | b'f') if !matches!(column.kind(), TypeKind::Boolean) && !column.kind().is_character() => Err(NotAValue),
        Some(b't' | b'f') => column.push_text(json, style),
        Some(_) => push_number(column, json, style),
        None => Err(NotAValue),
    }
}

fn push_string(column: &mut Column, inner: &str, style: TemporalStyle, scratch: &mut Vec<u8>) -> Result<(), NotAValue> {
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return column.push_text(inner, style);
    }
    if column.kind().is_character() {
        if let Values::Bytes { bytes, .. } = &mut column.values {
            unescape(inner.as_bytes(), bytes);
        }
        column.close_bytes();
        return Ok(());
    }
    scratch.clear();
    unescape(inner.as_bytes(), scratch);
    column.push_text(std::str::from_utf8(scratch).map_err(|_| NotAValue)?, style)
}

/// A number for an INT or BIGINT may have a fraction, which is cut off; one for any other type is taken by its text.
fn push_number(column: &mut Column, json: &str, style: TemporalStyle) -> Result<(), NotAValue> {
    let is_whole = !json.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'));
    match (&column.kind, &mut column.values) {
        (TypeKind::Binary(_) | TypeKind::Varbinary(_), _) => Err(NotAValue),
        (TypeKind::Int, Values::Int32(v)) if !is_whole => {
            let value = json.parse::<f64>().map_err(|_| NotAValue)?.trunc();
            v.push(if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value) { value as i32 } else { return Err(NotAValue) });
            column.pushed();
            Ok(())
        }
        (TypeKind::BigInt, Values::Int64(v)) if !is_whole => {
            let value = json.parse::<f64>().map_err(|_| NotAValue)?.trunc();
            // 2^63 as DOUBLE is the first that does not fit.
            v.push(if (-(2f64.powi(63))..2f64.powi(63)).contains(&value) { value as i64 } else { return Err(NotAValue) });
            column.pushed();
            Ok(())
        }
        _ => column.push_text(json, style),
    }
}

/// Appends the text that the inside of a JSON string stands for. The string is well-formed; half a surrogate pair becomes
/// U+FFFD.
pub(super) fn unescape(inner: &[u8], out: &mut Vec<u8>) {
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let escape = rest.get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or_default();
        match escape {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let (c, used) = code_point(rest);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = rest.get(used..).unwrap_or_default();
            }
            other => out.push(other),
        }
    }
    out.extend_from_slice(rest);
}

/// The character of the hex digits after `\u`, and how many bytes it takes: a pair of surrogates is two escapes.
fn code_point(digits: &[u8]) -> (char, usize) {
    let Some(high) = hex4(digits) else { return (char::REPLACEMENT_CHARACTER, 0) };
    if !(0xD800..0xDC00).contains(&high) {
        return (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 4);
    }
    let low = digits.get(4..6).filter(|d| *d == b"\\u").and_then(|_| hex4(&digits[6..])).filter(|low| (0xDC00..0xE000).contains(low));
    match low {
        Some(low) => (char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)).unwrap_or(char::REPLACEMENT_CHARACTER), 10),
        None => (char::REPLACEMENT_CHARACTER, 4),
    }
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.get(..4)?.iter().try_fold(0, |n, d| Some(n * 16 + char::from(*d).to_digit(16)?))
}

/// Appends JSON without the blanks between its tokens.
fn minify(json: &[u8], out: &mut Vec<u8>) {
    let mut in_string = false;
    let mut escaped = false;
    for b in json {
        if in_string || !b.is_ascii_whitespace() {
            out.push(*b);
        }
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
    }
}
