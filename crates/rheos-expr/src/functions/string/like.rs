//! LIKE and SIMILAR TO.

use std::fmt::Write;

use arrow::array::BooleanArray;
use memchr::memmem;

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use crate::expr::{EvalConfig, Expr};
use crate::function::{Arg, Call, Prepared, Signature, Value};
use crate::functions::kernel::{Rows, collect, texts, try_collect};
use crate::functions::signature::Param::Text;
use crate::functions::signature::signature;

/// A pattern of LIKE. Most are one of the simple kinds.
#[derive(Debug)]
enum Like {
    Equals(String),
    StartsWith(String),
    EndsWith(String),
    Contains(Box<memmem::Finder<'static>>),
    Tokens(Vec<Token>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// This character.
    Is(char),
    /// `_`, any character.
    One,
    /// `%`, any characters.
    Any,
}

impl Like {
    fn parse(pattern: &str, escape: Option<char>) -> Result<Like, String> {
        let mut tokens = Vec::with_capacity(pattern.len());
        let mut chars = pattern.chars().enumerate();
        while let Some((at, c)) = chars.next() {
            tokens.push(match c {
                c if Some(c) == escape => match chars.next() {
                    Some((_, next)) if next == '_' || next == '%' || next == c => Token::Is(next),
                    _ => return Err(format!("pattern '{pattern}' has an escape at {at} that precedes none of '%', '_' and '{c}'")),
                },
                '_' => Token::One,
                '%' => Token::Any,
                c => Token::Is(c),
            });
        }
        tokens.dedup_by(|a, b| *a == Token::Any && *b == Token::Any);
        let plain =
            |tokens: &[Token]| -> Option<String> { tokens.iter().map(|t| if let Token::Is(c) = t { Some(*c) } else { None }).collect() };
        let simple = match tokens.as_slice() {
            [Token::Any, inner @ .., Token::Any] => plain(inner).map(|t| Like::Contains(Box::new(memmem::Finder::new(&t).into_owned()))),
            [Token::Any, inner @ ..] => plain(inner).map(Like::EndsWith),
            [inner @ .., Token::Any] => plain(inner).map(Like::StartsWith),
            all => plain(all).map(Like::Equals),
        };
        Ok(simple.unwrap_or(Like::Tokens(tokens)))
    }

    #[inline]
    fn matches(&self, text: &str) -> bool {
        match self {
            Like::Equals(t) => text == t,
            Like::StartsWith(t) => text.starts_with(t.as_str()),
            Like::EndsWith(t) => text.ends_with(t.as_str()),
            Like::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Like::Tokens(tokens) => matches_tokens(tokens, text),
        }
    }
}

/// Matches from left to right; where it fails, the last `%` takes one character more.
fn matches_tokens(tokens: &[Token], text: &str) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let next = text[at..].chars().next();
        match (tokens.get(token), next) {
            (Some(Token::Any), _) => {
                retry = Some((token + 1, at));
                token += 1;
                continue;
            }
            (None, None) => return true,
            (Some(Token::One), Some(c)) => {
                token += 1;
                at += c.len_utf8();
                continue;
            }
            (Some(Token::Is(wanted)), Some(c)) if *wanted == c => {
                token += 1;
                at += c.len_utf8();
                continue;
            }
            _ => {}
        }
        let Some((after_any, from)) = retry else { return false };
        let Some(skipped) = text[from..].chars().next() else { return false };
        token = after_any;
        at = from + skipped.len_utf8();
        // Straight to where the next character is the one that must follow.
        if let Some(Token::Is(wanted)) = tokens.get(after_any) {
            match text[at..].find(*wanted) {
                Some(found) => at += found,
                None => return false,
            }
        }
        retry = Some((after_any, at));
    }
}

/// The escape character of a third argument; none for an empty text.
fn escape_of(text: &str) -> Result<Option<char>, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if c != '\0' => Ok(Some(c)),
        (None, _) => Ok(None),
        _ => Err(format!("the escape must be one character, got '{text}'")),
    }
}

fn constant<T>(args: &[Arg<'_>], parse: fn(&str, Option<char>) -> Result<T, String>) -> Result<Signature, String> {
    let escape = args.get(2).and_then(Arg::text).map_or(Ok(None), escape_of)?;
    if let Some(pattern) = args.get(1).and_then(Arg::text) {
        parse(pattern, escape)?;
    }
    signature(args, &[Text, Text], &[Text], TypeKind::Boolean)
}

pub(super) fn resolve(args: &[Arg<'_>]) -> Result<Signature, String> {
    constant(args, Like::parse)
}

pub(super) fn prepare(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some((pattern, escape)) = constants(args) else { return Ok(None) };
    let like = Like::parse(pattern, escape).map_err(Error::config)?;
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        collect::<BooleanArray, _>(call, |row| Some(like.matches(text.get(row)?)))
    })))
}

