//! Parts of texts by position.

use std::sync::Arc;

use arrow::array::{BinaryArray, StringArray};
use arrow::datatypes::Int64Type;

use rheos_core::error::Result;

use crate::function::{Call, Value};
use crate::functions::kernel::{Rows, bytes, collect, numbers, result, rows_to_compute, texts, write_texts};

use super::characters::{self, bounded};

/// Positions count from 1; 0 means 1, negative ones count from the end. A negative length gives NULL.
fn part(text: &str, start: i64, length: Option<i64>) -> Option<&str> {
    if length.is_some_and(|l| l < 0) {
        return None;
    }
    let start = match start {
        1.. => bounded(start - 1),
        0 => 0,
        _ => match characters::length(text).checked_sub(bounded(start.saturating_neg())) {
            Some(start) => start,
            None => return Some(""),
        },
    };
    Some(characters::slice(text, start, length.map_or(usize::MAX, bounded)))
}

pub(super) fn substring(call: &Call<'_>) -> Result<Value> {
    let (text, start) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?);
    if call.args.len() < 3 {
        return collect::<StringArray, _>(call, |row| part(text.get(row)?, start.get(row)?, None));
    }
    let length = numbers::<Int64Type>(call, 2)?;
    collect::<StringArray, _>(call, |row| part(text.get(row)?, start.get(row)?, Some(length.get(row)?)))
}

pub(super) fn left(call: &Call<'_>) -> Result<Value> {
    let (text, length) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?);
    collect::<StringArray, _>(call, |row| {
        let text = text.get(row)?;
        Some(characters::slice(text, 0, bounded(length.get(row)?)))
    })
}

pub(super) fn right(call: &Call<'_>) -> Result<Value> {
    let (text, length) = (texts(call, 0)?, numbers::<Int64Type>(call, 1)?);
    collect::<StringArray, _>(call, |row| {
        let text = text.get(row)?;
        let skipped = characters::length(text).saturating_sub(bounded(length.get(row)?));
        Some(&text[characters::offset(text, skipped)..])
    })
}

pub(super) fn overlay(call: &Call<'_>) -> Result<Value> {
    let (text, replacement, start) = (texts(call, 0)?, texts(call, 1)?, numbers::<Int64Type>(call, 2)?);
    let length: Option<Rows<'_, _>> = (call.args.len() > 3).then(|| numbers::<Int64Type>(call, 3)).transpose()?;
    write_texts(call, |row, out| {
        let (text, replacement, start) = (text.get(row)?, replacement.get(row)?, start.get(row)?);
        let length = match &length {
            Some(length) => length.get(row)?,
            None => characters::length(replacement) as i64,
        };
        let total = characters::length(text) as i64;
        // A position outside the text replaces nothing.
        if start <= 0 || start > total {
            out.push_str(text);
            return Some(());
        }
        out.push_str(characters::slice(text, 0, bounded(start - 1)));
        out.push_str(replacement);
        if length > 0 && start.saturating_add(length) <= total {
            out.push_str(&text[characters::offset(text, bounded(start - 1 + length))..]);
        }
        Some(())
    })
}

/// The argument whose number is the index, from 1.
pub(super) fn elt(call: &Call<'_>) -> Result<Value> {
    let index = numbers::<Int64Type>(call, 0)?;
    let choose = |row: usize, choices: usize| {
        let index = usize::try_from(index.get(row)?).ok()?;
        (1..=choices).contains(&index).then(|| index - 1)
    };
    let rows = rows_to_compute(call);
    if call.result.kind.is_binary() {
        let choices = (1..call.args.len()).map(|i| bytes(call, i)).collect::<Result<Vec<_>>>()?;
        let array: BinaryArray = (0..rows).map(|row| choices[choose(row, choices.len())?].get(row)).collect();
        return Ok(result(call, Arc::new(array)));
    }
    let choices = (1..call.args.len()).map(|i| texts(call, i)).collect::<Result<Vec<_>>>()?;
    collect::<StringArray, _>(call, |row| choices[choose(row, choices.len())?].get(row))
}
