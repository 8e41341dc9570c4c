//! Regular expressions in Java's syntax, translated to the syntax of the `regex` crate.
//!
//! The two agree on most; what differs is written out: classes such as `\d` are ASCII in Java, `.` excludes all line
//! ends, `\Q..\E` quotes, `\<` is a plain character. Look-around, back references and possessive quantifiers have no
//! counterpart in a matcher of linear time and are refused by name.

use super::classes::{HORIZONTAL, SPACE, VERTICAL, property};

/// A translated expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Translated {
    /// For the `regex` crate.
    pub(super) pattern: String,
    /// Whether it has a `$` or `\Z`, which in Java also match before a final line end.
    pub(super) has_end: bool,
    /// A text that every match contains, if one is evident.
    pub(super) required: Option<String>,
}

/// Why an expression is not translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is none in Java either.
    Invalid(String),
    /// Java has this, the `regex` crate has not.
    Unsupported(String),
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        Refusal::Invalid(why.to_string())
    }
}

fn unsupported<T>(what: &str) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(format!("{what} not supported")))
}

struct Translator<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    has_end: bool,
    /// How many groups are open.
    depth: usize,
    /// The literal run being read outside of groups, and the longest so far.
    run: String,
    longest: String,
    /// Set when a run is no longer required: alternation at the top, or letters that match in either case.
    optional: bool,
    dot_all: bool,
    ignore_case: bool,
}

/// Translates an expression, or says what is wrong with it or not supported.
pub(super) fn translate(java: &str) -> Result<Translated, Refusal> {
    let mut t = Translator {
        rest: java.chars().peekable(),
        out: String::with_capacity(java.len() + 16),
        has_end: false,
        depth: 0,
        run: String::new(),
        longest: String::new(),
        optional: false,
        dot_all: false,
        ignore_case: false,
    };
    while let Some(c) = t.rest.next() {
        t.item(c)?;
    }
    t.end_run();
    let required = (!t.optional && !t.ignore_case && !t.longest.is_empty()).then_some(t.longest);
    Ok(Translated { pattern: t.out, has_end: t.has_end, required })
}

