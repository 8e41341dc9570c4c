//! Documents put together: JSON_OBJECT, JSON_ARRAY, JSON_STRING.

use arrow::array::{Array, ArrayRef};

use rheos_core::error::{Error, Result};
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{argument, texts, write_texts};

use super::value::Json;
use super::write::{write_json, write_row, write_text};

/// Which arguments are documents themselves and go in without quotes.
fn documents(args: &[Expr]) -> Vec<bool> {
    let is_document =
        |e: &Expr| matches!(e, Expr::Call { function, .. } if matches!(function.as_str(), "JSON_OBJECT" | "JSON_ARRAY" | "JSON"));
    args.iter().map(is_document).collect()
}

/// A value to be written.
struct Part<'a> {
    array: &'a ArrayRef,
    constant: bool,
    ty: &'a LogicalType,
    document: bool,
}

impl<'a> Part<'a> {
    fn of(call: &Call<'a>, index: usize, documents: &[bool]) -> Result<Part<'a>> {
        let value = argument(call, index)?;
        let document = documents.get(index).copied().unwrap_or(false);
        Ok(Part { array: value.array(), constant: value.is_constant(), ty: &call.arg_types[index], document })
    }

    fn row(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }

    fn is_null(&self, row: usize) -> bool {
        // A column of type NULL has no mark of it.
        self.array.is_null(self.row(row)) || self.array.data_type().is_null()
    }

    fn write(&self, row: usize, out: &mut String) -> Result<()> {
        if self.document
            && let Some(texts) = self.array.as_any().downcast_ref::<arrow::array::StringArray>()
            && !self.is_null(row)
        {
            out.push_str(texts.value(self.row(row)));
            return Ok(());
        }
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        write_row(out, self.array.as_ref(), self.row(row), self.ty)
    }
}

/// The last argument says what becomes of NULL.
fn keeps_nulls(call: &Call<'_>) -> Result<bool> {
    Ok(texts(call, call.args.len() - 1)?.get(0) == Some("NULL ON NULL"))
}

/// Writes texts by a function that may fail.
fn try_write_texts(call: &Call<'_>, mut f: impl FnMut(usize, &mut String) -> Result<Option<()>>) -> Result<Value> {
    let mut failure = None;
    let value = write_texts(call, |row, out| match f(row, out) {
        Ok(written) => written,
        Err(e) => {
            failure.get_or_insert(e);
            None
        }
    })?;
    failure.map_or(Ok(value), Err)
}

pub(super) fn prepare_json_object(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let documents = documents(args);
    Ok(Some(Box::new(move |call| object(call, &documents))))
}

pub(super) fn json_object(call: &Call<'_>) -> Result<Value> {
    object(call, &[])
}

fn object(call: &Call<'_>, documents: &[bool]) -> Result<Value> {
    let pairs = (call.args.len() - 1) / 2;
    let keys = (0..pairs).map(|i| texts(call, 2 * i)).collect::<Result<Vec<_>>>()?;
    let parts = (0..pairs).map(|i| Part::of(call, 2 * i + 1, documents)).collect::<Result<Vec<_>>>()?;
    let keeps_nulls = keeps_nulls(call)?;
    let mut order: Vec<usize> = Vec::with_capacity(pairs);
    try_write_texts(call, |row, out| {
        order.clear();
        for i in 0..pairs {
            if keys[i].get(row).is_none() {
                return Err(Error::input("JSON_OBJECT: a key is NULL"));
            }
            if keeps_nulls || !parts[i].is_null(row) {
                order.push(i);
            }
        }
        let key = |i: usize| keys[i].get(row).unwrap_or_default();
        order.sort_by(|a, b| key(*a).cmp(key(*b)));
        out.push('{');
        let mut first = true;
        for (at, i) in order.iter().enumerate() {
            // Of equal keys the last counts.
            if order.get(at + 1).is_some_and(|next| key(*next) == key(*i)) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            write_text(out, key(*i));
            out.push(':');
            parts[*i].write(row, out)?;
        }
        out.push('}');
        Ok(Some(()))
    })
}

pub(super) fn prepare_json_array(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let documents = documents(args);
    Ok(Some(Box::new(move |call| array(call, &documents))))
}

pub(super) fn json_array(call: &Call<'_>) -> Result<Value> {
    array(call, &[])
}

fn array(call: &Call<'_>, documents: &[bool]) -> Result<Value> {
    let parts = (0..call.args.len() - 1).map(|i| Part::of(call, i, documents)).collect::<Result<Vec<_>>>()?;
    let keeps_nulls = keeps_nulls(call)?;
    try_write_texts(call, |row, out| {
        out.push('[');
        let mut first = true;
        for part in parts.iter().filter(|part| keeps_nulls || !part.is_null(row)) {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            part.write(row, out)?;
        }
        out.push(']');
        Ok(Some(()))
    })
}

pub(super) fn prepare_json_string(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let documents = documents(args);
    Ok(Some(Box::new(move |call| string(call, &documents))))
}

pub(super) fn json_string(call: &Call<'_>) -> Result<Value> {
    string(call, &[])
}

fn string(call: &Call<'_>, documents: &[bool]) -> Result<Value> {
    let part = Part::of(call, 0, documents)?;
    try_write_texts(call, |row, out| if part.is_null(row) { Ok(None) } else { part.write(row, out).map(Some) })
}

/// A text as a document within another; NULL for a blank one.
pub(super) fn json(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    try_write_texts(call, |row, out| {
        let Some(text) = text.get(row).filter(|t| !t.trim().is_empty()) else { return Ok(None) };
        let json = Json::parse(text).ok_or_else(|| Error::input(format!("JSON: '{text}' is not JSON")))?;
        write_json(out, &json);
        Ok(Some(()))
    })
}
