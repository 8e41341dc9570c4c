//! Matches replaced. The replacement stands for itself: Flink quotes what Java would read as groups.

use rheos_core::error::Result;
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{texts, write_texts};

use super::extract::constant_pattern;
use super::pattern::{Pattern, Patterns};

fn write_replaced(pattern: &Pattern, text: &str, replacement: &str, out: &mut String) {
    let mut from = 0;
    pattern.for_each_match(text, |found| {
        out.push_str(&text[from..found.start]);
        out.push_str(replacement);
        from = found.end;
    });
    out.push_str(&text[from..]);
}

pub(super) fn prepare_replace(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(pattern) = constant_pattern(args)? else { return Ok(None) };
    Ok(Some(Box::new(move |call| {
        let (text, replacement) = (texts(call, 0)?, texts(call, 2)?);
        write_texts(call, |row, out| {
            write_replaced(pattern.as_ref()?, text.get(row)?, replacement.get(row)?, out);
            Some(())
        })
    })))
}

pub(super) fn replace(call: &Call<'_>) -> Result<Value> {
    let (text, regex, replacement) = (texts(call, 0)?, texts(call, 1)?, texts(call, 2)?);
    let mut patterns = Patterns::default();
    let mut failure = None;
    let value = write_texts(call, |row, out| {
        let (text, regex, replacement) = (text.get(row)?, regex.get(row)?, replacement.get(row)?);
        match patterns.get(regex) {
            Ok(pattern) => write_replaced(pattern?, text, replacement, out),
            Err(e) => {
                failure = Some(e);
                return None;
            }
        }
        Some(())
    })?;
    failure.map_or(Ok(value), Err)
}
