//! JSON documents read without copying what need not be copied. Numbers stay as they are written.

use std::borrow::Cow;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// Its text: what it is read as depends on who asks.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// In the document's order; of equal names the last counts.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// No document nests deeper.
const MAX_DEPTH: usize = 500;

impl<'a> Json<'a> {
    /// Reads a whole document.
    pub(super) fn parse(text: &'a str) -> Option<Json<'a>> {
        let (value, rest) = Json::parse_first(text)?;
        rest.trim_start_matches(BLANKS).is_empty().then_some(value)
    }

    /// Reads the value that a text begins with, and what follows it.
    pub(super) fn parse_first(text: &'a str) -> Option<(Json<'a>, &'a str)> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        Some((value, &text[reader.at..]))
    }

    /// The value of a name in an object.
    pub(super) fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(entries) => entries.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it is neither an array nor an object.
    pub(super) fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        let rest = self.text[self.at..].strip_prefix(word)?;
        self.at += word.len();
        // `nullable` is no value.
        (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(value)
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        self.skip_blanks();
        match self.peek()? {
            b'{' if depth < MAX_DEPTH => self.object(depth),
            b'[' if depth < MAX_DEPTH => self.array(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut entries = Vec::new();
        self.skip_blanks();
        if self.take(b'}') {
            return Some(Json::Object(entries));
        }
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'"') {
                return None;
            }
            let name = self.string()?;
            self.skip_blanks();
            if !self.take(b':') {
                return None;
            }
            entries.push((name, self.value(depth + 1)?));
            self.skip_blanks();
            if self.take(b'}') {
                return Some(Json::Object(entries));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        if self.take(b']') {
            return Some(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_blanks();
            if self.take(b']') {
                return Some(Json::Array(items));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        self.take(b'-');
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while reader.peek().is_some_and(|b| b.is_ascii_digit()) {
                reader.at += 1;
            }
            reader.at - from
        };
        let first = self.peek()?;
        let whole = digits(self);
        // No number begins with a superfluous 0.
        if whole == 0 || (first == b'0' && whole > 1) {
            return None;
        }
        if self.take(b'.') && digits(self) == 0 {
            return None;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let _ = self.take(b'+') || self.take(b'-');
            if digits(self) == 0 {
                return None;
            }
        }
        let follows = self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.');
        (!follows).then(|| Json::Number(&self.text[start..self.at]))
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Some(Cow::Borrowed(text));
                }
                b'\\' => break,
                b if b < 0x20 => return None,
                _ => self.at += 1,
            }
        }
        let mut text = self.text[start..self.at].to_string();
        loop {
            let from = self.at;
            while self.peek().is_some_and(|b| b != b'"' && b != b'\\' && b >= 0x20) {
                self.at += 1;
            }
            text.push_str(&self.text[from..self.at]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(Cow::Owned(text));
                }
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        self.at += 1;
        let escaped = self.peek()?;
        self.at += 1;
        Some(match escaped {
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex()?;
                match char::from_u32(unit) {
                    Some(c) => c,
                    None if self.text[self.at..].starts_with("\\u") => {
                        let before = self.at;
                        self.at += 2;
                        let low = self.hex()?;
                        match char::decode_utf16([unit as u16, low as u16]).next() {
                            Some(Ok(c)) => c,
                            _ => {
                                self.at = before;
                                char::REPLACEMENT_CHARACTER
                            }
                        }
                    }
                    None => char::REPLACEMENT_CHARACTER,
                }
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |value, d| Some(value * 16 + char::from(*d).to_digit(16)?))
    }
}
