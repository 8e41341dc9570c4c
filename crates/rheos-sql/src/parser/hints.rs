//! Hints: `t /*+ OPTIONS('key' = 'value') */` and `SELECT /*+ STATE_TTL('t' = '1 d') */`.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use crate::error::{SqlError, SqlResult};

/// The part of a name after which comes what OPTIONS said of the table, encoded: no user can write it.
pub(crate) const OPTIONS: &str = "$OPTIONS";

/// A hint: its name, and keys with values (or with none).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) name: String,
    pub(crate) entries: Vec<(String, Option<String>)>,
}

/// The hints of a comment, the `+` aside: `A('k' = 'v', ...), B(x)`.
pub(crate) fn parse(text: &str) -> Result<Vec<Hint>, String> {
    let mut rest = text.trim();
    let mut hints = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            return Err(format!("a hint's name is expected at '{rest}'"));
        }
        let mut hint = Hint { name: name.to_uppercase(), entries: Vec::new() };
        rest = after.trim_start();
        if let Some(inside) = rest.strip_prefix('(') {
            rest = entries(inside, &mut hint.entries)?;
        }
        hints.push(hint);
        rest = rest.trim_start().trim_start_matches(',').trim_start();
    }
    Ok(hints)
}

/// Reads entries up to the closing parenthesis; returns what is behind it.
fn entries<'a>(text: &'a str, into: &mut Vec<(String, Option<String>)>) -> Result<&'a str, String> {
    let mut rest = text.trim_start();
    loop {
        if let Some(behind) = rest.strip_prefix(')') {
            return Ok(behind);
        }
        let (key, after) = word(rest)?;
        rest = after.trim_start();
        let mut value = None;
        if let Some(after) = rest.strip_prefix('=') {
            let (read, after) = word(after.trim_start())?;
            (value, rest) = (Some(read), after.trim_start());
        }
        into.push((key, value));
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
}

/// A quoted text, or a bare word.
fn word(text: &str) -> Result<(String, &str), String> {
    let quote = text.chars().next().filter(|c| ['\'', '"', '`'].contains(c));
    if let Some(quote) = quote {
        let end = text[1..].find(quote).ok_or_else(|| format!("the hint's text {text} is not closed"))?;
        return Ok((text[1..=end].to_string(), &text[end + 2..]));
    }
    let end = text.find([',', '=', ')', ' ', '\n', '\t']).unwrap_or(text.len());
    if end == 0 {
        return Err(format!("a key of a hint is expected at '{text}'"));
    }
    Ok((text[..end].to_string(), &text[end..]))
}

/// The tokens that stand for the hint of a table: `.`, [`OPTIONS`], `.`, the options as JSON.
pub(super) fn of_table(text: &str, span: Span) -> SqlResult<Vec<TokenWithSpan>> {
    let hints = parse(text).map_err(|e| SqlError::new(e).or_at(span))?;
    let mut options = std::collections::BTreeMap::new();
    for hint in hints {
        if hint.name != "OPTIONS" {
            let error = SqlError::new(format!("no hint '{}' of a table", hint.name)).or_at(span);
            return Err(error.hint(Some("OPTIONS('key' = 'value') is one; STATE_TTL and hints of joins stand after SELECT".into())));
        }
        for (key, value) in hint.entries {
            let value = value.ok_or_else(|| SqlError::new(format!("the option '{key}' of a hint has no value")).or_at(span))?;
            options.insert(key, value);
        }
    }
    let encoded = serde_json::to_string(&options).map_err(|e| SqlError::new(e.to_string()).or_at(span))?;
    let word = |value: String| Token::Word(Word { value, quote_style: Some('`'), keyword: sqlparser::keywords::Keyword::NoKeyword });
    let tokens = [Token::Period, word(OPTIONS.into()), Token::Period, word(encoded)];
    Ok(tokens.into_iter().map(|t| TokenWithSpan::new(t, span)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_names_keys_and_values() {
        let hints = parse(" STATE_TTL('o' = '1 d', c='2h'), BROADCAST(t) , MULTI_JOIN").unwrap();
        let entry = |k: &str, v: Option<&str>| (k.to_string(), v.map(String::from));
        assert_eq!(hints[0], Hint { name: "STATE_TTL".into(), entries: vec![entry("o", Some("1 d")), entry("c", Some("2h"))] });
        assert_eq!(hints[1], Hint { name: "BROADCAST".into(), entries: vec![entry("t", None)] });
        assert_eq!(hints[2].name, "MULTI_JOIN");
        assert!(parse("STATE_TTL('o = '1 d'").is_err() && parse("(x)").is_err() && parse("A(b").is_err());
    }
}
