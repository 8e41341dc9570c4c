//! Functions of texts. Positions and lengths count characters (code points).

use rheos_core::types::{MAX_LENGTH, TypeKind};

use crate::function::{Arg, Function, Signature};

use super::signature::Param::{Any, Integer, Keyword, Kind, Text};
use super::signature::{Param, accept, any_nullable, count, signature, variadic};

mod bytes;
mod case;
mod characters;
mod check;
mod encode;
mod like;
mod pad;
mod print;
mod search;
mod slice;
mod split;
#[cfg(test)]
mod tests;
mod utf8;

const STRING: TypeKind = TypeKind::STRING;
const INT: TypeKind = TypeKind::Int;
/// An integer argument of whatever width.
const LONG: Param = Kind(TypeKind::BigInt);

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    // Letters.
    Function::new("CHAR_LENGTH", "CHAR_LENGTH(text)", |a| signature(a, &[Text], &[], INT), case::char_length)
        .aliases(&["CHARACTER_LENGTH"])
        .cheap(),
    Function::new("UPPER", "UPPER(text)", |a| like_first(a, &[]), case::upper).cheap(),
    Function::new("LOWER", "LOWER(text)", |a| like_first(a, &[]), case::lower).cheap(),
    Function::new("INITCAP", "INITCAP(text)", |a| like_first(a, &[]), case::initcap),
    Function::new("REVERSE", "REVERSE(text)", |a| nullable(signature(a, &[Text], &[], STRING)), case::reverse),
    // Ends.
    Function::new("TRIM", "TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)", trim, pad::trim),
    Function::new("LTRIM", "LTRIM(text [, characters])", |a| varying_first(a, &[], &[Text]), pad::ltrim),
    Function::new("RTRIM", "RTRIM(text [, characters])", |a| varying_first(a, &[], &[Text]), pad::rtrim),
    Function::new("BTRIM", "BTRIM(text [, characters])", |a| signature(a, &[Text], &[Text], STRING), pad::btrim),
    Function::new("LPAD", "LPAD(text, length, padding)", |a| signature(a, &[Text, LONG, Text], &[], STRING), pad::lpad),
    Function::new("RPAD", "RPAD(text, length, padding)", |a| signature(a, &[Text, LONG, Text], &[], STRING), pad::rpad),
    Function::new("REPEAT", "REPEAT(text, times)", |a| signature(a, &[Text, LONG], &[], STRING), pad::repeat),
    // Parts.
    Function::new("SUBSTRING", "SUBSTRING(text, start [, length])", |a| nullable(varying_first(a, &[LONG], &[LONG])), slice::substring)
        .aliases(&["SUBSTR"]),
    Function::new("LEFT", "LEFT(text, length)", |a| nullable(varying_first(a, &[LONG], &[])), slice::left),
    Function::new("RIGHT", "RIGHT(text, length)", |a| nullable(varying_first(a, &[LONG], &[])), slice::right),
    Function::new("OVERLAY", "OVERLAY(text, replacement, start [, length])", overlay, slice::overlay),
    Function::new("SPLIT_INDEX", "SPLIT_INDEX(text, separator, index)", split_index, split::split_index),
    Function::new("SPLIT", "SPLIT(text, separator)", split, split::split),
    Function::new("STR_TO_MAP", "STR_TO_MAP(text [, pairs separator, key separator])", str_to_map, split::str_to_map),
    Function::new("ELT", "ELT(index, text, ...)", elt, slice::elt),
    // Search.
    Function::new("POSITION", "POSITION(text IN text)", |a| signature(a, &[Text, Text], &[], INT), search::locate),
    Function::new("LOCATE", "LOCATE(searched, text [, start])", |a| signature(a, &[Text, Text], &[LONG], INT), search::locate),
    Function::new("INSTR", "INSTR(text, searched [, start [, nth]])", |a| signature(a, &[Text, Text], &[LONG, LONG], INT), search::instr),
    Function::new("STARTSWITH", "STARTSWITH(text, start)", starts_or_ends, search::starts_with),
    Function::new("ENDSWITH", "ENDSWITH(text, end)", starts_or_ends, search::ends_with),
    Function::new("REPLACE", "REPLACE(text, searched, replacement)", |a| signature(a, &[Text, Text, Text], &[], STRING), search::replace),
    Function::new("TRANSLATE", "TRANSLATE(text, characters, replacements)", translate, search::translate),
    Function::new("LIKE", "text LIKE pattern [ESCAPE character]", like::resolve, like::eval).prepared(like::prepare),
    Function::new("SIMILAR TO", "text SIMILAR TO pattern [ESCAPE character]", like::resolve_similar, like::eval_similar)
        .prepared(like::prepare_similar),
    // Assembly.
    Function::new("CONCAT", "CONCAT(text, ...)", |a| variadic(a, 1, &Kind(STRING), STRING), print::concat),
    Function::new("CONCAT_WS", "CONCAT_WS(separator, text, ...)", |a| variadic(a, 1, &Kind(STRING), STRING), print::concat_ws),
    Function::new("PRINTF", "PRINTF(format, value, ...)", printf, print::printf),
    Function::new("TYPEOF", "TYPEOF(value)", type_of, print::type_of),
    Function::new("UUID", "UUID()", |a| signature(a, &[], &[], TypeKind::Char(36)), print::uuid).nondeterministic(),
    // Codes.
    Function::new("ASCII", "ASCII(text)", |a| signature(a, &[Text], &[], INT), encode::ascii),
    Function::new("CHR", "CHR(code)", |a| nullable(signature(a, &[LONG], &[], STRING)), encode::chr),
    Function::new("BIN", "BIN(integer)", |a| signature(a, &[LONG], &[], STRING), encode::bin),
    Function::new("HEX", "HEX(integer or text)", hex, encode::hex),
    Function::new("UNHEX", "UNHEX(text)", |a| nullable(signature(a, &[Text], &[], TypeKind::BYTES)), encode::unhex),
    Function::new("TO_BASE64", "TO_BASE64(text)", text_or_bytes, encode::to_base64),
    Function::new("FROM_BASE64", "FROM_BASE64(text)", text_or_bytes, encode::from_base64),
    Function::new("ENCODE", "ENCODE(text, charset)", |a| signature(a, &[Text, Text], &[], TypeKind::BYTES), encode::encode),
    Function::new("DECODE", "DECODE(bytes, charset)", |a| signature(a, &[Param::Bytes, Text], &[], STRING), encode::decode),
    Function::new(
        "IS_VALID_UTF8",
        "IS_VALID_UTF8(bytes)",
        |a| signature(a, &[Param::Bytes], &[], TypeKind::Boolean),
        encode::is_valid_utf8,
    ),
    Function::new("MAKE_VALID_UTF8", "MAKE_VALID_UTF8(bytes)", |a| signature(a, &[Param::Bytes], &[], STRING), encode::make_valid_utf8),
    // Tests.
    Function::new("IS_ALPHA", "IS_ALPHA(text)", checked, check::is_alpha),
    Function::new("IS_DIGIT", "IS_DIGIT(text)", checked, check::is_digit),
    Function::new("IS_DECIMAL", "IS_DECIMAL(text)", checked, check::is_decimal),
];

