//! The statements that Rheos knows, and their grammar around queries and expressions.

use sqlparser::ast::{Expr, Ident, ObjectName, Query};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

use rheos_core::types::LogicalType;

use super::parse_query;
use super::types::parse_type;

/// A statement.
// There are a few of them in a script: their size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum Statement {
    /// CREATE TABLE
    CreateTable(CreateTable),
    /// CREATE VIEW
    CreateView(CreateView),
    /// CREATE FUNCTION
    CreateFunction(CreateFunction),
    /// DROP FUNCTION
    DropFunction {
        /// Which.
        name: Ident,
        /// Whether its absence is fine.
        if_exists: bool,
    },
    /// DROP TABLE or DROP VIEW
    Drop {
        /// Whether a view is meant.
        view: bool,
        /// Which.
        name: ObjectName,
        /// Whether its absence is fine.
        if_exists: bool,
    },
    /// SET 'key' = 'value'; without a key all settings are shown.
    Set(Option<(String, String, Span)>),
    /// RESET ['key']
    Reset(Option<String>),
    /// INSERT INTO
    Insert(Insert),
    /// EXECUTE STATEMENT SET BEGIN ... END: several inserts in one job.
    StatementSet(Vec<Insert>),
    /// A query whose result is shown.
    Query(Box<Query>),
    /// EXPLAIN
    Explain(Explain),
    /// SHOW ...
    Show(Show),
    /// DESCRIBE t
    Describe(ObjectName),
}

/// CREATE TABLE.
#[derive(Debug, Clone)]
pub struct CreateTable {
    /// Its name.
    pub name: ObjectName,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// The columns.
    pub columns: Vec<ColumnDefinition>,
    /// WATERMARK FOR
    pub watermark: Option<Watermark>,
    /// PRIMARY KEY (...) NOT ENFORCED
    pub primary_key: Vec<Ident>,
    /// PARTITIONED BY (...)
    pub partitioned_by: Vec<Ident>,
    /// WITH (...), with the places of keys and values.
    pub options: Vec<(String, String, Span, Span)>,
    /// LIKE
    pub like: Option<TableLike>,
    /// AS SELECT: where its columns come from, and its first rows.
    pub query: Option<Box<Query>>,
}

/// What of another table a new one takes over.
#[derive(Debug, Clone)]
pub struct TableLike {
    /// The other table.
    pub name: ObjectName,
    /// `INCLUDING ALL` and the like, in order: whether it is included, excluded or overwrites, and what.
    pub rules: Vec<(String, String)>,
}

/// CREATE FUNCTION name(parameter type, ...) [RETURNS type] RETURN expression.
#[derive(Debug, Clone)]
pub struct CreateFunction {
    /// Its name.
    pub name: Ident,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// Whether it takes the place of one that is there.
    pub or_replace: bool,
    /// Its parameters.
    pub parameters: Vec<(Ident, LogicalType)>,
    /// The type of its result; `None`: that of the expression.
    pub returns: Option<LogicalType>,
    /// What it computes of its parameters.
    pub body: Expr,
}

/// A column of CREATE TABLE.
#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Ident,
    /// What it is.
    pub kind: ColumnKind,
}

impl ColumnDefinition {
    /// A column that the connector has.
    pub fn physical(name: &str, ty: LogicalType) -> Self {
        ColumnDefinition { name: Ident::with_quote('`', name), kind: ColumnKind::Physical(ty) }
    }
}

/// What a column is.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum ColumnKind {
    /// Read from the connector.
    Physical(LogicalType),
    /// `name AS expression`
    Computed(Expr),
    /// `name type METADATA [FROM 'key'] [VIRTUAL]`
    Metadata {
        /// Its type.
        ty: LogicalType,
        /// What the connector or the format calls it; `None`: the column's name.
        key: Option<String>,
        /// Whether it is only read.
        is_virtual: bool,
    },
}

