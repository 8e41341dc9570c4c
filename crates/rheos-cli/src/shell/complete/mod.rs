//! Completion: what may stand where the cursor is.
//!
//! [`place`] says what is being written there, [`names`] what there is, [`words`] which words SQL has, [`offer`] puts them together.

mod names;
mod offer;
mod place;
#[cfg(test)]
mod tests;
mod words;

use super::statements::pieces;
use super::tokens::{Kind, Token, tokens};

pub(crate) use names::Names;
pub(crate) use words::is_keyword;

/// What the cursor's word may become.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Completion {
    /// From where to the cursor the text is replaced, in bytes.
    pub(crate) start: usize,
    /// By what.
    pub(crate) candidates: Vec<Candidate>,
}

/// A text that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The text.
    pub(crate) text: String,
    /// What it is, for people; may be empty.
    pub(crate) what: String,
    /// Whether a space comes after it.
    pub(crate) with_space: bool,
}

/// Completes the word at the cursor, which is in bytes.
pub(crate) fn complete(text: &str, cursor: usize, names: &Names) -> Completion {
    // Of several statements the one with the cursor; what is after the last semicolon is the next one.
    let pieces = pieces(text);
    let piece = pieces.iter().find(|p| p.range.start <= cursor && (cursor < p.range.end || !p.is_ended));
    let range = piece.map_or_else(|| pieces.last().map_or(0, |p| p.range.end)..text.len(), |p| p.range.clone());
    let all: Vec<Token> = tokens(&text[range.clone()])
        .into_iter()
        .map(|t| Token { span: t.span.start + range.start..t.span.end + range.start, ..t })
        .collect();
    let holds_cursor = |t: &&Token| match t.kind {
        Kind::Word | Kind::Number => t.span.start < cursor && cursor <= t.span.end,
        Kind::Name | Kind::Text | Kind::Comment => {
            t.span.start < cursor && (cursor < t.span.end || (cursor == t.span.end && !(t.is_closed && t.kind != Kind::Comment)))
        }
        Kind::Symbol | Kind::Space => false,
    };
    let at_cursor = all.iter().find(holds_cursor).cloned();
    if at_cursor.as_ref().is_some_and(|t| matches!(t.kind, Kind::Comment | Kind::Number)) {
        return Completion { start: cursor, candidates: vec![] };
    }
    let meant: Vec<Token> = all.into_iter().filter(Token::is_meant).collect();
    let before = meant.iter().take_while(|t| t.span.end <= cursor && at_cursor.as_ref() != Some(*t)).count();
    let in_text = at_cursor.as_ref().is_some_and(|t| t.kind == Kind::Text);
    let writing = place::Writing { text, all: &meant, before, is_within: at_cursor.is_some(), in_text };
    offer::offer(&writing, at_cursor.as_ref(), cursor, names)
}