/// The pattern and the escape, if both are constant.
fn constants(args: &[Expr]) -> Option<(&str, Option<char>)> {
    let pattern = args.get(1)?.literal_text()?;
    match args.get(2) {
        Some(escape) => Some((pattern, escape.literal_text()?.chars().next())),
        None => Some((pattern, None)),
    }
}

/// Patterns that differ by row are parsed when they change.
fn by_row<T>(
    call: &Call<'_>,
    parse: impl Fn(&str, Option<char>) -> Result<T, String>,
    matches: impl Fn(&T, &str) -> bool,
) -> Result<Value> {
    let (text, pattern) = (texts(call, 0)?, texts(call, 1)?);
    let escape: Option<Rows<'_, _>> = (call.args.len() > 2).then(|| texts(call, 2)).transpose()?;
    let mut last: Option<(&str, &str, T)> = None;
    try_collect::<BooleanArray, bool>(call, |row| {
        let escape = escape.as_ref().map_or(Some(""), |e| e.get(row));
        let (Some(text), Some(pattern), Some(escape)) = (text.get(row), pattern.get(row), escape) else { return Ok(None) };
        if last.as_ref().is_none_or(|(p, e, _)| (*p, *e) != (pattern, escape)) {
            last = Some((pattern, escape, parse(pattern, escape_of(escape).map_err(Error::input)?).map_err(Error::input)?));
        }
        Ok(last.as_ref().map(|(.., parsed)| matches(parsed, text)))
    })
}

pub(super) fn eval(call: &Call<'_>) -> Result<Value> {
    by_row(call, Like::parse, Like::matches)
}

/// SQL's regular expressions: `%` and `_` of LIKE, and `|*+?{}()[]`; the whole text must match.
fn similar(pattern: &str, escape: Option<char>) -> Result<::regex::Regex, String> {
    let mut out = String::from(r"(?s)\A(?:");
    let mut chars = pattern.chars().peekable();
    let push = |out: &mut String, c: char| {
        // Writing to a text cannot fail.
        let _ = if c.is_ascii_alphanumeric() || !c.is_ascii() { write!(out, "{c}") } else { write!(out, r"\x{:02x}", u32::from(c)) };
    };
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => push(&mut out, chars.next().ok_or_else(|| format!("pattern '{pattern}' ends in its escape"))?),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '{' => {
                out.push('{');
                out.extend(std::iter::from_fn(|| chars.next_if(|c| *c != '}')));
            }
            '|' | '*' | '+' | '?' | '}' | '(' | ')' => out.push(c),
            '[' => {
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                loop {
                    match chars.next().ok_or_else(|| format!("pattern '{pattern}' has a '[' that is not closed"))? {
                        ']' => break out.push(']'),
                        '-' => out.push('-'),
                        '[' if chars.peek() == Some(&':') => {
                            let name: String = std::iter::from_fn(|| chars.next_if(|c| *c != ']')).collect();
                            chars.next();
                            let name = name.trim_matches(':').to_ascii_lowercase();
                            let name = if name == "whitespace" { "space" } else { &name };
                            let _ = write!(out, "[:{name}:]");
                        }
                        c if Some(c) == escape => push(&mut out, chars.next().unwrap_or(c)),
                        c => push(&mut out, c),
                    }
                }
            }
            c => push(&mut out, c),
        }
    }
    out.push_str(r")\z");
    ::regex::Regex::new(&out).map_err(|e| format!("'{pattern}' is no pattern of SIMILAR TO: {e}"))
}

pub(super) fn resolve_similar(args: &[Arg<'_>]) -> Result<Signature, String> {
    constant(args, similar)
}

pub(super) fn prepare_similar(args: &[Expr], _: &LogicalType, _: &EvalConfig) -> Result<Option<Prepared>> {
    let Some((pattern, escape)) = constants(args) else { return Ok(None) };
    let regex = similar(pattern, escape).map_err(Error::config)?;
    Ok(Some(Box::new(move |call| {
        let text = texts(call, 0)?;
        collect::<BooleanArray, _>(call, |row| Some(regex.is_match(text.get(row)?)))
    })))
}

pub(super) fn eval_similar(call: &Call<'_>) -> Result<Value> {
    by_row(call, similar, |regex, text| regex.is_match(text))
}
