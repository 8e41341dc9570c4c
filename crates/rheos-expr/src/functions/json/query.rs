//! What is at a path in a document: JSON_VALUE, JSON_QUERY, JSON_EXISTS; and IS JSON.

use std::sync::Arc;

use arrow::array::{BooleanArray, ListBuilder, StringArray, StringBuilder};

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use crate::expr::{EvalConfig, Expr};
use crate::function::{Call, Prepared, Value};
use crate::functions::kernel::{Rows, collect, result, rows_to_compute, texts, try_collect};

use super::number::write_number;
use super::path::{Found, Missing, Path};
use super::value::Json;
use super::write::{write_array, write_json};

/// The path of each row: parsed once if it is constant, else when it changes.
struct Paths<'a> {
    constant: Option<&'a Option<Path>>,
    rows: Rows<'a, StringArray>,
    last: Option<(&'a str, Option<Path>)>,
}

impl<'a> Paths<'a> {
    fn of(call: &Call<'a>, constant: Option<&'a Option<Path>>) -> Result<Paths<'a>> {
        Ok(Paths { constant, rows: texts(call, 1)?, last: None })
    }

    /// `None` for NULL; an inner `None` for what is no path.
    fn get(&mut self, row: usize) -> Result<Option<Option<&Path>>> {
        if let Some(path) = self.constant {
            return Ok(Some(path.as_ref()));
        }
        let Some(text) = self.rows.get(row) else { return Ok(None) };
        if self.last.as_ref().is_none_or(|(last, _)| *last != text) {
            self.last = Some((text, parse(text)?));
        }
        Ok(self.last.as_ref().map(|(_, path)| path.as_ref()))
    }
}

/// What Flink takes for no path either is an error of each row, which its ON ERROR clause may turn into something else.
fn parse(text: &str) -> Result<Option<Path>> {
    match Path::parse(text) {
        Ok(path) => Ok(Some(path)),
        Err(e) if e.is_invalid() => Ok(None),
        Err(e) => Err(Error::input(e.to_string())),
    }
}

fn constant_path(args: &[Expr]) -> Result<Option<Option<Path>>> {
    args.get(1).and_then(Expr::literal_text).map(parse).transpose()
}

/// Follows a path through the document of a row and gives what `answer` makes of it. A document that is none is nothing
/// for a lax path and an error for a strict one.
fn at_path<X>(document: &str, path: Option<&Path>, answer: impl FnOnce(Result<Found<'_, '_>, Missing>, bool) -> X) -> X {
    let Some(path) = path else { return answer(Err(Missing), false) };
    match Json::parse(document) {
        Some(json) => answer(path.follow(&json), path.lax),
        None if path.lax => answer(Ok(Found::Nothing), true),
        None => answer(Err(Missing), false),
    }
}

/// The keyword in argument `index`, or the one that is meant without it.
fn keyword<'a>(call: &Call<'a>, index: usize, default: &'a str) -> Result<&'a str> {
    match call.args.len() > index {
        true => Ok(texts(call, index)?.get(0).unwrap_or(default)),
        false => Ok(default),
    }
}

pub(super) fn prepare_json_value(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(path) = constant_path(args)? else { return Ok(None) };
    Ok(Some(Box::new(move |call| value_at(call, Some(&path)))))
}

pub(super) fn json_value(call: &Call<'_>) -> Result<Value> {
    value_at(call, None)
}

/// Whether nothing or an error was found instead of a value.
enum Otherwise {
    Empty,
    Error,
}

