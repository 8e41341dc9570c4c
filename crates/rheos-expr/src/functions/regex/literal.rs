//! The shape `(&|^)literal([^&]*)`, matched without the machinery of a regular expression.
//!
//! It is how a parameter is taken out of a URL, row after row: the literal is searched for, the character before it is
//! looked at, and the group reaches up to the first character that it excludes.

use std::ops::Range;

use memchr::memmem;

/// An expression of that shape. The group before the literal may be absent.
#[derive(Debug)]
pub(super) struct LiteralCapture {
    before: Option<Before>,
    literal: memmem::Finder<'static>,
    /// The ASCII characters at which the last group ends.
    stops: Vec<u8>,
    /// How many characters the last group must have.
    min: usize,
}

/// What may precede the literal.
#[derive(Debug, Default)]
struct Before {
    bytes: Vec<u8>,
    at_start: bool,
}

const META: &[u8] = b"\\^$.|?*+()[]{}";

/// A character that stands for itself, escaped or not, and what follows it.
fn plain(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'\\', c, rest @ ..] if c.is_ascii_punctuation() => Some((*c, rest)),
        [c, rest @ ..] if !META.contains(c) => Some((*c, rest)),
        _ => None,
    }
}

impl LiteralCapture {
    /// The expression as that shape, if it is of it.
    pub(super) fn parse(java: &str) -> Option<LiteralCapture> {
        let mut rest = java.as_bytes();
        let mut before = None;
        if let [b'(', after @ ..] = rest {
            let mut group = Before::default();
            rest = after;
            loop {
                rest = match rest {
                    [b'^', after @ ..] => {
                        group.at_start = true;
                        after
                    }
                    _ => {
                        let (c, after) = plain(rest).filter(|(c, _)| c.is_ascii())?;
                        group.bytes.push(c);
                        after
                    }
                };
                match rest {
                    [b'|', after @ ..] => rest = after,
                    [b')', after @ ..] => {
                        rest = after;
                        break;
                    }
                    _ => return None,
                }
            }
            before = Some(group);
        }
        let mut literal = Vec::new();
        while let Some((c, after)) = plain(rest) {
            literal.push(c);
            rest = after;
        }
        let class = rest.strip_prefix(b"([^")?;
        let end = class.iter().position(|c| *c == b']').filter(|at| *at > 0)?;
        let (stops, tail) = class.split_at(end);
        // Ranges, escapes and set operations are left to the general matcher.
        let simple = stops.is_ascii() && !stops.iter().any(|c| b"\\-[^".contains(c)) && !stops.windows(2).any(|w| w == b"&&");
        let min = match tail {
            b"]*)" => 0,
            b"]+)" => 1,
            _ => return None,
        };
        if literal.is_empty() || !simple {
            return None;
        }
        Some(LiteralCapture { before, literal: memmem::Finder::new(&literal).into_owned(), stops: stops.to_vec(), min })
    }

    /// The range of a group in the first match: 0 is the whole match.
    pub(super) fn group(&self, text: &str, group: usize) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let width = self.literal.needle().len();
        let mut from = 0;
        loop {
            let at = from + self.literal.find(&bytes[from..])?;
            from = at + 1;
            let start = match &self.before {
                None => at,
                Some(before) if at > 0 && before.bytes.contains(&bytes[at - 1]) => at - 1,
                Some(before) if at == 0 && before.at_start => 0,
                Some(_) => continue,
            };
            let captured = at + width;
            let length = match self.stops.as_slice() {
                [stop] => memchr::memchr(*stop, &bytes[captured..]),
                stops => bytes[captured..].iter().position(|b| stops.contains(b)),
            };
            let end = length.map_or(bytes.len(), |l| captured + l);
            if end - captured < self.min {
                continue;
            }
            return match (group, &self.before) {
                (0, _) => Some(start..end),
                (1, None) | (2, Some(_)) => Some(captured..end),
                (1, Some(_)) => Some(start..at),
                _ => None,
            };
        }
    }
}