/// WATERMARK FOR column AS expression.
#[derive(Debug, Clone)]
pub struct Watermark {
    /// The column.
    pub column: ObjectName,
    /// The expression.
    pub expr: Expr,
}

/// CREATE VIEW.
#[derive(Debug, Clone)]
pub struct CreateView {
    /// Its name.
    pub name: ObjectName,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// Names for its columns; empty takes the query's.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Box<Query>,
}

/// INSERT INTO.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The table.
    pub table: ObjectName,
    /// The columns that are given; empty means all, in order.
    pub columns: Vec<Ident>,
    /// What is inserted.
    pub query: Box<Query>,
}

/// EXPLAIN.
#[derive(Debug, Clone)]
pub struct Explain {
    /// What is explained: a query or an INSERT.
    pub statement: Box<Statement>,
    /// Whether it is what the operators keep that is asked for (EXPLAIN STATE), instead of the plan.
    pub state: bool,
}

/// SHOW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// SHOW TABLES
    Tables,
    /// SHOW VIEWS
    Views,
    /// SHOW FUNCTIONS
    Functions,
}

pub(super) fn parse_statement(parser: &mut Parser) -> Result<Statement, ParserError> {
    let token = parser.peek_token();
    let Token::Word(word) = &token.token else {
        if token.token == Token::LParen {
            return Ok(Statement::Query(parse_query(parser)?));
        }
        return parser.expected("a statement", token);
    };
    match word.value.to_uppercase().as_str() {
        "SELECT" | "WITH" | "VALUES" => Ok(Statement::Query(parse_query(parser)?)),
        "CREATE" => parse_create(parser),
        "DROP" => parse_drop(parser),
        "SET" => parse_set(parser),
        "RESET" => {
            parser.next_token();
            let key = if matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_)) {
                Some(parser.parse_literal_string()?)
            } else {
                None
            };
            Ok(Statement::Reset(key))
        }
        "INSERT" => Ok(Statement::Insert(parse_insert(parser)?)),
        "EXECUTE" => parse_execute(parser),
        "BEGIN" => parse_set_body(parser),
        "EXPLAIN" => parse_explain(parser),
        "SHOW" => parse_show(parser),
        "DESCRIBE" | "DESC" => {
            parser.next_token();
            Ok(Statement::Describe(parser.parse_object_name(false)?))
        }
        other => {
            let known = ["SELECT", "WITH", "VALUES", "CREATE", "DROP", "SET", "RESET", "INSERT", "EXECUTE", "EXPLAIN", "SHOW", "DESCRIBE"];
            let hint = crate::suggest::nearest(other, known).map_or(String::new(), |n| format!(" (did you mean {n}?)"));
            parser.expected(&format!("a statement{hint}"), token)
        }
    }
}

fn word_is(parser: &Parser, n: usize, word: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(n).token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

fn take_word(parser: &mut Parser, word: &str) -> bool {
    let is = word_is(parser, 0, word);
    if is {
        parser.next_token();
    }
    is
}

fn expect_word(parser: &mut Parser, word: &str) -> Result<(), ParserError> {
    if take_word(parser, word) { Ok(()) } else { parser.expected(word, parser.peek_token()) }
}

fn parse_create(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    if parser.parse_keyword(Keyword::TEMPORARY) {
        let _ = take_word(parser, "SYSTEM");
    }
    if or_replace && !parser.peek_keyword(Keyword::FUNCTION) {
        return parser.expected("FUNCTION (OR REPLACE of other things is not supported yet)", parser.peek_token());
    }
    let token = parser.peek_token();
    if parser.parse_keyword(Keyword::TABLE) {
        parse_create_table(parser).map(Statement::CreateTable)
    } else if parser.parse_keyword(Keyword::VIEW) {
        parse_create_view(parser).map(Statement::CreateView)
    } else if parser.parse_keyword(Keyword::FUNCTION) {
        parse_create_function(parser, or_replace).map(Statement::CreateFunction)
    } else {
        parser.expected("TABLE, VIEW or FUNCTION (other CREATE statements are not supported yet)", token)
    }
}

fn if_not_exists(parser: &mut Parser) -> bool {
    parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS])
}

