//! Texts split at separators.

use std::sync::Arc;

use arrow::array::{ListBuilder, MapBuilder, MapFieldNames, StringArray, StringBuilder};
use arrow::datatypes::Int64Type;
use memchr::memmem;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, argument, collect, numbers, result, rows_to_compute, texts};
use crate::functions::regex::pattern::Pattern;

use super::bytes::BytePositions;

/// Part `index` (from 0) of a text between separators of one byte.
#[inline]
fn part_by_byte(text: &str, separator: u8, index: usize) -> Option<&str> {
    // An empty text has no parts at all.
    if text.is_empty() {
        return None;
    }
    let mut separators = BytePositions::new(text.as_bytes(), separator);
    let start = match index {
        0 => 0,
        index => separators.nth(index - 1)? + 1,
    };
    let end = separators.next().unwrap_or(text.len());
    Some(&text[start..end])
}

fn part_by_text<'t>(text: &'t str, separator: &memmem::Finder<'_>, index: usize) -> Option<&'t str> {
    let width = separator.needle().len();
    if text.is_empty() {
        return None;
    }
    if width == 0 {
        // As Flink's: no separator means white space.
        return text.split(char::is_whitespace).nth(index);
    }
    let mut separators = separator.find_iter(text.as_bytes());
    let start = match index {
        0 => 0,
        index => separators.nth(index - 1)? + width,
    };
    Some(&text[start..separators.next().unwrap_or(text.len())])
}

/// The separator is a text or the code of a character; the index counts from 0.
pub(super) fn split_index(call: &Call<'_>) -> Result<Value> {
    let (text, index) = (texts(call, 0)?, numbers::<Int64Type>(call, 2)?);
    let index = |row: usize| usize::try_from(index.get(row)?).ok();
    if call.arg_types.get(1).is_some_and(|ty| ty.kind.is_integer()) {
        let code = numbers::<Int64Type>(call, 1)?;
        return collect::<StringArray, _>(call, |row| {
            let (text, code, index) = (text.get(row)?, code.get(row)?, index(row)?);
            let code = u8::try_from(code).ok().filter(|c| *c > 0)?;
            match code.is_ascii() {
                true => part_by_byte(text, code, index),
                false => (!text.is_empty()).then(|| text.split(char::from(code)).nth(index))?,
            }
        });
    }
    let separator = texts(call, 1)?;
    if argument(call, 1)?.is_constant() {
        let Some(separator) = separator.get(0) else {
            return collect::<StringArray, &str>(call, |_| None);
        };
        if let [byte] = separator.as_bytes() {
            return collect::<StringArray, _>(call, |row| part_by_byte(text.get(row)?, *byte, index(row)?));
        }
        let finder = memmem::Finder::new(separator);
        return collect::<StringArray, _>(call, |row| part_by_text(text.get(row)?, &finder, index(row)?));
    }
    collect::<StringArray, _>(call, |row| part_by_text(text.get(row)?, &memmem::Finder::new(separator.get(row)?), index(row)?))
}

/// All parts; without a separator, all characters.
pub(super) fn split(call: &Call<'_>) -> Result<Value> {
    let (text, separator) = (texts(call, 0)?, texts(call, 1)?);
    let rows = rows_to_compute(call);
    let mut builder = ListBuilder::with_capacity(StringBuilder::new(), rows);
    for row in 0..rows {
        match (text.get(row), separator.get(row)) {
            (Some(text), Some("")) => {
                for (at, c) in text.char_indices() {
                    builder.values().append_value(&text[at..at + c.len_utf8()]);
                }
                builder.append(true);
            }
            (Some(text), Some(separator)) => {
                if !text.is_empty() {
                    text.split(separator).for_each(|part| builder.values().append_value(part));
                }
                builder.append(true);
            }
            _ => builder.append(false),
        }
    }
    Ok(result(call, Arc::new(builder.finish())))
}

/// A separator of pairs or of keys: Flink reads it as a regular expression.
enum Separator {
    Plain(String),
    Pattern(Box<Pattern>),
}

impl Separator {
    fn new(text: &str) -> Result<Separator> {
        if !text.contains(|c: char| "\\^$.|?*+()[]{}".contains(c)) {
            return Ok(Separator::Plain(text.to_string()));
        }
        let pattern = Pattern::compile(text).map_err(|e| Error::input(format!("STR_TO_MAP: {e}")))?;
        Ok(Separator::Pattern(Box::new(pattern)))
    }

    /// The text before and after the first separator.
    fn split_once<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str)> {
        match self {
            Separator::Plain(separator) => text.split_once(separator.as_str()),
            Separator::Pattern(pattern) => pattern.find(text).map(|found| (&text[..found.start], &text[found.end..])),
        }
    }
}

pub(super) fn str_to_map(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    let separators: Option<(Rows<'_, StringArray>, Rows<'_, StringArray>)> =
        if call.args.len() > 1 { Some((texts(call, 1)?, texts(call, 2)?)) } else { None };
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let rows = rows_to_compute(call);
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    let mut last: Option<(&str, &str, Separator, Separator)> = None;
    for row in 0..rows {
        let (pairs, keys) = separators.as_ref().map_or((Some(","), Some("=")), |(p, k)| (p.get(row), k.get(row)));
        let (Some(text), Some(pairs), Some(keys)) = (text.get(row), pairs, keys) else {
            builder.append(false)?;
            continue;
        };
        if last.as_ref().is_none_or(|(p, k, ..)| (*p, *k) != (pairs, keys)) {
            last = Some((pairs, keys, Separator::new(pairs)?, Separator::new(keys)?));
        }
        let Some((_, _, pairs, keys)) = &last else { continue };
        // A key that occurs again takes the later value.
        let mut entries: Vec<(&str, Option<&str>)> = Vec::new();
        let mut rest = Some(text).filter(|t| !t.is_empty());
        while let Some(text) = rest {
            let (pair, after) = pairs.split_once(text).filter(|(pair, after)| pair.len() + after.len() < text.len()).unzip();
            let pair = pair.unwrap_or(text);
            rest = after;
            // Empty pairs at the end are no pairs.
            if pair.is_empty() && rest.is_none_or(|r: &str| r.is_empty()) {
                break;
            }
            let (key, value) = keys.split_once(pair).map_or((pair, None), |(key, value)| (key, Some(value)));
            match entries.iter_mut().find(|(k, _)| *k == key) {
                Some(entry) => entry.1 = value,
                None => entries.push((key, value)),
            }
        }
        for (key, value) in entries {
            builder.keys().append_value(key);
            builder.values().append_option(value);
        }
        builder.append(true)?;
    }
    Ok(result(call, Arc::new(builder.finish())))
}
