//! Flink's dialect as hooks of sqlparser.
//!
//! Constructs that sqlparser's tree has no place for become function calls with a name that no user can write (it begins
//! with a dollar sign); the binder knows them. The names are the constants below.

use std::any::TypeId;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    UnaryOperator, Value, ValueWithSpan,
};
use sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, Word};

use super::json;
use super::types::parse_type;

/// `CAST(x AS t)`: arguments x and the type as text of its own encoding.
pub(crate) const CAST: &str = "$CAST";
/// `TRY_CAST(x AS t)`.
pub(crate) const TRY_CAST: &str = "$TRY_CAST";
/// `TABLE t PARTITION BY a, b` within a table function: the table's name parts as one compound identifier, then the columns.
pub(crate) const TABLE: &str = "$TABLE";
/// `MAP[k, v, ...]`.
pub(crate) const MAP: &str = "$MAP";
/// `x IS JSON [VALUE | OBJECT | ARRAY | SCALAR]`: x and the kind as text.
pub(crate) const IS_JSON: &str = "$IS_JSON";
/// `CEIL(x TO unit)` and `FLOOR(x TO unit)`: x and the unit as text.
pub(crate) const CEIL_TO: &str = "$CEIL_TO";
/// See [`CEIL_TO`].
pub(crate) const FLOOR_TO: &str = "$FLOOR_TO";
/// `EXTRACT(unit FROM x)`: the unit as text, and x.
pub(crate) const EXTRACT: &str = "$EXTRACT";

/// Flink SQL.
#[derive(Debug, Default)]
pub struct FlinkDialect;

impl Dialect for FlinkDialect {
    // Branches of sqlparser that ask for a dialect by name take us for the permissive one.
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`'
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('`')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_' || ch == '$'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_match_recognize(&self) -> bool {
        true
    }

    fn supports_named_fn_args_with_rarrow_operator(&self) -> bool {
        true
    }

    fn supports_subquery_as_function_arg(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        true
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    fn supports_numeric_prefix(&self) -> bool {
        false
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let Token::Word(word) = parser.peek_token_ref().token.clone() else { return None };
        if word.quote_style.is_some() {
            return None;
        }
        let next = parser.peek_nth_token_ref(1).token.clone();
        let name = word.value.to_uppercase();
        match (name.as_str(), &next) {
            ("TABLE", Token::Word(_)) => Some(table_argument(parser)),
            ("TABLE", Token::LParen) => {
                parser.next_token();
                Some(parser.parse_expr())
            }
            ("CAST" | "TRY_CAST", Token::LParen) => Some(cast(parser, &word, if name == "CAST" { CAST } else { TRY_CAST })),
            ("CEIL" | "CEILING" | "FLOOR", Token::LParen) => Some(ceil_floor(parser, &word, &name)),
            ("EXTRACT", Token::LParen) => Some(extract(parser, &word)),
            // A function to sqlparser; Flink has none of that name, so it is a column.
            ("USER", next) if *next != Token::LParen => Some(column(parser)),
            ("MAP", Token::LBracket) => Some(map_constructor(parser, &word)),
            (
                "JSON_OBJECT" | "JSON_ARRAY" | "JSON_VALUE" | "JSON_QUERY" | "JSON_EXISTS" | "JSON_OBJECTAGG" | "JSON_ARRAYAGG",
                Token::LParen,
            ) => Some(json::parse(parser, &name)),
            _ => None,
        }
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        let _ = precedence;
        let word = |n: usize| match &parser.peek_nth_token_ref(n).token {
            Token::Word(w) if w.quote_style.is_none() => w.value.to_uppercase(),
            _ => String::new(),
        };
        let words = [word(0), word(1), word(2), word(3)];
        let is = |prefix: &[&str]| prefix.iter().zip(&words).all(|(a, b)| a == b);
        // sqlparser reads the right side of IS DISTINCT FROM as far as it goes, AND included.
        let is_prec = self.prec_value(Precedence::Is);
        if is(&["IS", "DISTINCT", "FROM"]) {
            return Some(right_of(parser, 3, is_prec).map(|r| Expr::IsDistinctFrom(Box::new(expr.clone()), Box::new(r))));
        }
        if is(&["IS", "NOT", "DISTINCT", "FROM"]) {
            return Some(right_of(parser, 4, is_prec).map(|r| Expr::IsNotDistinctFrom(Box::new(expr.clone()), Box::new(r))));
        }
        if is(&["IS", "JSON"]) {
            return Some(is_json(parser, expr, 2, false));
        }
        if is(&["IS", "NOT", "JSON"]) {
            return Some(is_json(parser, expr, 3, true));
        }
        for (negated, between) in [(false, 0), (true, 1)] {
            if (!negated || words[0] == "NOT")
                && words[between] == "BETWEEN"
                && (words[between + 1] == "SYMMETRIC" || words[between + 1] == "ASYMMETRIC")
            {
                let symmetric = words[between + 1] == "SYMMETRIC";
                return Some(self.between(parser, expr, between + 2, negated, symmetric));
            }
        }
        None
    }
}

impl FlinkDialect {
    fn between(&self, parser: &mut Parser, expr: &Expr, skip: usize, negated: bool, symmetric: bool) -> Result<Expr, ParserError> {
        let prec = self.prec_value(Precedence::Between);
        let low = right_of(parser, skip, prec)?;
        parser.expect_keyword(Keyword::AND)?;
        let high = parser.parse_subexpr(prec)?;
        let between = |low: Expr, high: Expr| Expr::Between {
            expr: Box::new(expr.clone()),
            negated: false,
            low: Box::new(low),
            high: Box::new(high),
        };
        let mut result = between(low.clone(), high.clone());
        if symmetric {
            result = Expr::BinaryOp { left: Box::new(result), op: BinaryOperator::Or, right: Box::new(between(high, low)) };
        }
        let nested = Expr::Nested(Box::new(result));
        Ok(if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested) } } else { nested })
    }
}

