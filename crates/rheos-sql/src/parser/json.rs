//! The clauses of SQL/JSON functions, flattened into plain arguments in the order that the function library takes.
//!
//! ```text
//! JSON_OBJECT(k VALUE v, ... [NULL | ABSENT ON NULL])   -> JSON_OBJECT(k, v, ..., 'NULL ON NULL')
//! JSON_ARRAY(v, ... [NULL | ABSENT ON NULL])            -> JSON_ARRAY(v, ..., 'ABSENT ON NULL')
//! JSON_VALUE(j, p [RETURNING t] [.. ON EMPTY] [.. ON ERROR])
//!     -> JSON_VALUE(j, p, empty mode, empty default, error mode, error default), in a cast to t
//! JSON_QUERY(j, p [wrapper] [.. ON EMPTY] [.. ON ERROR])-> JSON_QUERY(j, p, wrapper, empty mode, error mode)
//! JSON_EXISTS(j, p [.. ON ERROR])                       -> JSON_EXISTS(j, p, error mode)
//! JSON_OBJECTAGG(k VALUE v [.. ON NULL])                -> JSON_OBJECTAGG_NULL_ON_NULL(k, v)
//! JSON_ARRAYAGG(v [.. ON NULL])                         -> JSON_ARRAYAGG_ABSENT_ON_NULL(v)
//! ```

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use super::dialect::{TRY_CAST, call, text};
use super::types::parse_type;

pub(crate) fn parse(parser: &mut Parser, name: &str) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.expect_token(&Token::LParen)?;
    let expr = match name {
        "JSON_OBJECT" | "JSON_OBJECTAGG" => object(parser, name, span)?,
        "JSON_ARRAY" | "JSON_ARRAYAGG" => array(parser, name, span)?,
        _ => path_function(parser, name, span)?,
    };
    if name != "JSON_VALUE" {
        parser.expect_token(&Token::RParen)?;
    }
    Ok(expr)
}

fn word(parser: &Parser, n: usize) -> String {
    match &parser.peek_nth_token_ref(n).token {
        Token::Word(w) if w.quote_style.is_none() => w.value.to_uppercase(),
        _ => String::new(),
    }
}

/// Consumes the words if they come next.
fn take(parser: &mut Parser, words: &[&str]) -> bool {
    let all = words.iter().enumerate().all(|(i, w)| word(parser, i) == *w);
    if all {
        for _ in words {
            parser.next_token();
        }
    }
    all
}

