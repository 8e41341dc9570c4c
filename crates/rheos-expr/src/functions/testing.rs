//! A table of calls and what they give, for the tests of the families.
//!
//! ```text
//! check(&[("SUBSTRING('hello', 2, 3)", "ell", "VARCHAR(5)")]);
//! ```
//!
//! Each call is computed three times: of constants, with its first argument a column, and with all arguments columns, so
//! that evaluation by row, prepared evaluation and folding agree. Literals are written as in SQL; an operator is written
//! as a call (`` `||`('a', 'b') ``), and `CAST(value, 'TYPE')` knows the types that tests need.

use std::iter::Peekable;

use std::vec::IntoIter;

use arrow::array::ArrayRef;

use rheos_core::env::Env;
use rheos_core::text::write_value;
use rheos_core::types::{LogicalType, TypeKind};

use crate::build;
use crate::expr::{EvalConfig, Expr};
use crate::program::Program;

/// Asserts what each call gives, as text (`\N` is NULL), and its type. Where the text is `!...` the call must fail with an
/// error that contains the rest.
pub(crate) fn check(cases: &[(&str, &str, &str)]) {
    check_in_zone("UTC", cases);
}

/// The same for calls whose type depends on the values of their further arguments: those stay constants.
pub(crate) fn check_first(cases: &[(&str, &str, &str)]) {
    check_variants("UTC", &[Variant::Constants, Variant::FirstColumn], cases);
}

/// The same in a session's time zone.
pub(crate) fn check_in_zone(zone: &str, cases: &[(&str, &str, &str)]) {
    check_variants(zone, &[Variant::Constants, Variant::FirstColumn, Variant::Columns], cases);
}

fn check_variants(zone: &str, variants: &[Variant], cases: &[(&str, &str, &str)]) {
    let config = EvalConfig { time_zone: zone.into() };
    let failures: Vec<String> = cases.iter().filter_map(|case| check_one(&config, variants, case).err()).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

fn check_one(config: &EvalConfig, variants: &[Variant], (call, expected, ty): &(&str, &str, &str)) -> Result<(), String> {
    let mut columns = Vec::new();
    for variant in variants.iter().copied() {
        columns.clear();
        let got =
            parse(call, variant, config, &mut columns).and_then(|expr| Ok((evaluate(&expr, config, &columns)?, expr.ty().to_string())));
        match (got, expected.strip_prefix('!')) {
            // Some arguments must be constants.
            (Err(e), None) if variant != Variant::Constants && e.contains("constant") => {}
            // What is refused as a constant may be NULL or an error of its row.
            (_, Some(_)) if variant != Variant::Constants => {}
            (Err(e), Some(text)) if e.contains(text) => {}
            (Ok((got, _)), Some(_)) => return Err(format!("  {call} ({variant:?}): {got} instead of an error")),
            (Err(e), _) => return Err(format!("  {call} ({variant:?}): {e}")),
            (Ok((got, got_ty)), None) => {
                if got != *expected {
                    return Err(format!("  {call} ({variant:?}): {got:?} instead of {expected:?}"));
                }
                if got_ty != *ty && !ty.is_empty() {
                    return Err(format!("  {call} ({variant:?}): type {got_ty} instead of {ty}"));
                }
            }
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Constants,
    FirstColumn,
    Columns,
}

/// How many rows the columns have.
const ROWS: usize = 3;

fn evaluate(expr: &Expr, config: &EvalConfig, columns: &[ArrayRef]) -> Result<String, String> {
    let program = Program::compile(std::slice::from_ref(expr), config).map_err(|e| e.to_string())?;
    let results = program.with_env(Env::manual(7)).evaluate(columns, ROWS).map_err(|e| e.to_string())?;
    let array = &results[0];
    if *array.data_type() != expr.ty().to_arrow() {
        return Err(format!("the result is of type {} instead of {}", array.data_type(), expr.ty().to_arrow()));
    }
    let text = |row: usize| {
        let mut text = String::new();
        write_value(&mut text, array.as_ref(), row, expr.ty()).map(|()| text).map_err(|e| e.to_string())
    };
    let (first, last) = (text(0)?, text(ROWS - 1)?);
    if first == last { Ok(first) } else { Err(format!("{first} in one row and {last} in another of the same values")) }
}

/// The value in every row; of more than one row, so that rows are told apart from constants.
fn column_of(expr: &Expr, config: &EvalConfig, columns: &mut Vec<ArrayRef>) -> Result<Expr, String> {
    let program = Program::compile(std::slice::from_ref(expr), config).map_err(|e| e.to_string())?;
    let mut program = program.with_env(Env::manual(7));
    let array = program.evaluate(&[], ROWS).map_err(|e| e.to_string())?.remove(0);
    columns.push(array);
    Ok(Expr::column(columns.len() - 1, expr.ty().clone()))
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Mark(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            ' ' => continue,
            '\'' => {
                let mut value = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '\'' if chars.next_if_eq(&'\'').is_none() => break,
                        c => value.push(c),
                    }
                }
                Token::Text(value)
            }
            '`' => Token::Name(std::iter::from_fn(|| chars.next().filter(|c| *c != '`')).collect()),
            c if c.is_ascii_digit() || c == '-' => {
                let more = std::iter::from_fn(|| chars.next_if(|c| c.is_ascii_digit() || ".eE-".contains(*c)));
                Token::Number(std::iter::once(c).chain(more).collect())
            }
            c if c.is_alphabetic() => {
                Token::Name(std::iter::once(c).chain(std::iter::from_fn(|| chars.next_if(|c| c.is_alphanumeric() || *c == '_'))).collect())
            }
            c => Token::Mark(c),
        });
    }
    tokens
}

