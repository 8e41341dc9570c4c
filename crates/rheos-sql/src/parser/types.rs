//! The grammar of types, one for DDL and casts.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use rheos_core::schema::Field;
use rheos_core::types::{LogicalType, MAX_DECIMAL_PRECISION, TypeKind};

/// Parses a type with an optional `NOT NULL`.
pub(crate) fn parse_type(parser: &mut Parser) -> Result<LogicalType, ParserError> {
    let mut kind = parse_kind(parser)?;
    // `INT ARRAY`, `INT MULTISET`: the postfix forms.
    loop {
        let nullable = parse_nullability(parser);
        if parser.parse_keyword(Keyword::ARRAY) {
            kind = TypeKind::Array(Box::new(kind.with_nullable(nullable)));
        } else {
            return Ok(kind.with_nullable(nullable));
        }
    }
}

fn parse_nullability(parser: &mut Parser) -> bool {
    if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
        return false;
    }
    let _ = parser.parse_keyword(Keyword::NULL);
    true
}

fn parse_kind(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let token = parser.next_token();
    let Token::Word(word) = &token.token else { return parser.expected("a type", token) };
    let name = word.value.to_uppercase();
    Ok(match name.as_str() {
        "BOOLEAN" => TypeKind::Boolean,
        "TINYINT" => TypeKind::TinyInt,
        "SMALLINT" => TypeKind::SmallInt,
        "INT" | "INTEGER" => TypeKind::Int,
        "BIGINT" => TypeKind::BigInt,
        "FLOAT" => TypeKind::Float,
        "DOUBLE" => {
            let _ = parser.parse_keyword(Keyword::PRECISION);
            TypeKind::Double
        }
        "DECIMAL" | "DEC" | "NUMERIC" => parse_decimal(parser)?,
        "CHAR" | "CHARACTER" if parser.parse_keyword(Keyword::VARYING) => TypeKind::Varchar(length(parser)?.unwrap_or(1)),
        "CHAR" | "CHARACTER" => TypeKind::Char(length(parser)?.unwrap_or(1)),
        // Flink's VARCHAR without a length has length 1 in DDL; its users write it for STRING, and so do its own tables.
        "VARCHAR" => length(parser)?.map_or(TypeKind::STRING, TypeKind::Varchar),
        "STRING" => TypeKind::STRING,
        "BINARY" => TypeKind::Binary(length(parser)?.unwrap_or(1)),
        "VARBINARY" => length(parser)?.map_or(TypeKind::BYTES, TypeKind::Varbinary),
        "BYTES" => TypeKind::BYTES,
        "DATE" => TypeKind::Date,
        "TIME" => {
            let precision = precision(parser, 0, 9)?;
            let _ = parser.parse_keywords(&[Keyword::WITHOUT, Keyword::TIME, Keyword::ZONE]);
            TypeKind::Time(precision)
        }
        "TIMESTAMP" => {
            let precision = precision(parser, 6, 9)?;
            let ltz = parser.parse_keyword(Keyword::WITH);
            if ltz {
                if !matches!(&parser.peek_token_ref().token, Token::Word(w) if w.value.eq_ignore_ascii_case("LOCAL")) {
                    return parser.expected("LOCAL TIME ZONE (TIMESTAMP WITH TIME ZONE is not supported)", parser.peek_token());
                }
                parser.next_token();
                parser.expect_keyword(Keyword::TIME)?;
                parser.expect_keyword(Keyword::ZONE)?;
                TypeKind::TimestampLtz(precision)
            } else {
                let _ = parser.parse_keywords(&[Keyword::WITHOUT, Keyword::TIME, Keyword::ZONE]);
                TypeKind::Timestamp(precision)
            }
        }
        "TIMESTAMP_LTZ" => TypeKind::TimestampLtz(precision(parser, 6, 9)?),
        "INTERVAL" => parse_interval(parser)?,
        "ARRAY" => TypeKind::Array(Box::new(one_in_brackets(parser)?)),
        "MULTISET" => TypeKind::Multiset(Box::new(one_in_brackets(parser)?)),
        "MAP" => {
            parser.expect_token(&Token::Lt)?;
            let key = parse_type(parser)?;
            parser.expect_token(&Token::Comma)?;
            let value = parse_type(parser)?;
            close(parser)?;
            TypeKind::Map(Box::new(key), Box::new(value))
        }
        "ROW" => parse_row(parser)?,
        _ => {
            let known = [
                "BOOLEAN",
                "TINYINT",
                "SMALLINT",
                "INT",
                "BIGINT",
                "FLOAT",
                "DOUBLE",
                "DECIMAL",
                "CHAR",
                "VARCHAR",
                "STRING",
                "BINARY",
                "VARBINARY",
                "BYTES",
                "DATE",
                "TIME",
                "TIMESTAMP",
                "TIMESTAMP_LTZ",
                "ARRAY",
                "MAP",
                "MULTISET",
                "ROW",
            ];
            let hint = crate::suggest::nearest(&name, known).map_or(String::new(), |n| format!(" (did you mean {n}?)"));
            return parser.expected(&format!("a type{hint}"), token);
        }
    })
}