fn value_at(call: &Call<'_>, constant: Option<&Option<Path>>) -> Result<Value> {
    let document = texts(call, 0)?;
    let mut paths = Paths::of(call, constant)?;
    let (on_empty, on_error) = (keyword(call, 2, "NULL")?, keyword(call, 4, "NULL")?);
    let default = |index: usize| if call.args.len() > index { texts(call, index).map(Some) } else { Ok(None) };
    let (empty_default, error_default) = (default(3)?, default(5)?);
    let rows = rows_to_compute(call);
    let mut out = StringBuilder::with_capacity(rows, rows * 16);
    let mut number = String::new();
    for row in 0..rows {
        let (Some(document), Some(path)) = (document.get(row), paths.get(row)?) else {
            out.append_null();
            continue;
        };
        let otherwise = at_path(document, path, |found, lax| {
            match found {
                Err(Missing) => return Some(Otherwise::Error),
                Ok(Found::Nothing | Found::One(Json::Null)) => return Some(Otherwise::Empty),
                Ok(Found::One(Json::Text(text))) => out.append_value(text),
                Ok(Found::One(Json::Bool(b))) => out.append_value(if *b { "true" } else { "false" }),
                Ok(Found::One(Json::Number(text))) => {
                    number.clear();
                    write_number(&mut number, text);
                    out.append_value(&number);
                }
                // Arrays and objects are no values.
                Ok(_) => return Some(if lax { Otherwise::Empty } else { Otherwise::Error }),
            }
            None
        });
        let (mode, default) = match otherwise {
            None => continue,
            Some(Otherwise::Empty) => (on_empty, &empty_default),
            Some(Otherwise::Error) => (on_error, &error_default),
        };
        match mode {
            "ERROR" => return Err(Error::input(format!("JSON_VALUE: no value at the path in '{}'", shortened(document)))),
            "DEFAULT" => out.append_option(default.as_ref().and_then(|d| d.get(row))),
            _ => out.append_null(),
        }
    }
    Ok(result(call, Arc::new(out.finish())))
}

/// The beginning of a document, for error texts.
fn shortened(document: &str) -> String {
    document.chars().take(80).collect()
}

pub(super) fn prepare_json_query(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(path) = constant_path(args)? else { return Ok(None) };
    Ok(Some(Box::new(move |call| query_at(call, Some(&path)))))
}

pub(super) fn json_query(call: &Call<'_>) -> Result<Value> {
    query_at(call, None)
}

/// What a query found: the values of an array, or an object.
enum Queried<'d, 'a> {
    Array(Vec<&'d Json<'a>>),
    /// An array whose only item is an array of these.
    Nested(Vec<&'d Json<'a>>),
    Object(&'d Json<'a>),
}

fn queried<'d, 'a>(found: Result<Found<'d, 'a>, Missing>, lax: bool, wrapper: &str) -> Result<Queried<'d, 'a>, Otherwise> {
    let found = match found {
        Err(Missing) => return Err(Otherwise::Error),
        Ok(Found::Nothing | Found::One(Json::Null)) => return Err(Otherwise::Empty),
        Ok(found) => found,
    };
    Ok(match (found, wrapper) {
        (Found::Many(values), "UNCONDITIONAL") => Queried::Nested(values),
        (Found::Many(values), _) => Queried::Array(values),
        (Found::One(value), "UNCONDITIONAL") => Queried::Array(vec![value]),
        (Found::One(Json::Array(items)), _) => Queried::Array(items.iter().collect()),
        (Found::One(value), "CONDITIONAL") => Queried::Array(vec![value]),
        (Found::One(value), _) if !value.is_scalar() => Queried::Object(value),
        // Without a wrapper a scalar is no result.
        _ => return Err(if lax { Otherwise::Empty } else { Otherwise::Error }),
    })
}