impl Translator<'_> {
    fn item(&mut self, c: char) -> Result<(), Refusal> {
        match c {
            '\\' => self.escape()?,
            '[' => {
                self.end_run();
                self.class()?;
            }
            '.' => {
                self.end_run();
                self.out.push_str(if self.dot_all { "(?s:.)" } else { r"[^\n\r\u{85}\u{2028}\u{2029}]" });
            }
            '$' => self.end_of_text(),
            '(' => {
                self.end_run();
                self.depth += 1;
                self.group()?;
            }
            ')' => {
                self.depth = self.depth.checked_sub(1).ok_or("a ')' closes no group")?;
                self.out.push(')');
            }
            '|' => {
                self.end_run();
                self.optional |= self.depth == 0;
                self.out.push('|');
            }
            '*' | '+' | '?' | '{' => self.quantifier(c)?,
            '^' => {
                self.end_run();
                self.out.push('^');
            }
            c => self.literal(c),
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        if self.depth == 0 {
            self.run.push(c);
        }
        push_escaped(&mut self.out, c);
    }

    fn end_run(&mut self) {
        if self.run.len() > self.longest.len() {
            self.longest = std::mem::take(&mut self.run);
        }
        self.run.clear();
    }

    fn end_of_text(&mut self) {
        self.end_run();
        self.has_end = true;
        self.out.push('$');
    }

    fn quantifier(&mut self, c: char) -> Result<(), Refusal> {
        // The last character of the run is the one that is repeated.
        let mut bounds = String::from(c);
        if c == '{' {
            loop {
                match self.rest.next() {
                    Some('}') => break bounds.push('}'),
                    Some(d) if d.is_ascii_digit() || d == ',' => bounds.push(d),
                    _ => return Err("a '{' begins no number of repetitions".into()),
                }
            }
        }
        if self.depth == 0 && (c == '*' || c == '?' || bounds.starts_with("{0")) {
            self.run.pop();
        }
        self.end_run();
        self.out.push_str(&bounds);
        match self.rest.peek() {
            Some('+') => return unsupported("possessive quantifiers are"),
            Some('?') => {
                self.rest.next();
                self.out.push('?');
            }
            _ => {}
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), Refusal> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        match self.rest.peek() {
            Some('=' | '!') => unsupported("look-ahead is"),
            Some('>') => unsupported("atomic groups are"),
            Some('<') => {
                self.rest.next();
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return unsupported("look-behind is");
                }
                self.out.push('<');
                Ok(())
            }
            _ => self.flags(),
        }
    }

    /// `(?:`, `(?i)`, `(?i-s:`: Java's further flags change nothing that is kept.
    fn flags(&mut self) -> Result<(), Refusal> {
        let (mut on, mut off, mut negative) = (String::new(), String::new(), false);
        loop {
            match self.rest.next() {
                Some('-') => negative = true,
                Some('d' | 'u' | 'U') => {}
                Some(flag @ ('i' | 'm' | 's' | 'x')) => {
                    self.ignore_case |= flag == 'i';
                    // Comments would have to be told from literals.
                    self.optional |= flag == 'x';
                    if flag == 's' {
                        self.dot_all = !negative;
                    }
                    if negative { off.push(flag) } else { on.push(flag) }
                }
                Some(end @ (':' | ')')) => {
                    if end == ')' {
                        self.depth -= 1;
                    }
                    if end == ')' && on.is_empty() && off.is_empty() {
                        // Nothing is left of the flags.
                        self.out.truncate(self.out.len() - 2);
                        return Ok(());
                    }
                    self.out.push_str(&on);
                    if !off.is_empty() {
                        self.out.push('-');
                        self.out.push_str(&off);
                    }
                    self.out.push(end);
                    return Ok(());
                }
                _ => return Err("'(?' begins no known kind of group".into()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Refusal> {
        let c = self.rest.next().ok_or("it ends in a backslash")?;
        match c {
            'Q' => {
                // Quoted up to \E or the end.
                while let Some(c) = self.rest.next() {
                    if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                        return Ok(());
                    }
                    self.literal(c);
                }
                return Ok(());
            }
            'E' => return Ok(()),
            _ => {}
        }
        if let Some(c) = self.character(c)? {
            self.literal(c);
            return Ok(());
        }
        self.end_run();
        match c {
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            'Z' => self.end_of_text(),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"\B"),
            'R' => self.out.push_str(&format!(r"(?:\r\n|[{VERTICAL}])")),
            'G' | 'X' | 'N' => return unsupported(&format!("'\\{c}' is")),
            'k' | '1'..='9' => return unsupported("back references are"),
            _ => {
                let class = self.class_escape(c)?;
                self.out.push('[');
                self.out.push_str(&class);
                self.out.push(']');
            }
        }
        Ok(())
    }

    /// The character that an escape stands for, if it stands for one.
    fn character(&mut self, c: char) -> Result<Option<char>, Refusal> {
        Ok(Some(match c {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\x0C',
            'a' => '\x07',
            'e' => '\x1B',
            'c' => self.rest.next().filter(char::is_ascii).map(|c| char::from(c as u8 ^ 64)).ok_or("'\\c' names no control character")?,
            '0' => {
                let mut value = 0;
                for _ in 0..3 {
                    match self.rest.next_if(|d| ('0'..='7').contains(d)) {
                        Some(d) => value = value * 8 + u32::from(d) - u32::from('0'),
                        None => break,
                    }
                }
                char::from_u32(value).ok_or("'\\0' names no character")?
            }
            'x' if self.rest.next_if_eq(&'{').is_some() => {
                let digits: String = std::iter::from_fn(|| self.rest.next().filter(|d| *d != '}')).collect();
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or("'\\x{' names no character")?
            }
            'x' => char::from_u32(self.hex(2)?).ok_or("'\\x' names no character")?,
            'u' => {
                let unit = self.hex(4)?;
                match char::from_u32(unit) {
                    Some(c) => c,
                    // The first of a pair of UTF-16 units: the second follows.
                    None => {
                        if self.rest.next() != Some('\\') || self.rest.next() != Some('u') {
                            return Err("'\\u' names half a character".into());
                        }
                        let low = self.hex(4)?;
                        char::decode_utf16([unit as u16, low as u16]).next().and_then(Result::ok).ok_or("'\\u' names no character")?
                    }
                }
            }
            c if !c.is_ascii_alphanumeric() => c,
            _ => return Ok(None),
        }))
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Refusal> {
        (0..digits).try_fold(0, |value, _| {
            let digit = self.rest.next().and_then(|d| d.to_digit(16)).ok_or("an escape lacks hexadecimal digits")?;
            Ok(value * 16 + digit)
        })
    }

    /// What stands between brackets for a class such as `\d` or `\p{Alpha}`.
    fn class_escape(&mut self, c: char) -> Result<String, Refusal> {
        Ok(match c {
            'd' => "0-9".into(),
            'D' => "^0-9".into(),
            'w' => "a-zA-Z0-9_".into(),
            'W' => "^a-zA-Z0-9_".into(),
            's' => SPACE.into(),
            'S' => format!("^{SPACE}"),
            'h' => HORIZONTAL.into(),
            'H' => format!("^{HORIZONTAL}"),
            'v' => VERTICAL.into(),
            'V' => format!("^{VERTICAL}"),
            'p' | 'P' => {
                let name: String = match self.rest.next() {
                    Some('{') => std::iter::from_fn(|| self.rest.next().filter(|d| *d != '}')).collect(),
                    Some(c) => c.to_string(),
                    None => return Err("'\\p' names no class".into()),
                };
                let class = property(&name)?;
                if c == 'P' { format!("^{class}") } else { class }
            }
            c => return Err(Refusal::Invalid(format!("'\\{c}' is no escape"))),
        })
    }

    /// A bracketed class; the opening bracket has been read.
    fn class(&mut self) -> Result<(), Refusal> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        let mut last = '[';
        loop {
            let c = self.rest.next().ok_or("a '[' is not closed")?;
            match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' => self.class()?,
                '&' if self.rest.next_if_eq(&'&').is_some() => self.out.push_str("&&"),
                '-' if last == '-' => self.out.push_str(r"\-"),
                '-' => self.out.push('-'),
                '\\' => {
                    let c = self.rest.next().ok_or("it ends in a backslash")?;
                    if c == 'Q' {
                        while let Some(c) = self.rest.next() {
                            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                                break;
                            }
                            push_escaped(&mut self.out, c);
                        }
                    } else if let Some(c) = self.character(c)? {
                        push_escaped(&mut self.out, c);
                    } else {
                        let class = self.class_escape(c)?;
                        self.out.push('[');
                        self.out.push_str(&class);
                        self.out.push(']');
                    }
                }
                c => push_escaped(&mut self.out, c),
            }
            (first, last) = (false, c);
        }
    }
}

/// Whatever a character means in the `regex` crate, here it stands for itself.
fn push_escaped(out: &mut String, c: char) {
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>') || matches!(c, ' ' | '#') {
        if c == ' ' { out.push_str(r"\x20") } else { out.extend(['\\', c]) }
    } else {
        out.push(c);
    }
}
