//! The ends of texts: trimmed, padded; and texts repeated.

use arrow::array::StringArray;
use arrow::datatypes::Int64Type;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, collect, numbers, texts, write_texts};

use super::characters;

/// No function makes a text longer than this many bytes.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Copy)]
struct Ends {
    leading: bool,
    trailing: bool,
}

const BOTH: Ends = Ends { leading: true, trailing: true };

/// `text` without the characters that are in `characters`.
fn trimmed<'t>(text: &'t str, characters: &str, ends: Ends) -> &'t str {
    let mut text = text;
    if let [byte] = characters.as_bytes() {
        let c = char::from(*byte);
        text = if ends.leading { text.trim_start_matches(c) } else { text };
        return if ends.trailing { text.trim_end_matches(c) } else { text };
    }
    text = if ends.leading { text.trim_start_matches(|c| characters.contains(c)) } else { text };
    if ends.trailing { text.trim_end_matches(|c| characters.contains(c)) } else { text }
}

/// The mode comes first (`BOTH`, `LEADING`, `TRAILING`), then the characters, then the text.
pub(super) fn trim(call: &Call<'_>) -> Result<Value> {
    let (mode, characters, text) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let ends = match mode.get(0).unwrap_or("BOTH") {
        "LEADING" => Ends { leading: true, trailing: false },
        "TRAILING" => Ends { leading: false, trailing: true },
        _ => BOTH,
    };
    collect::<StringArray, _>(call, |row| Some(trimmed(text.get(row)?, characters.get(row)?, ends)))
}

fn trim_ends(call: &Call<'_>, ends: Ends) -> Result<Value> {
    let text = texts(call, 0)?;
    if call.args.len() < 2 {
        return collect::<StringArray, _>(call, |row| Some(trimmed(text.get(row)?, " ", ends)));
    }
    let characters = texts(call, 1)?;
    collect::<StringArray, _>(call, |row| Some(trimmed(text.get(row)?, characters.get(row)?, ends)))
}

pub(super) fn ltrim(call: &Call<'_>) -> Result<Value> {
    trim_ends(call, Ends { leading: true, trailing: false })
}

pub(super) fn rtrim(call: &Call<'_>) -> Result<Value> {
    trim_ends(call, Ends { leading: false, trailing: true })
}

pub(super) fn btrim(call: &Call<'_>) -> Result<Value> {
    trim_ends(call, BOTH)
}

pub(super) fn lpad(call: &Call<'_>) -> Result<Value> {
    pad(call, |text, padding, out| {
        out.push_str(padding);
        out.push_str(text);
    })
}

pub(super) fn rpad(call: &Call<'_>) -> Result<Value> {
    pad(call, |text, padding, out| {
        out.push_str(text);
        out.push_str(padding);
    })
}

/// NULL for a negative length and for an empty padding, whatever the text.
fn pad(call: &Call<'_>, join: fn(&str, &str, &mut String)) -> Result<Value> {
    let (text, length, padding) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?, texts(call, 2)?);
    let mut pads = String::new();
    let mut too_long = None;
    let value = write_texts(call, |row, out| {
        let (text, length, padding) = (text.get(row)?, length.get(row)?, padding.get(row)?);
        if length < 0 || padding.is_empty() {
            return None;
        }
        let length = characters::bounded(length);
        let missing = length.saturating_sub(characters::length(text));
        if missing.saturating_mul(padding.chars().next().map_or(1, char::len_utf8)) > MAX_BYTES {
            too_long = Some(length);
            return None;
        }
        pads.clear();
        pads.extend(padding.chars().cycle().take(missing));
        join(characters::slice(text, 0, length), &pads, out);
        Some(())
    })?;
    fits(too_long, value)
}

pub(super) fn repeat(call: &Call<'_>) -> Result<Value> {
    let (text, times): (Rows<'_, StringArray>, _) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?);
    let mut too_long = None;
    let value = write_texts(call, |row, out| {
        let (text, times) = (text.get(row)?, characters::bounded(times.get(row)?));
        if text.len().saturating_mul(times) > MAX_BYTES {
            too_long = Some(text.len().saturating_mul(times));
            return None;
        }
        out.extend(std::iter::repeat_n(text, if text.is_empty() { 0 } else { times }));
        Some(())
    })?;
    fits(too_long, value)
}

fn fits(too_long: Option<usize>, value: Value) -> Result<Value> {
    match too_long {
        Some(length) => Err(Error::input(format!("a text of length {length} would be longer than the {MAX_BYTES} bytes that are allowed"))),
        None => Ok(value),
    }
}
