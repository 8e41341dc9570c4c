//! The words of SQL, as far as an editor must tell them apart. The text may be wrong or unfinished: everything has a token.

use std::ops::Range;

/// A piece of text of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: Kind,
    /// Where it is, in bytes.
    pub(crate) span: Range<usize>,
    /// Whether it has its end: only strings, names in backticks and comments can lack one.
    pub(crate) is_closed: bool,
}

/// Kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword or a plain name.
    Word,
    /// A name in backticks.
    Name,
    /// A text in quotes.
    Text,
    /// `-- ...` and `/* ... */`.
    Comment,
    /// A number.
    Number,
    /// One character of anything else.
    Symbol,
    /// Space and line ends.
    Space,
}

impl Token {
    /// Whether it means anything to the parser.
    pub(crate) fn is_meant(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// Whether it is this keyword.
    pub(crate) fn is_word(&self, text: &str, word: &str) -> bool {
        self.kind == Kind::Word && text[self.span.clone()].eq_ignore_ascii_case(word)
    }

    /// Whether it is this character.
    pub(crate) fn is_symbol(&self, text: &str, symbol: char) -> bool {
        self.kind == Kind::Symbol && text[self.span.clone()].starts_with(symbol)
    }

    /// What is named or said: without quotes, doubled ones single.
    pub(crate) fn value(&self, text: &str) -> String {
        let text = &text[self.span.clone()];
        match self.kind {
            Kind::Name | Kind::Text => {
                let quote = &text[..1];
                let inner = &text[1..];
                let inner = if self.is_closed { &inner[..inner.len() - 1] } else { inner };
                inner.replace(&quote.repeat(2), quote)
            }
            _ => text.to_string(),
        }
    }
}

/// The tokens of a text, one behind the other and without gaps.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (kind, len, is_closed) = next(&text[at..], first);
        tokens.push(Token { kind, span: at..at + len, is_closed });
        at += len;
    }
    tokens
}

/// Kind, length in bytes and whether it is closed, of the token at the beginning.
fn next(text: &str, first: char) -> (Kind, usize, bool) {
    let while_so = |is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
    match first {
        '\'' | '"' | '`' => {
            let kind = if first == '`' { Kind::Name } else { Kind::Text };
            let (len, is_closed) = quoted(text, first);
            (kind, len, is_closed)
        }
        '-' if text.starts_with("--") => (Kind::Comment, text.find('\n').unwrap_or(text.len()), true),
        '/' if text.starts_with("/*") => match text[2..].find("*/") {
            Some(end) => (Kind::Comment, end + 4, true),
            None => (Kind::Comment, text.len(), false),
        },
        c if c.is_whitespace() => (Kind::Space, while_so(char::is_whitespace), true),
        c if c.is_ascii_digit() => (Kind::Number, while_so(|c| c.is_alphanumeric() || c == '.'), true),
        c if is_word(c) => (Kind::Word, while_so(is_word), true),
        c => (Kind::Symbol, c.len_utf8(), true),
    }
}

/// Whether a plain name may contain this character.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// How long a text in quotes is, and whether it has its end. A doubled quote stands for one.
fn quoted(text: &str, quote: char) -> (usize, bool) {
    let mut at = 1;
    while let Some(found) = text[at..].find(quote) {
        at += found + 1;
        if !text[at..].starts_with(quote) {
            return (at, true);
        }
        at += 1;
    }
    (text.len(), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(text);
        tokens.into_iter().filter(|t| t.kind != Kind::Space).map(|t| (t.kind, &text[t.span])).collect()
    }

    #[test]
    fn every_kind_is_told_apart() {
        let seen = kinds("SELECT `a b`, 'it''s', 1.5e3 -- rest\n/* more\n*/ x;");
        let expected = [
            (Kind::Word, "SELECT"),
            (Kind::Name, "`a b`"),
            (Kind::Symbol, ","),
            (Kind::Text, "'it''s'"),
            (Kind::Symbol, ","),
            (Kind::Number, "1.5e3"),
            (Kind::Comment, "-- rest"),
            (Kind::Comment, "/* more\n*/"),
            (Kind::Word, "x"),
            (Kind::Symbol, ";"),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_has_no_end_reaches_to_the_end() {
        for text in ["'a; b", "`a", "/* a; *", "'a''", "'"] {
            let tokens = tokens(text);
            assert_eq!((tokens.len(), tokens[0].is_closed, tokens[0].span.end), (1, false, text.len()), "{text}");
        }
    }

    #[test]
    fn values_are_without_their_quotes() {
        let value = |text: &str| tokens(text)[0].value(text);
        assert_eq!(["'it''s'", "`a``b`", "'open", "plain", "''"].map(value), ["it's", "a`b", "open", "plain", ""]);
    }

    #[test]
    fn tokens_leave_no_gap_in_any_text() {
        for text in ["größer ≠ 'é", "a\u{a0}b", "🦀;🦀", "$1 \\d x"] {
            let mut end = 0;
            for token in tokens(text) {
                assert_eq!(token.span.start, end, "{text}");
                end = token.span.end;
            }
            assert_eq!(end, text.len());
        }
    }
}
