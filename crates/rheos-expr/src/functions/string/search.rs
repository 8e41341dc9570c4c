//! Texts searched for and replaced.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray, Int32Array, StringBuilder};
use arrow::datatypes::Int64Type;
use memchr::{memchr_iter, memmem};

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, argument, bytes, collect, numbers, result, texts, try_collect, write_texts};

use super::characters;

/// The character (from 1) at which `searched` occurs at or after character `start` (from 1), 0 if nowhere.
fn locate_from(searched: &str, text: &str, start: i64) -> i32 {
    let from = characters::offset(text, characters::bounded(start.saturating_sub(1)));
    match text[from..].find(searched) {
        Some(found) => characters::length(&text[..from + found]) as i32 + 1,
        None => 0,
    }
}

pub(super) fn locate(call: &Call<'_>) -> Result<Value> {
    let (searched, text) = (texts(call, 0)?, texts(call, 1)?);
    if call.args.len() < 3 {
        return collect::<Int32Array, _>(call, |row| Some(locate_from(searched.get(row)?, text.get(row)?, 1)));
    }
    let start = numbers::<Int64Type>(call, 2)?;
    collect::<Int32Array, _>(call, |row| Some(locate_from(searched.get(row)?, text.get(row)?, start.get(row)?)))
}

/// The `nth` occurrence at or after `start`; with a negative start, at or before that many characters from the end.
fn instr_from(text: &str, searched: &str, start: i64, nth: i64) -> Result<i32> {
    if nth <= 0 {
        return Err(Error::input(format!("INSTR: argument 4 must be positive, got {nth}")));
    }
    if start == 0 {
        return Ok(0);
    }
    if start > 0 {
        let mut at = start;
        let mut found = 0;
        for _ in 0..nth {
            found = locate_from(searched, text, at);
            if found == 0 {
                return Ok(0);
            }
            at = i64::from(found) + 1;
        }
        return Ok(found);
    }
    let reversed = |t: &str| t.chars().rev().collect::<String>();
    let found = instr_from(&reversed(text), &reversed(searched), start.saturating_neg(), nth)?;
    let length = |t: &str| characters::length(t) as i32;
    Ok(if found == 0 { 0 } else { length(text) + 2 - found - length(searched) })
}

pub(super) fn instr(call: &Call<'_>) -> Result<Value> {
    let (text, searched) = (texts(call, 0)?, texts(call, 1)?);
    let optional = |index: usize| (call.args.len() > index).then(|| numbers::<Int64Type>(call, index)).transpose();
    let (start, nth) = (optional(2)?, optional(3)?);
    let given = |rows: &Option<Rows<'_, _>>, row: usize| rows.as_ref().map_or(Some(1), |r| r.get(row));
    try_collect::<Int32Array, _>(call, |row| {
        let (Some(text), Some(searched), Some(start), Some(nth)) = (text.get(row), searched.get(row), given(&start, row), given(&nth, row))
        else {
            return Ok(None);
        };
        instr_from(text, searched, start, nth).map(Some)
    })
}

fn compare_ends(call: &Call<'_>, compare: fn(&[u8], &[u8]) -> bool) -> Result<Value> {
    if call.arg_types.first().is_some_and(|ty| ty.kind.is_binary()) {
        let (whole, end) = (bytes(call, 0)?, bytes(call, 1)?);
        return collect::<BooleanArray, _>(call, |row| Some(compare(whole.get(row)?, end.get(row)?)));
    }
    let (whole, end) = (texts(call, 0)?, texts(call, 1)?);
    collect::<BooleanArray, _>(call, |row| Some(compare(whole.get(row)?.as_bytes(), end.get(row)?.as_bytes())))
}

pub(super) fn starts_with(call: &Call<'_>) -> Result<Value> {
    compare_ends(call, |whole, end| whole.starts_with(end))
}

pub(super) fn ends_with(call: &Call<'_>) -> Result<Value> {
    compare_ends(call, |whole, end| whole.ends_with(end))
}

/// Writes `text` with what is between consecutive positions of `found`, `width` bytes wide each, replaced.
#[inline]
fn write_replaced(out: &mut StringBuilder, text: &str, found: impl Iterator<Item = usize>, width: usize, replacement: &str) {
    let mut from = 0;
    for at in found {
        // Writing to a builder cannot fail.
        let _ = out.write_str(&text[from..at]);
        let _ = out.write_str(replacement);
        from = at + width;
    }
    out.append_value(&text[from..]);
}

pub(super) fn replace(call: &Call<'_>) -> Result<Value> {
    let (text, searched, replacement) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let constant = argument(call, 1)?.is_constant() && argument(call, 2)?.is_constant();
    if let (true, Some(searched), Some(replacement)) = (constant, searched.get(0), replacement.get(0))
        && !searched.is_empty()
    {
        let array = text.array();
        let mut out = StringBuilder::with_capacity(array.len(), array.value_data().len());
        let finder = memmem::Finder::new(searched);
        for text in array {
            match (text, searched.as_bytes()) {
                (None, _) => out.append_null(),
                (Some(text), [byte]) => write_replaced(&mut out, text, memchr_iter(*byte, text.as_bytes()), 1, replacement),
                (Some(text), _) => write_replaced(&mut out, text, finder.find_iter(text.as_bytes()), searched.len(), replacement),
            }
        }
        return Ok(result(call, Arc::new(out.finish())));
    }
    write_texts(call, |row, out| {
        let (text, searched, replacement) = (text.get(row)?, searched.get(row)?, replacement.get(row)?);
        // An empty text is found between any two characters, in Java as here.
        out.push_str(&text.replace(searched, replacement));
        Some(())
    })
}

/// Characters replaced one by one; those without a counterpart vanish.
pub(super) fn translate(call: &Call<'_>) -> Result<Value> {
    let (text, from, to) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let mut last: Option<(&str, &str)> = None;
    let mut pairs: Vec<(char, Option<char>)> = Vec::new();
    write_texts(call, |row, out| {
        let text = text.get(row)?;
        let (from, to) = (from.get(row).unwrap_or(""), to.get(row).unwrap_or(""));
        if last != Some((from, to)) {
            last = Some((from, to));
            pairs.clear();
            let mut to = to.chars();
            // The first occurrence of a character decides; later ones use up their counterpart.
            for c in from.chars() {
                let counterpart = to.next();
                if !pairs.iter().any(|(seen, _)| *seen == c) {
                    pairs.push((c, counterpart));
                }
            }
        }
        out.extend(text.chars().filter_map(|c| pairs.iter().find(|(from, _)| *from == c).map_or(Some(c), |(_, to)| *to)));
        Some(())
    })
}