fn length(parser: &mut Parser) -> Result<Option<u32>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let token = parser.peek_token();
    let length = parser.parse_literal_uint()?;
    if length == 0 || length > i32::MAX as u64 {
        return parser.expected("a length from 1 to 2147483647", token);
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Some(length as u32))
}

fn precision(parser: &mut Parser, default: u8, max: u8) -> Result<u8, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(default);
    }
    let token = parser.peek_token();
    let precision = parser.parse_literal_uint()?;
    if precision > u64::from(max) {
        return parser.expected(&format!("a precision from 0 to {max}"), token);
    }
    parser.expect_token(&Token::RParen)?;
    Ok(precision as u8)
}

fn parse_decimal(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(TypeKind::Decimal(10, 0));
    }
    let token = parser.peek_token();
    let precision = parser.parse_literal_uint()?;
    let scale = if parser.consume_token(&Token::Comma) { parser.parse_literal_uint()? } else { 0 };
    if precision == 0 || precision > u64::from(MAX_DECIMAL_PRECISION) || scale > precision {
        return parser.expected("a precision from 1 to 38 and a scale up to it", token);
    }
    parser.expect_token(&Token::RParen)?;
    Ok(TypeKind::Decimal(precision as u8, scale as u8))
}

fn parse_interval(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let token = parser.peek_token();
    let first = parser.parse_identifier()?.value.to_uppercase();
    precision(parser, 2, 9)?;
    if parser.parse_keyword(Keyword::TO) {
        parser.parse_identifier()?;
        precision(parser, 6, 9)?;
    }
    match first.as_str() {
        "YEAR" | "MONTH" => Ok(TypeKind::IntervalYearMonth),
        "DAY" | "HOUR" | "MINUTE" | "SECOND" => Ok(TypeKind::IntervalDayTime),
        _ => parser.expected("YEAR, MONTH, DAY, HOUR, MINUTE or SECOND", token),
    }
}

fn one_in_brackets(parser: &mut Parser) -> Result<LogicalType, ParserError> {
    parser.expect_token(&Token::Lt)?;
    let inner = parse_type(parser)?;
    close(parser)?;
    Ok(inner)
}

/// `>`; the parser's tokens have no `>>`, see `super::tokens`.
fn close(parser: &mut Parser) -> Result<(), ParserError> {
    parser.expect_token(&Token::Gt).map(|_| ())
}

fn parse_row(parser: &mut Parser) -> Result<TypeKind, ParserError> {
    let closing = if parser.consume_token(&Token::LParen) {
        Token::RParen
    } else {
        parser.expect_token(&Token::Lt)?;
        Token::Gt
    };
    let mut fields: Vec<Field> = Vec::new();
    while parser.peek_token_ref().token != closing {
        let token = parser.peek_token();
        let name = parser.parse_identifier()?.value;
        if fields.iter().any(|f| f.name == name) {
            return parser.expected("a field name that is not there yet", token);
        }
        let ty = parse_type(parser)?;
        if let Token::SingleQuotedString(_) = parser.peek_token_ref().token {
            parser.next_token(); // a field's comment
        }
        fields.push(Field::new(name, ty));
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&closing)?;
    Ok(TypeKind::Row(fields))
}