fn on_null(parser: &mut Parser, default: &'static str) -> &'static str {
    if take(parser, &["NULL", "ON", "NULL"]) {
        "NULL ON NULL"
    } else if take(parser, &["ABSENT", "ON", "NULL"]) {
        "ABSENT ON NULL"
    } else {
        default
    }
}

fn object(parser: &mut Parser, name: &str, span: Span) -> Result<Expr, ParserError> {
    let mut args = Vec::new();
    while parser.peek_token_ref().token != Token::RParen && !["NULL", "ABSENT"].contains(&word(parser, 0).as_str()) {
        if word(parser, 0) == "KEY" {
            parser.next_token();
        }
        args.push(parser.parse_expr()?);
        if !take(parser, &["VALUE"]) && !parser.consume_token(&Token::Colon) {
            return parser.expected("VALUE", parser.peek_token());
        }
        args.push(parser.parse_expr()?);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let mode = on_null(parser, "NULL ON NULL");
    Ok(with_mode(name, span, args, mode))
}

fn array(parser: &mut Parser, name: &str, span: Span) -> Result<Expr, ParserError> {
    let mut args = Vec::new();
    while parser.peek_token_ref().token != Token::RParen
        && !(word(parser, 0) == "ABSENT" || (word(parser, 0) == "NULL" && word(parser, 1) == "ON"))
    {
        args.push(parser.parse_expr()?);
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    let mode = on_null(parser, "ABSENT ON NULL");
    Ok(with_mode(name, span, args, mode))
}

fn with_mode(name: &str, span: Span, mut args: Vec<Expr>, mode: &str) -> Expr {
    if name.ends_with("AGG") {
        return call(&format!("{name}_{}", mode.replace(' ', "_")), span, args);
    }
    args.push(text(mode, span));
    call(name, span, args)
}

fn path_function(parser: &mut Parser, name: &str, span: Span) -> Result<Expr, ParserError> {
    let document = parser.parse_expr()?;
    parser.expect_token(&Token::Comma)?;
    let path = parser.parse_expr()?;
    let mut args = vec![document, path];
    match name {
        "JSON_EXISTS" => {
            let mut mode = "FALSE";
            for candidate in ["TRUE", "FALSE", "UNKNOWN", "ERROR"] {
                if take(parser, &[candidate, "ON", "ERROR"]) {
                    mode = candidate;
                }
            }
            args.push(text(mode, span));
            Ok(call(name, span, args))
        }
        "JSON_QUERY" => {
            if take(parser, &["RETURNING"]) {
                return parser.expected("no RETURNING (JSON_QUERY gives STRING; RETURNING is not supported yet)", parser.peek_token());
            }
            let mut wrapper = "WITHOUT";
            if take(parser, &["WITHOUT", "ARRAY", "WRAPPER"]) || take(parser, &["WITHOUT", "WRAPPER"]) {
            } else if take(parser, &["WITH", "CONDITIONAL", "ARRAY", "WRAPPER"]) || take(parser, &["WITH", "CONDITIONAL", "WRAPPER"]) {
                wrapper = "CONDITIONAL";
            } else if take(parser, &["WITH", "UNCONDITIONAL", "ARRAY", "WRAPPER"])
                || take(parser, &["WITH", "UNCONDITIONAL", "WRAPPER"])
                || take(parser, &["WITH", "ARRAY", "WRAPPER"])
                || take(parser, &["WITH", "WRAPPER"])
            {
                wrapper = "UNCONDITIONAL";
            }
            let (mut empty, mut error) = ("NULL", "NULL");
            for _ in 0..2 {
                for (words, mode) in [
                    (&["NULL"][..], "NULL"),
                    (&["EMPTY", "ARRAY"], "EMPTY ARRAY"),
                    (&["EMPTY", "OBJECT"], "EMPTY OBJECT"),
                    (&["ERROR"], "ERROR"),
                ] {
                    if take(parser, &[words, &["ON", "EMPTY"]].concat()) {
                        empty = mode;
                    }
                    if take(parser, &[words, &["ON", "ERROR"]].concat()) {
                        error = mode;
                    }
                }
            }
            args.extend([text(wrapper, span), text(empty, span), text(error, span)]);
            Ok(call(name, span, args))
        }
        _ => json_value(parser, name, span, args),
    }
}

fn json_value(parser: &mut Parser, name: &str, span: Span, mut args: Vec<Expr>) -> Result<Expr, ParserError> {
    let returning = if take(parser, &["RETURNING"]) { Some(parse_type(parser)?) } else { None };
    let null = || Expr::Value(sqlparser::ast::ValueWithSpan { value: sqlparser::ast::Value::Null, span });
    let (mut empty, mut error) = (("NULL", null()), ("NULL", null()));
    for _ in 0..2 {
        let clause = if take(parser, &["DEFAULT"]) {
            ("DEFAULT", parser.parse_expr()?)
        } else if word(parser, 1) == "ON" && take(parser, &["NULL"]) {
            ("NULL", null())
        } else if word(parser, 1) == "ON" && take(parser, &["ERROR"]) {
            ("ERROR", null())
        } else {
            break;
        };
        parser.expect_keyword(Keyword::ON)?;
        if take(parser, &["EMPTY"]) {
            empty = clause;
        } else {
            parser.expect_keyword(Keyword::ERROR)?;
            error = clause;
        }
    }
    args.extend([text(empty.0, span), empty.1, text(error.0, span), error.1]);
    parser.expect_token(&Token::RParen)?;
    let value = call(name, span, args);
    match returning {
        None => Ok(value),
        Some(ty) => {
            let encoded = serde_json::to_string(&ty).map_err(|e| ParserError::ParserError(e.to_string()))?;
            Ok(call(TRY_CAST, span, vec![value, text(encoded, span)]))
        }
    }
}
