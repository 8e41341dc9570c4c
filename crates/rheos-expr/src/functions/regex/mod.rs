//! Functions with regular expressions, in Java's syntax.

use rheos_core::types::TypeKind;

use crate::function::{Arg, Function, Signature};

use super::signature::Param::{Kind, Text};
use super::signature::{Param, signature};

mod classes;
mod count;
mod extract;
mod java;
mod literal;
pub(super) mod pattern;
mod replace;
#[cfg(test)]
mod tests;

const STRING: TypeKind = TypeKind::STRING;
const INT: TypeKind = TypeKind::Int;
const LONG: Param = Kind(TypeKind::BigInt);

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("REGEXP", "REGEXP(text, regex)", |a| signature(legal(a)?, &[Text, Text], &[], TypeKind::Boolean), count::is_match)
        .prepared(count::prepare_is_match),
    Function::new("REGEXP_EXTRACT", "REGEXP_EXTRACT(text, regex [, group])", |a| nullable(legal(a)?, &[LONG], STRING), extract::extract)
        .prepared(extract::prepare_extract),
    Function::new("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL(text, regex [, group])", extract_all, extract::extract_all)
        .prepared(extract::prepare_extract_all),
    Function::new("REGEXP_SUBSTR", "REGEXP_SUBSTR(text, regex)", |a| nullable(supported(a)?, &[], STRING), extract::substr)
        .prepared(extract::prepare_substr),
    Function::new("REGEXP_COUNT", "REGEXP_COUNT(text, regex)", |a| nullable(supported(a)?, &[], INT), count::count)
        .prepared(count::prepare_count),
    Function::new("REGEXP_INSTR", "REGEXP_INSTR(text, regex)", |a| nullable(supported(a)?, &[], INT), count::instr)
        .prepared(count::prepare_instr),
    Function::new("REGEXP_REPLACE", "REGEXP_REPLACE(text, regex, replacement)", replace, replace::replace)
        .prepared(replace::prepare_replace),
];

fn nullable(args: &[Arg<'_>], optional: &[Param], result: TypeKind) -> Result<Signature, String> {
    let s = signature(args, &[Text, Text], optional, result)?;
    Ok(Signature { result: s.result.with_nullable(true), ..s })
}

fn extract_all(args: &[Arg<'_>]) -> Result<Signature, String> {
    nullable(supported(args)?, &[LONG], TypeKind::Array(Box::new(STRING.nullable())))
}

fn replace(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(legal(args)?, &[Text, Text, Text], &[], STRING)?;
    Ok(Signature { result: s.result.with_nullable(true), ..s })
}

/// Refuses a constant that is no regular expression.
fn legal<'a, 'e>(args: &'a [Arg<'e>]) -> Result<&'a [Arg<'e>], String> {
    if let Some(regex) = args.get(1).and_then(Arg::text) {
        pattern::Pattern::compile(regex).map_err(|e| e.to_string())?;
    }
    Ok(args)
}

/// Refuses only what Java has and we do not: these functions give NULL for what is no regular expression.
fn supported<'a, 'e>(args: &'a [Arg<'e>]) -> Result<&'a [Arg<'e>], String> {
    match args.get(1).and_then(Arg::text).map(pattern::Pattern::compile) {
        Some(Err(e)) if !e.is_invalid() => Err(e.to_string()),
        _ => Ok(args),
    }
}