fn parse_create_table(parser: &mut Parser) -> Result<CreateTable, ParserError> {
    let if_not_exists = if_not_exists(parser);
    let name = parser.parse_object_name(false)?;
    let mut table = CreateTable {
        name,
        if_not_exists,
        columns: Vec::new(),
        watermark: None,
        primary_key: Vec::new(),
        partitioned_by: Vec::new(),
        options: Vec::new(),
        like: None,
        query: None,
    };
    let has_columns = parser.consume_token(&Token::LParen);
    if has_columns {
        loop {
            parse_table_element(parser, &mut table)?;
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        parser.expect_token(&Token::RParen)?;
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        parser.parse_literal_string()?;
    }
    if parser.parse_keyword(Keyword::PARTITIONED) {
        parser.expect_keyword(Keyword::BY)?;
        parser.expect_token(&Token::LParen)?;
        table.partitioned_by = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
    }
    if parser.parse_keyword(Keyword::WITH) {
        parser.expect_token(&Token::LParen)?;
        if parser.peek_token_ref().token != Token::RParen {
            table.options = parser.parse_comma_separated(parse_option)?;
        }
        parser.expect_token(&Token::RParen)?;
    }
    if parser.parse_keyword(Keyword::LIKE) {
        table.like = Some(parse_like(parser)?);
    } else if parser.parse_keyword(Keyword::AS) {
        table.query = Some(parse_query(parser)?);
    } else if !has_columns {
        return parser.expected("the columns of the table in parentheses, LIKE or AS", parser.peek_token());
    }
    Ok(table)
}

fn parse_like(parser: &mut Parser) -> Result<TableLike, ParserError> {
    let name = parser.parse_object_name(false)?;
    let mut rules = Vec::new();
    if parser.consume_token(&Token::LParen) {
        while parser.peek_token_ref().token != Token::RParen {
            let one_of = |parser: &mut Parser, words: &[&str]| {
                let found = words.iter().find(|word| take_word(parser, word));
                found.map_or_else(|| parser.expected(&words.join(", "), parser.peek_token()), |word| Ok((*word).to_string()))
            };
            let how = one_of(parser, &["INCLUDING", "EXCLUDING", "OVERWRITING"])?;
            let what =
                one_of(parser, &["ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS"])?;
            rules.push((how, what));
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(TableLike { name, rules })
}

/// `f(x INT, y STRING) [RETURNS type] [LANGUAGE SQL] RETURN expression`
fn parse_create_function(parser: &mut Parser, or_replace: bool) -> Result<CreateFunction, ParserError> {
    let if_not_exists = if_not_exists(parser);
    let name = parser.parse_identifier()?;
    if parser.peek_token_ref().token != Token::LParen {
        return parser.expected("the parameters in parentheses: a function is CREATE FUNCTION f(x INT) RETURN x + 1 (classes of other languages are not supported)", parser.peek_token());
    }
    parser.expect_token(&Token::LParen)?;
    let mut parameters = Vec::new();
    if parser.peek_token_ref().token != Token::RParen {
        loop {
            let parameter = parser.parse_identifier()?;
            parameters.push((parameter, parse_type(parser)?));
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
    }
    parser.expect_token(&Token::RParen)?;
    let returns = if take_word(parser, "RETURNS") { Some(parse_type(parser)?) } else { None };
    if take_word(parser, "LANGUAGE") {
        expect_word(parser, "SQL")?;
    }
    expect_word(parser, "RETURN")?;
    Ok(CreateFunction { name, if_not_exists, or_replace, parameters, returns, body: parser.parse_expr()? })
}

fn parse_option(parser: &mut Parser) -> Result<(String, String, Span, Span), ParserError> {
    let key_span = parser.peek_token_ref().span;
    let key = parser.parse_literal_string()?;
    parser.expect_token(&Token::Eq)?;
    let value_span = parser.peek_token_ref().span;
    let value = parser.parse_literal_string()?;
    Ok((key, value, key_span, value_span))
}

fn parse_table_element(parser: &mut Parser, table: &mut CreateTable) -> Result<(), ParserError> {
    let token = parser.peek_token();
    if word_is(parser, 0, "WATERMARK") && word_is(parser, 1, "FOR") {
        if table.watermark.is_some() {
            return parser.expected("one WATERMARK for the table", token);
        }
        parser.next_token();
        parser.next_token();
        let column = parser.parse_object_name(false)?;
        parser.expect_keyword(Keyword::AS)?;
        let expr = parser.parse_expr()?;
        table.watermark = Some(Watermark { column, expr });
        return Ok(());
    }
    if parser.parse_keyword(Keyword::CONSTRAINT) {
        parser.parse_identifier()?;
    }
    if parser.parse_keywords(&[Keyword::PRIMARY, Keyword::KEY]) {
        parser.expect_token(&Token::LParen)?;
        table.primary_key = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
        return not_enforced(parser);
    }
    let name = parser.parse_identifier()?;
    let kind = if parser.parse_keyword(Keyword::AS) {
        ColumnKind::Computed(parser.parse_expr()?)
    } else {
        let ty = parse_type(parser)?;
        if take_word(parser, "METADATA") {
            let key = parser.parse_keyword(Keyword::FROM).then(|| parser.parse_literal_string()).transpose()?;
            ColumnKind::Metadata { ty, key, is_virtual: take_word(parser, "VIRTUAL") }
        } else {
            ColumnKind::Physical(ty)
        }
    };
    if parser.parse_keywords(&[Keyword::PRIMARY, Keyword::KEY]) {
        table.primary_key = vec![name.clone()];
        not_enforced(parser)?;
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        parser.parse_literal_string()?;
    }
    table.columns.push(ColumnDefinition { name, kind });
    Ok(())
}

fn not_enforced(parser: &mut Parser) -> Result<(), ParserError> {
    if parser.parse_keyword(Keyword::NOT) {
        return expect_word(parser, "ENFORCED");
    }
    parser.expected("NOT ENFORCED (a stream cannot enforce a primary key)", parser.peek_token())
}

fn parse_create_view(parser: &mut Parser) -> Result<CreateView, ParserError> {
    let if_not_exists = if_not_exists(parser);
    let name = parser.parse_object_name(false)?;
    let mut columns = Vec::new();
    if parser.consume_token(&Token::LParen) {
        columns = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        parser.parse_literal_string()?;
    }
    parser.expect_keyword(Keyword::AS)?;
    let query = parse_query(parser)?;
    Ok(CreateView { name, if_not_exists, columns, query })
}

fn parse_drop(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::DROP)?;
    let _ = parser.parse_keyword(Keyword::TEMPORARY);
    let _ = take_word(parser, "SYSTEM");
    if parser.parse_keyword(Keyword::FUNCTION) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return Ok(Statement::DropFunction { name: parser.parse_identifier()?, if_exists });
    }
    let view = if parser.parse_keyword(Keyword::VIEW) {
        true
    } else {
        parser.expect_keyword(Keyword::TABLE)?;
        false
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Statement::Drop { view, name: parser.parse_object_name(false)?, if_exists })
}

/// `SET 'key' = 'value'`; keys may be written bare too: `SET table.local-time-zone = UTC`.
fn parse_set(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.expect_keyword(Keyword::SET)?;
    let span = parser.peek_token_ref().span;
    if matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        return Ok(Statement::Set(None));
    }
    let key = setting_text(parser, &[Token::Eq])?;
    parser.expect_token(&Token::Eq)?;
    let value = setting_text(parser, &[])?;
    if key.is_empty() {
        return parser.expected("a key: SET 'key' = 'value'", parser.peek_token());
    }
    Ok(Statement::Set(Some((key, value, span))))
}

fn setting_text(parser: &mut Parser, until: &[Token]) -> Result<String, ParserError> {
    if matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_)) {
        return parser.parse_literal_string();
    }
    let mut text = String::new();
    while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon) && !until.contains(&parser.peek_token_ref().token) {
        text.push_str(&parser.next_token().token.to_string());
    }
    Ok(text)
}

