//! Parts of texts that match.

use std::sync::Arc;

use arrow::array::{Array, ListBuilder, StringArray, StringBuilder};
use arrow::datatypes::Int64Type;

use rheos_core::error::{Error, Result};
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr, Literal};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{Rows, collect, numbers, result, rows_to_compute, texts, try_collect};

use super::pattern::{Groups, Pattern, Patterns};

/// The constant pattern, `Some(None)` for a text that is none.
pub(super) fn constant_pattern(args: &[Expr]) -> Result<Option<Option<Pattern>>> {
    let Some(java) = args.get(1).and_then(Expr::literal_text) else { return Ok(None) };
    match Pattern::compile(java) {
        Ok(pattern) => Ok(Some(Some(pattern))),
        Err(e) if e.is_invalid() => Ok(Some(None)),
        Err(e) => Err(Error::config(e.to_string())),
    }
}

/// The constant group, or the one that is meant without one.
fn constant_group(args: &[Expr], default: i64) -> Option<i64> {
    match args.get(2) {
        None => Some(default),
        Some(arg) => match arg.literal() {
            Some(Literal::Int(group)) => Some(*group),
            _ => None,
        },
    }
}

/// The group by row; `None` where it is NULL.
fn group_rows<'a>(call: &Call<'a>, default: i64) -> Result<impl Fn(usize) -> Option<i64> + use<'a>> {
    let group: Option<Rows<'a, _>> = (call.args.len() > 2).then(|| numbers::<Int64Type>(call, 2)).transpose()?;
    Ok(move |row| group.as_ref().map_or(Some(default), |g| g.get(row)))
}

fn checked_group(pattern: &Pattern, group: i64) -> Option<usize> {
    usize::try_from(group).ok().filter(|g| *g <= pattern.group_count())
}

pub(super) fn prepare_extract(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let (Some(pattern), Some(group)) = (constant_pattern(args)?, constant_group(args, 0)) else { return Ok(None) };
    Ok(Some(prepared(pattern, group)))
}

/// One group of the first match, with everything known but the text.
fn prepared(pattern: Option<Pattern>, group: i64) -> Prepared {
    let pattern = pattern.and_then(|p| checked_group(&p, group).map(|g| (p, g)));
    Box::new(move |call| {
        let text = texts(call, 0)?;
        let Some((pattern, group)) = &pattern else {
            return collect::<StringArray, &str>(call, |_| None);
        };
        let mut groups = pattern.groups();
        let array = text.array();
        let mut out = StringBuilder::with_capacity(array.len(), array.len() * 8);
        for text in array {
            out.append_option(text.and_then(|text| pattern.group(text, *group, &mut groups)));
        }
        Ok(result(call, Arc::new(out.finish())))
    })
}

pub(super) fn extract(call: &Call<'_>) -> Result<Value> {
    let (text, regex, group) = (texts(call, 0)?, texts(call, 1)?, group_rows(call, 0)?);
    let mut patterns = Patterns::default();
    try_collect::<StringArray, &str>(call, |row| {
        let (Some(text), Some(regex), Some(group)) = (text.get(row), regex.get(row), group(row)) else { return Ok(None) };
        let Some(pattern) = patterns.get(regex)? else { return Ok(None) };
        Ok(checked_group(pattern, group).and_then(|group| pattern.group(text, group, &mut pattern.groups())))
    })
}

pub(super) fn prepare_substr(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    Ok(constant_pattern(args)?.map(|pattern| prepared(pattern, 0)))
}

pub(super) fn substr(call: &Call<'_>) -> Result<Value> {
    extract(call)
}

pub(super) fn prepare_extract_all(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let (Some(pattern), Some(group)) = (constant_pattern(args)?, constant_group(args, 1)) else { return Ok(None) };
    let pattern = pattern.and_then(|p| checked_group(&p, group).map(|g| (p, g)));
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        let mut groups = pattern.as_ref().map(|(p, _)| p.groups());
        let mut out = ListBuilder::new(StringBuilder::new());
        for row in 0..rows_to_compute(call) {
            match (text.get(row), &pattern, &mut groups) {
                (Some(text), Some((pattern, group)), Some(groups)) => append_all(&mut out, pattern, text, *group, groups),
                _ => out.append(false),
            }
        }
        Ok(result(call, Arc::new(out.finish())))
    })))
}

pub(super) fn extract_all(call: &Call<'_>) -> Result<Value> {
    let (text, regex, group) = (texts(call, 0)?, texts(call, 1)?, group_rows(call, 1)?);
    let mut patterns = Patterns::default();
    let mut out = ListBuilder::new(StringBuilder::new());
    for row in 0..rows_to_compute(call) {
        let found = match (text.get(row), regex.get(row), group(row)) {
            (Some(text), Some(regex), Some(group)) => {
                patterns.get(regex)?.and_then(|pattern| Some((text, pattern, checked_group(pattern, group)?)))
            }
            _ => None,
        };
        match found {
            Some((text, pattern, group)) => append_all(&mut out, pattern, text, group, &mut pattern.groups()),
            None => out.append(false),
        }
    }
    Ok(result(call, Arc::new(out.finish())))
}

fn append_all(out: &mut ListBuilder<StringBuilder>, pattern: &Pattern, text: &str, group: usize, groups: &mut Groups) {
    pattern.for_each_group(text, group, groups, |found| out.values().append_option(found.map(|range| &text[range])));
    out.append(true);
}