fn query_at(call: &Call<'_>, constant: Option<&Option<Path>>) -> Result<Value> {
    let document = texts(call, 0)?;
    let mut paths = Paths::of(call, constant)?;
    let wrapper = keyword(call, 2, "WITHOUT")?;
    let (on_empty, on_error) = (keyword(call, 3, "NULL")?, keyword(call, 4, "NULL")?);
    let rows = rows_to_compute(call);
    let mut texts = StringBuilder::new();
    let mut lists = ListBuilder::new(StringBuilder::new());
    let as_list = matches!(call.result.kind, TypeKind::Array(_));
    let mut text = String::new();
    for row in 0..rows {
        let (Some(document), Some(path)) = (document.get(row), paths.get(row)?) else {
            if as_list {
                lists.append(false)
            } else {
                texts.append_null()
            }
            continue;
        };
        let otherwise = at_path(document, path, |found, lax| {
            let queried = queried(found, lax, wrapper)?;
            text.clear();
            if as_list {
                return append_list(&mut lists, queried, &mut text);
            }
            match queried {
                Queried::Array(items) => write_array(&mut text, items.into_iter()),
                Queried::Nested(items) => {
                    text.push('[');
                    write_array(&mut text, items.into_iter());
                    text.push(']');
                }
                Queried::Object(value) => write_json(&mut text, value),
            }
            texts.append_value(&text);
            Ok(())
        });
        let mode = match otherwise {
            Ok(()) => continue,
            Err(Otherwise::Empty) => on_empty,
            Err(Otherwise::Error) => on_error,
        };
        match (mode, as_list) {
            ("ERROR", _) => {
                return Err(Error::input(format!("JSON_QUERY: no array or object at the path in '{}'", shortened(document))));
            }
            ("EMPTY ARRAY", true) => lists.append(true),
            (_, true) => lists.append(false),
            ("EMPTY ARRAY", false) => texts.append_value("[]"),
            ("EMPTY OBJECT", false) => texts.append_value("{}"),
            _ => texts.append_null(),
        }
    }
    Ok(result(call, if as_list { Arc::new(lists.finish()) } else { Arc::new(texts.finish()) }))
}

/// Items as texts: texts without quotes, everything else as JSON.
fn append_list(lists: &mut ListBuilder<StringBuilder>, queried: Queried<'_, '_>, text: &mut String) -> Result<(), Otherwise> {
    match queried {
        Queried::Array(items) => {
            for item in items {
                match item {
                    Json::Null => lists.values().append_null(),
                    Json::Text(t) => lists.values().append_value(t),
                    item => {
                        text.clear();
                        write_json(text, item);
                        lists.values().append_value(&text);
                    }
                }
            }
        }
        Queried::Nested(items) => {
            write_array(text, items.into_iter());
            lists.values().append_value(text);
        }
        Queried::Object(_) => return Err(Otherwise::Error),
    }
    lists.append(true);
    Ok(())
}

pub(super) fn prepare_json_exists(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some(path) = constant_path(args)? else { return Ok(None) };
    Ok(Some(Box::new(move |call| exists_at(call, Some(&path)))))
}

pub(super) fn json_exists(call: &Call<'_>) -> Result<Value> {
    exists_at(call, None)
}

fn exists_at(call: &Call<'_>, constant: Option<&Option<Path>>) -> Result<Value> {
    let document = texts(call, 0)?;
    let mut paths = Paths::of(call, constant)?;
    let on_error = keyword(call, 2, "FALSE")?;
    try_collect::<BooleanArray, bool>(call, |row| {
        let (Some(document), Some(path)) = (document.get(row), paths.get(row)?) else { return Ok(None) };
        // A null is nothing that exists.
        let found = at_path(document, path, |found, _| found.map(|f| !matches!(f, Found::Nothing | Found::One(Json::Null))));
        match (found, on_error) {
            (Ok(exists), _) => Ok(Some(exists)),
            (Err(Missing), "TRUE") => Ok(Some(true)),
            (Err(Missing), "UNKNOWN") => Ok(None),
            (Err(Missing), "ERROR") => Err(Error::input(format!("JSON_EXISTS: nothing at the path in '{}'", shortened(document)))),
            (Err(Missing), _) => Ok(Some(false)),
        }
    })
}

pub(super) fn is_json(call: &Call<'_>) -> Result<Value> {
    let (text, kind) = (texts(call, 0)?, keyword(call, 1, "VALUE")?);
    collect::<BooleanArray, _>(call, |row| {
        let parsed = Json::parse(text.get(row)?);
        Some(parsed.is_some_and(|json| match kind {
            "OBJECT" => matches!(json, Json::Object(_)),
            "ARRAY" => matches!(json, Json::Array(_)),
            "SCALAR" => json.is_scalar(),
            _ => true,
        }))
    })
}