fn parse_insert(parser: &mut Parser) -> Result<Insert, ParserError> {
    parser.expect_keyword(Keyword::INSERT)?;
    if parser.parse_keyword(Keyword::OVERWRITE) {
        return parser.expected("INTO (INSERT OVERWRITE is for batch jobs)", parser.peek_token());
    }
    parser.expect_keyword(Keyword::INTO)?;
    let table = parser.parse_object_name(false)?;
    if parser.peek_keyword(Keyword::PARTITION) {
        let message = "SELECT (PARTITION (...) is not supported: give the partition columns in the query)";
        return parser.expected(message, parser.peek_token());
    }
    let mut columns = Vec::new();
    let list = parser.peek_token_ref().token == Token::LParen
        && !matches!(&parser.peek_nth_token_ref(1).token, Token::LParen)
        && !["SELECT", "WITH", "VALUES"].iter().any(|w| word_is(parser, 1, w));
    if list {
        parser.expect_token(&Token::LParen)?;
        columns = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(Insert { table, columns, query: parse_query(parser)? })
}

fn parse_execute(parser: &mut Parser) -> Result<Statement, ParserError> {
    expect_word(parser, "EXECUTE")?;
    if take_word(parser, "STATEMENT") {
        expect_word(parser, "SET")?;
        return parse_set_body(parser);
    }
    parse_statement(parser)
}

/// `BEGIN [STATEMENT SET ;] insert; ... END`
fn parse_set_body(parser: &mut Parser) -> Result<Statement, ParserError> {
    expect_word(parser, "BEGIN")?;
    if take_word(parser, "STATEMENT") {
        expect_word(parser, "SET")?;
        parser.expect_token(&Token::SemiColon)?;
    }
    let mut inserts = Vec::new();
    while !take_word(parser, "END") {
        inserts.push(parse_insert(parser)?);
        if !parser.consume_token(&Token::SemiColon) {
            return parser.expected("';' and then another INSERT or END", parser.peek_token());
        }
    }
    if inserts.is_empty() {
        return parser.expected("at least one INSERT before END", parser.peek_token());
    }
    Ok(Statement::StatementSet(inserts))
}

fn parse_explain(parser: &mut Parser) -> Result<Statement, ParserError> {
    expect_word(parser, "EXPLAIN")?;
    let state = take_word(parser, "STATE");
    if state {
        take_word(parser, "FOR");
    } else if take_word(parser, "PLAN") {
        expect_word(parser, "FOR")?;
    } else {
        // What Flink shows if asked is always shown here, as far as there is something to show.
        while ["CHANGELOG_MODE", "ESTIMATED_COST", "PLAN_ADVICE"].iter().any(|detail| take_word(parser, detail)) {
            let _ = parser.consume_token(&Token::Comma);
        }
    }
    let token = parser.peek_token();
    match parse_statement(parser)? {
        statement @ (Statement::Query(_) | Statement::Insert(_) | Statement::StatementSet(_)) => {
            Ok(Statement::Explain(Explain { statement: Box::new(statement), state }))
        }
        _ => parser.expected("a query or an INSERT to explain", token),
    }
}

fn parse_show(parser: &mut Parser) -> Result<Statement, ParserError> {
    expect_word(parser, "SHOW")?;
    for (word, show) in [("TABLES", Show::Tables), ("VIEWS", Show::Views), ("FUNCTIONS", Show::Functions)] {
        if take_word(parser, word) {
            return Ok(Statement::Show(show));
        }
    }
    parser.expected("TABLES, VIEWS or FUNCTIONS", parser.peek_token())
}
