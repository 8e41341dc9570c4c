//! Texts as strings of JSON and back.

use std::fmt::Write;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{texts, write_texts};

use super::value::Json;

/// In quotes, everything but printable ASCII escaped, and `/` too.
pub(super) fn json_quote(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        out.push('"');
        for c in text.get(row)?.chars() {
            match c {
                '"' | '\\' | '/' => out.extend(['\\', c]),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if !(' '..='\u{7f}').contains(&c) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        // Writing to a text cannot fail.
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
        Some(())
    })
}

/// The text of a string of JSON; whatever is none stays as it is.
pub(super) fn json_unquote(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        let text = text.get(row)?;
        match unquoted(text) {
            Some(unquoted) => out.push_str(&unquoted),
            None => out.push_str(text),
        }
        Some(())
    })
}

/// Flink looks only at whether a text begins with a string of JSON, and then takes all that is between the outer quotes:
/// quotes within need no escape.
fn unquoted(text: &str) -> Option<String> {
    Json::parse_first(text).filter(|(json, _)| matches!(json, Json::Text(_)))?;
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let escaped = rest.chars().next()?;
        rest = &rest[escaped.len_utf8()..];
        out.push(match escaped {
            '"' | '\\' | '/' => escaped,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = hex(rest)?;
                rest = &rest[4..];
                match char::from_u32(u32::from(unit)) {
                    Some(c) => c,
                    None => {
                        let low = hex(rest.strip_prefix("\\u")?)?;
                        rest = &rest[6..];
                        char::decode_utf16([unit, low]).next()?.ok()?
                    }
                }
            }
            _ => return None,
        });
    }
    out.push_str(rest);
    Some(out)
}

fn hex(text: &str) -> Option<u16> {
    let digits = text.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}
