//! Text to statements.

pub(crate) mod dialect;
pub(crate) mod hints;
mod json;
mod statement;
mod types;

use sqlparser::ast::{SetExpr, Statement as AstStatement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::error::{Place, SqlError, SqlResult};

pub use dialect::FlinkDialect;
pub use sqlparser::ast::{ObjectName, Query, Spanned};
pub use statement::{
    ColumnDefinition, ColumnKind, CreateFunction, CreateTable, CreateView, Explain, Insert, Show, Statement, TableLike, Watermark,
};

/// How deep expressions and queries may nest.
const MAX_DEPTH: usize = 200;

/// The variable under which DEFINE has what WITHIN of a MATCH_RECOGNIZE says: no user can write it.
pub(crate) const WITHIN: &str = "$WITHIN";

/// A statement and where it begins.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// Where it begins.
    pub place: Place,
    /// Its text, comments before it aside.
    pub text: String,
}

/// Parses a script: statements separated by semicolons.
pub fn parse(sql: &str) -> SqlResult<Vec<Parsed>> {
    let tokens = tokens(sql)?;
    let mut parser = Parser::new(&FlinkDialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let mut statements = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        let first = parser.peek_token();
        if first.token == Token::EOF {
            return Ok(statements);
        }
        let statement = statement::parse_statement(&mut parser).map_err(|e| unknown_place(e.into(), &parser))?;
        let next = parser.peek_token();
        if next.token != Token::EOF && next.token != Token::SemiColon {
            let hint = match &next.token {
                Token::Word(_) => Some("a ';' between two statements?".to_string()),
                _ => None,
            };
            let error = SqlError::new(format!("unexpected {} after the end of the statement", next.token));
            return Err(error.or_at(next.span).hint(hint));
        }
        let text = slice(sql, first.span.start, next.span.start);
        statements.push(Parsed { statement, place: first.span.start.into(), text });
    }
}

/// Parses one expression, as a view or a computed column has it.
pub fn parse_expression(sql: &str) -> SqlResult<sqlparser::ast::Expr> {
    let mut parser = Parser::new(&FlinkDialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens(sql)?);
    Ok(parser.parse_expr()?)
}

fn unknown_place(error: SqlError, parser: &Parser) -> SqlError {
    let span = parser.peek_token_ref().span;
    error.or_at(span)
}

/// The tokens, with `>>` as two `>` (types nest: `ARRAY<ROW<a INT>>`; the dialect has no shift operator). Hints are not
/// comments: those of a SELECT stay for sqlparser, those of a table become part of its name.
fn tokens(sql: &str) -> SqlResult<Vec<TokenWithSpan>> {
    let raw = Tokenizer::new(&FlinkDialect, sql)
        .tokenize_with_location()
        .map_err(|e| SqlError::new(e.message.to_lowercase()).or_at(Span::new(e.location, e.location)))?;
    let mut tokens = Vec::with_capacity(raw.len());
    for token in raw {
        match &token.token {
            Token::ShiftRight => {
                let middle = Location::new(token.span.start.line, token.span.start.column + 1);
                tokens.push(TokenWithSpan::new(Token::Gt, Span::new(token.span.start, middle)));
                tokens.push(TokenWithSpan::new(Token::Gt, Span::new(middle, token.span.end)));
            }
            Token::Whitespace(Whitespace::MultiLineComment(comment)) if comment.starts_with('+') => {
                let before = tokens.iter().rposition(|t: &TokenWithSpan| !matches!(t.token, Token::Whitespace(_)));
                match before.map(|at| (at, &tokens[at].token)) {
                    Some((_, Token::Word(w))) if w.keyword == Keyword::SELECT => tokens.push(token),
                    Some((at, Token::Word(_))) => {
                        let hint = hints::of_table(&comment[1..], token.span)?;
                        tokens.splice(at + 1..at + 1, hint);
                    }
                    _ => return Err(SqlError::new("a hint stands after SELECT or after a table's name").or_at(token.span)),
                }
            }
            _ => tokens.push(token),
        }
    }
    Ok(with_within(tokens))
}

/// sqlparser does not know WITHIN of MATCH_RECOGNIZE: `WITHIN INTERVAL ... DEFINE` becomes `DEFINE $WITHIN AS INTERVAL ... ,`.
fn with_within(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is =
        |i: usize, word: &str| matches!(&tokens[i].token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word));
    let is_space = |i: usize| matches!(tokens[i].token, Token::Whitespace(_));
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let next = || (at + 1..tokens.len()).find(|i| !is_space(*i));
        let interval = is(at, "WITHIN") && next().is_some_and(|i| is(i, "INTERVAL"));
        let of_statement = (at + 1..tokens.len()).take_while(|i| interval && tokens[*i].token != Token::SemiColon);
        match of_statement.into_iter().find(|i| is(*i, "DEFINE")) {
            Some(define) => {
                let span = tokens[at].span;
                let made = |token: Token| TokenWithSpan::new(token, span);
                let space = || made(Token::Whitespace(Whitespace::Space));
                out.extend([tokens[define].clone(), space(), made(Token::make_word(WITHIN, None)), space()]);
                out.extend([made(Token::make_keyword("AS")), space()]);
                out.extend(tokens[at + 1..define].iter().cloned());
                out.push(made(Token::Comma));
                at = define + 1;
            }
            None => {
                out.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    out
}

fn slice(sql: &str, from: Location, to: Location) -> String {
    let offset = |l: Location| -> usize {
        if l.line == 0 {
            return sql.len();
        }
        let mut start = 0;
        for _ in 1..l.line {
            start = sql[start..].find('\n').map_or(sql.len(), |i| start + i + 1);
        }
        sql[start..].char_indices().nth(l.column.saturating_sub(1) as usize).map_or(sql.len(), |(i, _)| start + i)
    };
    let (from, to) = (offset(from), offset(to));
    sql[from.min(to)..to].trim().trim_end_matches(';').trim_end().to_string()
}

/// A query at the parser's place.
fn parse_query(parser: &mut Parser) -> Result<Box<Query>, sqlparser::parser::ParserError> {
    let token = parser.peek_token();
    let begins_query = matches!(&token.token, Token::LParen)
        || matches!(&token.token, Token::Word(w) if matches!(w.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE));
    if !begins_query {
        return parser.expected("SELECT, WITH or VALUES", token);
    }
    let query = parser.parse_query()?;
    if let SetExpr::Insert(AstStatement::Insert(_)) = query.body.as_ref() {
        return parser.expected("a query", token);
    }
    Ok(query)
}