struct Parser<'a> {
    tokens: Peekable<IntoIter<Token>>,
    variant: Variant,
    config: &'a EvalConfig,
    columns: &'a mut Vec<ArrayRef>,
}

fn parse(text: &str, variant: Variant, config: &EvalConfig, columns: &mut Vec<ArrayRef>) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens(text).into_iter().peekable(), variant, config, columns };
    parser.expression(true)
}

impl Parser<'_> {
    fn expression(&mut self, outermost: bool) -> Result<Expr, String> {
        match self.tokens.next() {
            Some(Token::Text(text)) => Ok(build::literal_text(text)),
            Some(Token::Number(number)) => build::literal_number(&number),
            Some(Token::Name(name)) => self.named(&name, outermost),
            other => panic!("the test's call has {other:?} where a value should be"),
        }
    }

    fn named(&mut self, name: &str, outermost: bool) -> Result<Expr, String> {
        let next_text = |parser: &mut Self| match parser.tokens.next() {
            Some(Token::Text(text)) => text,
            other => panic!("the test's call has {other:?} where a text should be"),
        };
        match name {
            "TRUE" => return Ok(build::literal_bool(true)),
            "FALSE" => return Ok(build::literal_bool(false)),
            "NULL" => return Ok(build::literal_null()),
            "DATE" => return build::literal_date(&next_text(self)),
            "TIME" => return build::literal_time(&next_text(self)),
            "TIMESTAMP" => return build::literal_timestamp(&next_text(self)),
            "BYTES" => return Ok(build::literal_bytes(next_text(self).into_bytes())),
            "MONTHS" | "MILLIS" => {
                let Some(Token::Number(number)) = self.tokens.next() else { panic!("{name} wants a number") };
                let number = number.parse().map_err(|_| "no number")?;
                return Ok(if name == "MONTHS" { build::literal_interval_months(number) } else { build::literal_interval_ms(number) });
            }
            _ => {}
        }
        let close = match self.tokens.next() {
            Some(Token::Mark('(')) => ')',
            Some(Token::Mark('[')) => ']',
            other => panic!("the test's call has {other:?} after {name}"),
        };
        let mut args = Vec::new();
        while self.tokens.peek() != Some(&Token::Mark(close)) {
            let arg = self.expression(false)?;
            let column = outermost
                && match self.variant {
                    Variant::Constants => false,
                    Variant::FirstColumn => args.is_empty(),
                    Variant::Columns => true,
                };
            let untyped = arg.ty().kind == TypeKind::Null;
            args.push(if column && !untyped && name != "CAST" { column_of(&arg, self.config, self.columns)? } else { arg });
            if self.tokens.peek() == Some(&Token::Mark(',')) {
                self.tokens.next();
            }
        }
        self.tokens.next();
        if name == "CAST" {
            let ty = type_of(args[1].literal_text().unwrap_or_default());
            return build::cast(args.swap_remove(0), ty, false);
        }
        build::call(name, args)
    }
}

fn type_of(name: &str) -> LogicalType {
    let array = |kind: TypeKind| TypeKind::Array(Box::new(kind.nullable()));
    let kind = match name {
        "TINYINT" => TypeKind::TinyInt,
        "INT" => TypeKind::Int,
        "BIGINT" => TypeKind::BigInt,
        "FLOAT" => TypeKind::Float,
        "DOUBLE" => TypeKind::Double,
        "STRING" => TypeKind::STRING,
        "BYTES" => TypeKind::BYTES,
        "BOOLEAN" => TypeKind::Boolean,
        "DATE" => TypeKind::Date,
        "TIMESTAMP(6)" => TypeKind::Timestamp(6),
        "TIMESTAMP(9)" => TypeKind::Timestamp(9),
        "TIMESTAMP_LTZ(3)" => TypeKind::TimestampLtz(3),
        "DECIMAL(3, 0)" => TypeKind::Decimal(3, 0),
        "DECIMAL(19, 0)" => TypeKind::Decimal(19, 0),
        "DECIMAL(18, 2)" => TypeKind::Decimal(18, 2),
        "ARRAY<INT>" => array(TypeKind::Int),
        "ARRAY<STRING>" => array(TypeKind::STRING),
        "MAP<INT, INT>" => TypeKind::Map(Box::new(TypeKind::Int.nullable()), Box::new(TypeKind::Int.nullable())),
        other => panic!("the tests do not know the type {other}"),
    };
    kind.nullable()
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let config = EvalConfig::default();
    assert!(check_one(&config, &[Variant::Constants], &("CHAR_LENGTH('abc')", "3", "INT NOT NULL")).is_ok());
    assert!(check_one(&config, &[Variant::Constants], &("CHAR_LENGTH('abc')", "4", "INT NOT NULL")).is_err());
    assert!(check_one(&config, &[Variant::Constants], &("CHAR_LENGTH('abc')", "3", "INT")).is_err());
    assert!(check_one(&config, &[Variant::Constants], &("CHAR_LENGTH('abc')", "!too long", "")).is_err());
}
