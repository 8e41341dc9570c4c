//! Whether, how often and where texts match.

use arrow::array::{Array, BooleanArray, Int32Array};

use rheos_core::error::Result;
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{collect, texts, try_collect};

use super::extract::constant_pattern;
use super::pattern::{Pattern, Patterns};

/// What a match gives, and what is given for a text that is no regular expression.
type Answer<X> = (fn(&Pattern, &str) -> X, Option<X>);

const IS_MATCH: Answer<bool> = (Pattern::is_match, Some(false));
const COUNT: Answer<i32> = (
    |pattern, text| {
        let mut count = 0;
        pattern.for_each_match(text, |_| count += 1);
        count
    },
    None,
);
const INSTR: Answer<i32> = (|pattern, text| pattern.find(text).map_or(0, |found| text[..found.start].chars().count() as i32 + 1), None);

fn prepare<A, X>(args: &[Expr], (answer, invalid): Answer<X>) -> Result<Option<Prepared>>
where
    A: Array + FromIterator<Option<X>> + 'static,
    X: Copy + Send + Sync + 'static,
{
    let Some(pattern) = constant_pattern(args)? else { return Ok(None) };
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        match &pattern {
            Some(pattern) => collect::<A, X>(call, |row| Some(answer(pattern, text.get(row)?))),
            None => collect::<A, X>(call, |row| text.get(row).and(invalid)),
        }
    })))
}

fn eval<A, X>(call: &Call<'_>, (answer, invalid): Answer<X>) -> Result<Value>
where
    A: Array + FromIterator<Option<X>> + 'static,
    X: Copy,
{
    let (text, regex) = (texts(call, 0)?, texts(call, 1)?);
    let mut patterns = Patterns::default();
    try_collect::<A, X>(call, |row| match (text.get(row), regex.get(row)) {
        (Some(text), Some(regex)) => Ok(patterns.get(regex)?.map_or(invalid, |pattern| Some(answer(pattern, text)))),
        _ => Ok(None),
    })
}

pub(super) fn prepare_is_match(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    // An empty expression is found everywhere, but REGEXP says no: left to the evaluation by row.
    if args.get(1).and_then(Expr::literal_text) == Some("") {
        return Ok(None);
    }
    prepare::<BooleanArray, _>(args, IS_MATCH)
}

pub(super) fn is_match(call: &Call<'_>) -> Result<Value> {
    let (text, regex) = (texts(call, 0)?, texts(call, 1)?);
    let mut patterns = Patterns::default();
    try_collect::<BooleanArray, bool>(call, |row| match (text.get(row), regex.get(row)) {
        (Some(_), Some("")) => Ok(Some(false)),
        (Some(text), Some(regex)) => Ok(patterns.get(regex)?.map_or(IS_MATCH.1, |pattern| Some(pattern.is_match(text)))),
        _ => Ok(None),
    })
}

pub(super) fn prepare_count(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    prepare::<Int32Array, _>(args, COUNT)
}

pub(super) fn count(call: &Call<'_>) -> Result<Value> {
    eval::<Int32Array, _>(call, COUNT)
}

pub(super) fn prepare_instr(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    prepare::<Int32Array, _>(args, INSTR)
}

pub(super) fn instr(call: &Call<'_>) -> Result<Value> {
    eval::<Int32Array, _>(call, INSTR)
}