/// The result may be NULL although no argument is.
fn nullable(signature: Result<Signature, String>) -> Result<Signature, String> {
    signature.map(|s| Signature { result: s.result.with_nullable(true), ..s })
}

/// The result has the first argument's type.
fn like_first(args: &[Arg<'_>], more: &[Param]) -> Result<Signature, String> {
    let required: Vec<Param> = std::iter::once(Text).chain(more.iter().cloned()).collect();
    let s = signature(args, &required, &[], STRING)?;
    Ok(Signature { result: s.args[0].kind.clone().with_nullable(s.result.nullable), args: s.args })
}

/// The result is a VARCHAR of the first argument's length.
fn varying_first(args: &[Arg<'_>], more: &[Param], optional: &[Param]) -> Result<Signature, String> {
    let required: Vec<Param> = std::iter::once(Text).chain(more.iter().cloned()).collect();
    let s = signature(args, &required, optional, STRING)?;
    let length = length(&s.args[0].kind);
    Ok(Signature { result: TypeKind::Varchar(length).with_nullable(s.result.nullable), args: s.args })
}

fn length(kind: &TypeKind) -> u32 {
    match kind {
        TypeKind::Char(n) | TypeKind::Varchar(n) => *n,
        _ => MAX_LENGTH,
    }
}

fn trim(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[Keyword, Text, Text], &[], STRING)?;
    Ok(Signature { result: TypeKind::Varchar(length(&s.args[2].kind)).with_nullable(s.result.nullable), args: s.args })
}

fn overlay(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[Text, Text, LONG], &[LONG], STRING)?;
    let length = length(&s.args[0].kind).saturating_add(length(&s.args[1].kind)).min(MAX_LENGTH);
    Ok(Signature { result: TypeKind::Varchar(length).with_nullable(s.result.nullable), args: s.args })
}

