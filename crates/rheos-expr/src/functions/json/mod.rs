//! Functions of JSON. Their clauses come as trailing constant arguments:
//!
//! ```text
//! JSON_VALUE(doc, path [, on empty, default, on error, default])   'NULL' | 'ERROR' | 'DEFAULT'; RETURNING is a cast around it
//! JSON_QUERY(doc, path [, wrapper, on empty, on error [, 'ARRAY']])
//!     wrapper 'WITHOUT' | 'CONDITIONAL' | 'UNCONDITIONAL', then 'NULL' | 'ERROR' | 'EMPTY ARRAY' | 'EMPTY OBJECT';
//!     'ARRAY' is RETURNING ARRAY<STRING>
//! JSON_EXISTS(doc, path [, on error])                              'TRUE' | 'FALSE' | 'UNKNOWN' | 'ERROR'
//! JSON_OBJECT(key, value, ..., on null)                            'NULL ON NULL' | 'ABSENT ON NULL'
//! JSON_ARRAY(value, ..., on null)                                  'NULL ON NULL' | 'ABSENT ON NULL'
//! IS JSON(text [, kind])                                           'VALUE' | 'OBJECT' | 'ARRAY' | 'SCALAR'
//! ```

use rheos_core::types::{LogicalType, TypeKind};

use crate::function::{Arg, Function, Signature};

use super::signature::Param::{Any, Keyword, Kind, Text};
use super::signature::{accept, count, signature};

mod construct;
mod number;
mod path;
mod query;
mod quote;
#[cfg(test)]
mod tests;
mod value;
mod write;

const STRING: TypeKind = TypeKind::STRING;

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("JSON_VALUE", "JSON_VALUE(document, path [RETURNING type] [... ON EMPTY] [... ON ERROR])", json_value, query::json_value)
        .prepared(query::prepare_json_value),
    Function::new("JSON_QUERY", "JSON_QUERY(document, path [... WRAPPER] [... ON EMPTY] [... ON ERROR])", json_query, query::json_query)
        .prepared(query::prepare_json_query),
    Function::new("JSON_EXISTS", "JSON_EXISTS(document, path [... ON ERROR])", json_exists, query::json_exists)
        .prepared(query::prepare_json_exists),
    Function::new("IS JSON", "text IS JSON [VALUE | OBJECT | ARRAY | SCALAR]", is_json, query::is_json),
    // Not folded: an object within an object must still be known as one.
    Function::new("JSON_OBJECT", "JSON_OBJECT(key VALUE value, ... [... ON NULL])", json_object, construct::json_object)
        .prepared(construct::prepare_json_object)
        .session_dependent(),
    Function::new("JSON_ARRAY", "JSON_ARRAY(value, ... [... ON NULL])", json_array, construct::json_array)
        .prepared(construct::prepare_json_array)
        .session_dependent(),
    Function::new(
        "JSON",
        "JSON(text), as a value in JSON_OBJECT or JSON_ARRAY",
        |a| nullable(signature(a, &[Text], &[], STRING)),
        construct::json,
    )
    .session_dependent(),
    Function::new("JSON_STRING", "JSON_STRING(value)", |a| signature(a, &[Any], &[], STRING), construct::json_string)
        .prepared(construct::prepare_json_string),
    Function::new("JSON_QUOTE", "JSON_QUOTE(text)", |a| signature(a, &[Text], &[], STRING), quote::json_quote),
    Function::new("JSON_UNQUOTE", "JSON_UNQUOTE(text)", |a| signature(a, &[Text], &[], STRING), quote::json_unquote),
];

/// The result may be NULL although no argument is.
fn nullable(signature: Result<Signature, String>) -> Result<Signature, String> {
    signature.map(|s| Signature { result: s.result.with_nullable(true), ..s })
}

/// Refuses a constant path with what we do not have.
fn legal_path(args: &[Arg<'_>]) -> Result<(), String> {
    match args.get(1).and_then(Arg::text).map(path::Path::parse) {
        Some(Err(e)) if !e.is_invalid() => Err(e.to_string()),
        _ => Ok(()),
    }
}

fn mode(args: &[Arg<'_>], index: usize, legal: &[&str]) -> Result<LogicalType, String> {
    let text = args[index].text().ok_or_else(|| format!("argument {} must be a constant keyword", index + 1))?;
    if !legal.contains(&text) {
        return Err(format!("argument {} must be one of '{}', got '{text}'", index + 1, legal.join("', '")));
    }
    Ok(args[index].ty().clone())
}

fn json_value(args: &[Arg<'_>]) -> Result<Signature, String> {
    legal_path(args)?;
    if args.len() <= 2 {
        return nullable(signature(args, &[Text, Text], &[], STRING));
    }
    count(args, 6, 6)?;
    let modes = ["NULL", "ERROR", "DEFAULT"];
    // Defaults of any type are cast to a text, as values are.
    let types = vec![
        accept(0, &args[0], &Text)?,
        accept(1, &args[1], &Text)?,
        mode(args, 2, &modes)?,
        STRING.nullable(),
        mode(args, 4, &modes)?,
        STRING.nullable(),
    ];
    Ok(Signature { args: types, result: STRING.nullable() })
}

fn json_query(args: &[Arg<'_>]) -> Result<Signature, String> {
    legal_path(args)?;
    if args.len() > 2 {
        count(args, 5, 6)?;
        mode(args, 2, &["WITHOUT", "CONDITIONAL", "UNCONDITIONAL"])?;
        let modes = ["NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"];
        mode(args, 3, &modes)?;
        mode(args, 4, &modes)?;
    }
    let result = if args.len() == 6 {
        mode(args, 5, &["ARRAY"])?;
        if args[3].text() == Some("EMPTY OBJECT") || args[4].text() == Some("EMPTY OBJECT") {
            return Err("an ARRAY cannot be an EMPTY OBJECT".into());
        }
        TypeKind::Array(Box::new(STRING.nullable()))
    } else {
        STRING
    };
    nullable(signature(args, &[Text, Text], &[Keyword, Keyword, Keyword, Keyword], result))
}

fn json_exists(args: &[Arg<'_>]) -> Result<Signature, String> {
    legal_path(args)?;
    if args.len() > 2 {
        mode(args, 2, &["TRUE", "FALSE", "UNKNOWN", "ERROR"])?;
    }
    nullable(signature(args, &[Text, Text], &[Keyword], TypeKind::Boolean))
}

fn is_json(args: &[Arg<'_>]) -> Result<Signature, String> {
    if args.len() > 1 {
        mode(args, 1, &["VALUE", "OBJECT", "ARRAY", "SCALAR"])?;
    }
    let s = signature(args, &[Text], &[Keyword], TypeKind::Boolean)?;
    Ok(Signature { result: TypeKind::Boolean.with_nullable(s.args[0].nullable), args: s.args })
}

const ON_NULL: [&str; 2] = ["NULL ON NULL", "ABSENT ON NULL"];

fn json_object(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    if args.len().is_multiple_of(2) {
        return Err("takes a value for each key".into());
    }
    let last = args.len() - 1;
    let types = args.iter().enumerate().map(|(i, arg)| match i {
        i if i == last => mode(args, last, &ON_NULL),
        i if i.is_multiple_of(2) => accept(i, arg, &Kind(STRING)),
        _ => Ok(arg.ty().clone()),
    });
    Ok(Signature { args: types.collect::<Result<_, _>>()?, result: STRING.not_null() })
}

fn json_array(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let last = args.len() - 1;
    mode(args, last, &ON_NULL)?;
    Ok(Signature { args: args.iter().map(|a| a.ty().clone()).collect(), result: STRING.not_null() })
}
