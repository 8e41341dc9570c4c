//! Texts searched for and replaced.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, Int32Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::Int64Type;
use memchr::memmem;

use rheos_core::error::{Error, Result};

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, argument, bytes, collect, numbers, result, texts, try_collect, write_texts};

use super::bytes::BytePositions;
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

/// A column of texts in the making.
struct Texts {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
}

impl Texts {
    /// Adds `text` with what is at the positions of `found`, `width` bytes wide each, replaced.
    #[inline]
    fn push_replaced(&mut self, text: &str, found: impl Iterator<Item = usize>, width: usize, replacement: &str) -> Result<()> {
        let text = text.as_bytes();
        let mut from = 0;
        for at in found {
            self.bytes.extend_from_slice(&text[from..at]);
            self.bytes.extend_from_slice(replacement.as_bytes());
            from = at + width;
        }
        self.bytes.extend_from_slice(&text[from..]);
        let end = i32::try_from(self.bytes.len()).map_err(|_| Error::input("the texts of a batch are longer than two gigabytes"))?;
        self.offsets.push(end);
        Ok(())
    }

    fn push_null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
    }
}

/// A column without one ASCII character: byte by byte without a branch, since such a character may be anywhere.
fn without_byte(array: &StringArray, byte: u8) -> Result<StringArray> {
    let offsets = array.value_offsets();
    let values = &array.value_data()[offsets[0] as usize..offsets[array.len()] as usize];
    let mut kept = vec![0; values.len()];
    let mut length = 0;
    let mut ends = Vec::with_capacity(offsets.len());
    ends.push(0);
    for span in offsets.windows(2) {
        for b in &array.value_data()[span[0] as usize..span[1] as usize] {
            kept[length] = *b;
            length += usize::from(*b != byte);
        }
        // No longer than the column that it comes from.
        ends.push(length as i32);
    }
    kept.truncate(length);
    Ok(StringArray::try_new(OffsetBuffer::new(ends.into()), Buffer::from_vec(kept), array.nulls().cloned())?)
}

pub(super) fn replace(call: &Call<'_>) -> Result<Value> {
    let (text, searched, replacement) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let constant = argument(call, 1)?.is_constant() && argument(call, 2)?.is_constant();
    if let (true, Some(searched), Some(replacement)) = (constant, searched.get(0), replacement.get(0))
        && !searched.is_empty()
    {
        let array = text.array();
        if let ([byte], true) = (searched.as_bytes(), replacement.is_empty()) {
            return Ok(result(call, Arc::new(without_byte(array, *byte)?)));
        }
        let mut out = Texts { bytes: Vec::with_capacity(array.value_data().len()), offsets: Vec::with_capacity(array.len() + 1) };
        out.offsets.push(0);
        let finder = memmem::Finder::new(searched);
        for text in array {
            match (text, searched.as_bytes()) {
                (None, _) => out.push_null(),
                (Some(text), [byte]) => out.push_replaced(text, BytePositions::new(text.as_bytes(), *byte), 1, replacement)?,
                (Some(text), _) => out.push_replaced(text, finder.find_iter(text.as_bytes()), searched.len(), replacement)?,
            }
        }
        let offsets = OffsetBuffer::new(out.offsets.into());
        return Ok(result(call, Arc::new(StringArray::try_new(offsets, Buffer::from_vec(out.bytes), array.nulls().cloned())?)));
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
