//! Java's date patterns (`yyyy-MM-dd HH:mm`), parsed once.
//!
//! Flink reads and writes TIMESTAMP through `java.time.format.DateTimeFormatter` and epoch seconds and texts through
//! `java.text.SimpleDateFormat`; the same letters differ a little between the two, so a pattern knows its [`Style`].

/// Which of Java's two pattern languages a pattern is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `DateTimeFormatter`: exact, the whole text must match.
    Formatter,
    /// `SimpleDateFormat`: lenient, what follows the match is passed over.
    Simple,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that stands for itself.
    Literal(String),
    /// A letter and how often it is repeated.
    Field(u8, usize),
    /// `[...]`, left out of a text that does not have it.
    Optional(Vec<Piece>),
}

/// A pattern ready to write and to read moments.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) pieces: Vec<Piece>,
    pub(super) style: Style,
    /// Moments in the same multiple of this many nanoseconds have the same text; zero if every moment may have its own.
    pub(super) step_ns: i64,
}

const SECOND_NS: i64 = 1_000_000_000;
const FORMATTER_LETTERS: &[u8] = b"GuyDMLdQqYwWEecFahHKkmsSAnN";
const SIMPLE_LETTERS: &[u8] = b"GyYMLwWDdFEuaHkKhmsSzZX";

impl Pattern {
    /// Reads a pattern, or says which part of it is none.
    pub(super) fn parse(pattern: &str, style: Style) -> Result<Pattern, String> {
        // The innermost open `[` collects the pieces.
        let mut open: Vec<Vec<Piece>> = vec![Vec::new()];
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let pieces = open.last_mut().ok_or("brackets do not match")?;
            match c {
                '\'' if chars.next_if_eq(&'\'').is_some() => push_literal(pieces, '\''),
                '\'' => loop {
                    match chars.next() {
                        Some('\'') if chars.next_if_eq(&'\'').is_some() => push_literal(pieces, '\''),
                        Some('\'') => break,
                        Some(c) => push_literal(pieces, c),
                        None => return Err(format!("pattern '{pattern}' has a quote that is not closed")),
                    }
                },
                'a'..='z' | 'A'..='Z' => {
                    let letters = if style == Style::Formatter { FORMATTER_LETTERS } else { SIMPLE_LETTERS };
                    let letter = c as u8;
                    if !letters.contains(&letter) {
                        return Err(format!("pattern '{pattern}' has the letter '{c}', which stands for nothing here"));
                    }
                    let mut count = 1;
                    while chars.next_if_eq(&c).is_some() {
                        count += 1;
                    }
                    if !count_fits(letter, count, style) {
                        return Err(format!("pattern '{pattern}' repeats '{c}' {count} times, which is too often"));
                    }
                    pieces.push(Piece::Field(letter, count));
                }
                '[' if style == Style::Formatter => open.push(Vec::new()),
                ']' if style == Style::Formatter => {
                    let inner = open.pop().unwrap_or_default();
                    let outer = open.last_mut().ok_or_else(|| format!("pattern '{pattern}' has a ']' without '['"))?;
                    outer.push(Piece::Optional(inner));
                }
                '{' | '}' | '#' if style == Style::Formatter => {
                    return Err(format!("pattern '{pattern}' has '{c}', which is reserved: write it in quotes"));
                }
                c => push_literal(pieces, c),
            }
        }
        // Java closes what is left open.
        while open.len() > 1 {
            let inner = open.pop().unwrap_or_default();
            if let Some(outer) = open.last_mut() {
                outer.push(Piece::Optional(inner));
            }
        }
        let pieces = open.pop().unwrap_or_default();
        let step_ns = step_of(&pieces);
        Ok(Pattern { pieces, style, step_ns })
    }
}

fn push_literal(pieces: &mut Vec<Piece>, c: char) {
    match pieces.last_mut() {
        Some(Piece::Literal(text)) => text.push(c),
        _ => pieces.push(Piece::Literal(c.to_string())),
    }
}

/// How often `DateTimeFormatter` lets a letter be repeated.
fn count_fits(letter: u8, count: usize, style: Style) -> bool {
    style == Style::Simple
        || match letter {
            b'd' | b'h' | b'H' | b'k' | b'K' | b'm' | b's' | b'w' => count <= 2,
            b'a' | b'F' | b'W' => count <= 1,
            b'D' => count <= 3,
            b'S' => count <= 9,
            b'G' | b'M' | b'L' | b'Q' | b'q' | b'E' | b'e' | b'c' => count <= 5,
            _ => count <= 19,
        }
}

/// The greatest common step of a pattern's fields: within it the text does not change.
fn step_of(pieces: &[Piece]) -> i64 {
    let step = |piece: &Piece| match piece {
        Piece::Literal(_) => 86_400 * SECOND_NS,
        Piece::Optional(inner) => step_of(inner),
        Piece::Field(letter, _) => match letter {
            b'S' | b'A' | b'n' | b'N' | b'z' | b'Z' | b'X' => 0,
            b's' => SECOND_NS,
            b'm' => 60 * SECOND_NS,
            b'a' | b'h' | b'H' | b'K' | b'k' => 3600 * SECOND_NS,
            _ => 86_400 * SECOND_NS,
        },
    };
    pieces.iter().map(step).min().unwrap_or(86_400 * SECOND_NS)
}