/// The separator may be given as a text or as the code of a character.
fn split_index(args: &[Arg<'_>]) -> Result<Signature, String> {
    let separator = if args.get(1).is_some_and(|a| a.kind().is_integer()) { LONG } else { Text };
    nullable(signature(args, &[Text, separator, LONG], &[], STRING))
}

fn split(args: &[Arg<'_>]) -> Result<Signature, String> {
    signature(args, &[Text, Text], &[], TypeKind::Array(Box::new(STRING.nullable())))
}

fn str_to_map(args: &[Arg<'_>]) -> Result<Signature, String> {
    if args.len() == 2 {
        return Err("takes both separators or none".into());
    }
    signature(args, &[Text], &[Text, Text], TypeKind::Map(Box::new(STRING.nullable()), Box::new(STRING.nullable())))
}

fn elt(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 2, usize::MAX)?;
    if args[0].int().is_some_and(|i| i < 0) {
        return Err("argument 1 must not be negative".into());
    }
    let bytes = args[1..].iter().any(|a| a.kind().is_binary());
    let param = if bytes { Param::Bytes } else { Text };
    let mut types = vec![accept(0, &args[0], &Integer).and_then(|_| accept(0, &args[0], &LONG))?];
    for (i, arg) in args.iter().enumerate().skip(1) {
        types.push(accept(i, arg, &param)?);
    }
    // Texts of one fixed length stay that; others take the longest.
    let kinds = || types[1..].iter().map(|ty| &ty.kind);
    let longest = kinds().map(length_of_any).max().unwrap_or(MAX_LENGTH);
    let fixed = kinds().all(|k| matches!(k, TypeKind::Char(n) | TypeKind::Binary(n) if *n == longest));
    let result = match (bytes, fixed) {
        (true, true) => TypeKind::Binary(longest),
        (true, false) => TypeKind::Varbinary(longest),
        (false, true) => TypeKind::Char(longest),
        (false, false) => TypeKind::Varchar(longest),
    };
    Ok(Signature { args: types, result: result.nullable() })
}

fn length_of_any(kind: &TypeKind) -> u32 {
    match kind {
        TypeKind::Binary(n) | TypeKind::Varbinary(n) => *n,
        kind => length(kind),
    }
}

fn starts_or_ends(args: &[Arg<'_>]) -> Result<Signature, String> {
    let param = if args.iter().any(|a| a.kind().is_binary()) { Param::Bytes } else { Text };
    signature(args, &[param.clone(), param], &[], TypeKind::Boolean)
}

/// Only a NULL text makes the result NULL: without characters nothing is replaced.
fn translate(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[Text, Text, Text], &[], STRING)?;
    Ok(Signature { result: STRING.with_nullable(s.args[0].nullable), args: s.args })
}

fn printf(args: &[Arg<'_>]) -> Result<Signature, String> {
    count(args, 1, usize::MAX)?;
    let mut types = vec![accept(0, &args[0], &Text)?];
    for (i, arg) in args.iter().enumerate().skip(1) {
        types.push(accept(i, arg, &Any)?);
    }
    Ok(Signature { args: types, result: STRING.nullable() })
}

/// The second argument asks for a form that can be parsed again; ours always can.
fn type_of(args: &[Arg<'_>]) -> Result<Signature, String> {
    let s = signature(args, &[Any], &[Kind(TypeKind::Boolean)], STRING)?;
    if args.get(1).is_some_and(|force| force.literal().is_none()) {
        return Err("argument 2 must be a constant".into());
    }
    Ok(Signature { result: STRING.nullable(), ..s })
}

fn hex(args: &[Arg<'_>]) -> Result<Signature, String> {
    let param = if args.first().is_some_and(|a| a.kind().is_integer()) { LONG } else { Text };
    signature(args, &[param], &[], STRING)
}

fn text_or_bytes(args: &[Arg<'_>]) -> Result<Signature, String> {
    let param = if args.first().is_some_and(|a| a.kind().is_binary()) { Param::Bytes } else { Text };
    signature(args, &[param], &[], STRING)
}

/// NULL is neither letters nor digits: the result is never NULL.
fn checked(args: &[Arg<'_>]) -> Result<Signature, String> {
    let param = if args.first().is_some_and(|a| a.kind().is_numeric()) { Param::Number } else { Text };
    let s = signature(args, &[param], &[], TypeKind::Boolean)?;
    debug_assert!(any_nullable(&s.args) == s.result.nullable);
    Ok(Signature { result: TypeKind::Boolean.not_null(), args: s.args })
}