/// A column's name, with what it is qualified by.
fn column(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut parts = vec![parser.parse_identifier()?];
    while parser.consume_token(&Token::Period) {
        parts.push(parser.parse_identifier()?);
    }
    Ok(match parts.len() {
        1 => Expr::Identifier(parts.remove(0)),
        _ => Expr::CompoundIdentifier(parts),
    })
}

/// A call of one of our own names, with the span of the word that it comes from.
pub(crate) fn call(name: &str, span: Span, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|a| FunctionArg::Unnamed(FunctionArgExpr::Expr(a))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident { value: name.into(), quote_style: None, span }]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// A text literal.
pub(crate) fn text(value: impl Into<String>, span: Span) -> Expr {
    Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(value.into()), span })
}

fn right_of(parser: &mut Parser, skip: usize, precedence: u8) -> Result<Expr, ParserError> {
    for _ in 0..skip {
        parser.next_token();
    }
    parser.parse_subexpr(precedence)
}

fn is_json(parser: &mut Parser, expr: &Expr, skip: usize, negated: bool) -> Result<Expr, ParserError> {
    let span = parser.peek_token_ref().span;
    for _ in 0..skip {
        parser.next_token();
    }
    let mut kind = "VALUE".to_string();
    if let Token::Word(w) = &parser.peek_token_ref().token {
        let upper = w.value.to_uppercase();
        if ["VALUE", "OBJECT", "ARRAY", "SCALAR"].contains(&upper.as_str()) {
            kind = upper;
            parser.next_token();
        }
    }
    let is = call(IS_JSON, span, vec![expr.clone(), text(kind, span)]);
    Ok(if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(is) } } else { is })
}

fn table_argument(parser: &mut Parser) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    let name = parser.parse_object_name(false)?;
    let parts = name.0.iter().filter_map(|p| p.as_ident().cloned()).collect();
    let mut args = vec![Expr::CompoundIdentifier(parts)];
    if parser.parse_keywords(&[Keyword::PARTITION, Keyword::BY]) {
        let parenthesised = parser.consume_token(&Token::LParen);
        loop {
            args.push(Expr::Identifier(parser.parse_identifier()?));
            if parser.peek_token_ref().token != Token::Comma || (!parenthesised && begins_argument(parser)) {
                break;
            }
            parser.next_token();
        }
        if parenthesised {
            parser.expect_token(&Token::RParen)?;
        }
    }
    Ok(call(TABLE, span, args))
}

/// Whether what follows the comma is the next argument, `DESCRIPTOR(ts)` or `TIMECOL => ...`, and not one more column.
fn begins_argument(parser: &Parser) -> bool {
    matches!(parser.peek_nth_token_ref(2).token, Token::LParen | Token::RArrow)
        || !matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
        || matches!(&parser.peek_nth_token_ref(1).token, Token::Word(w) if w.keyword == Keyword::INTERVAL)
}

fn cast(parser: &mut Parser, word: &Word, name: &str) -> Result<Expr, ParserError> {
    let _ = word;
    let span = parser.next_token().span;
    parser.expect_token(&Token::LParen)?;
    let arg = parser.parse_expr()?;
    parser.expect_keyword(Keyword::AS)?;
    let type_span = parser.peek_token_ref().span;
    let ty = parse_type(parser)?;
    parser.expect_token(&Token::RParen)?;
    let encoded = serde_json::to_string(&ty).map_err(|e| ParserError::ParserError(e.to_string()))?;
    Ok(call(name, span, vec![arg, text(encoded, type_span)]))
}

fn ceil_floor(parser: &mut Parser, _word: &Word, name: &str) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.expect_token(&Token::LParen)?;
    let arg = parser.parse_expr()?;
    let floor = name == "FLOOR";
    let expr = if parser.parse_keyword(Keyword::TO) {
        let unit = parser.parse_identifier()?;
        call(if floor { FLOOR_TO } else { CEIL_TO }, span, vec![arg, text(unit.value.to_uppercase(), unit.span)])
    } else {
        call(if floor { "FLOOR" } else { "CEIL" }, span, vec![arg])
    };
    parser.expect_token(&Token::RParen)?;
    Ok(expr)
}

fn extract(parser: &mut Parser, _word: &Word) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.expect_token(&Token::LParen)?;
    let unit = parser.parse_identifier()?;
    parser.expect_keyword(Keyword::FROM)?;
    let arg = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(EXTRACT, span, vec![text(unit.value.to_uppercase(), unit.span), arg]))
}

fn map_constructor(parser: &mut Parser, _word: &Word) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.expect_token(&Token::LBracket)?;
    let args =
        if parser.peek_token_ref().token == Token::RBracket { Vec::new() } else { parser.parse_comma_separated(Parser::parse_expr)? };
    parser.expect_token(&Token::RBracket)?;
    Ok(call(MAP, span, args))
}
