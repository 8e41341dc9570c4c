//! A regular expression ready to be matched.

use std::fmt;
use std::ops::Range;

use hashbrown::HashMap;
use memchr::memmem;

use rheos_core::error::{Error, Result};

use super::java::{Refusal, translate};
use super::literal::LiteralCapture;

/// A compiled expression with Java's semantics.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: ::regex::Regex,
    /// A text without this has no match: it is searched for first.
    required: Option<memmem::Finder<'static>>,
    literal: Option<LiteralCapture>,
    has_end: bool,
}

/// Why a text was not compiled.
#[derive(Debug)]
pub(crate) struct CompileError {
    invalid: bool,
    message: String,
}

impl CompileError {
    /// Whether it is no regular expression in Java either.
    pub(crate) fn is_invalid(&self) -> bool {
        self.invalid
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The groups of a match, reused from row to row.
pub(super) struct Groups(::regex::CaptureLocations);

impl Pattern {
    /// Compiles an expression in Java's syntax.
    pub(crate) fn compile(java: &str) -> Result<Pattern, CompileError> {
        let failed = |invalid: bool, why: &str| CompileError { invalid, message: format!("'{java}' is no regular expression: {why}") };
        let translated = translate(java).map_err(|refusal| match refusal {
            Refusal::Invalid(why) => failed(true, &why),
            Refusal::Unsupported(why) => CompileError { invalid: false, message: format!("regular expression '{java}': {why}") },
        })?;
        let regex = ::regex::Regex::new(&translated.pattern).map_err(|e| {
            // The last line says what is wrong; those above draw where.
            failed(
                !matches!(e, ::regex::Error::CompiledTooBig(_)),
                e.to_string().lines().last().unwrap_or_default().trim_start_matches("error: "),
            )
        })?;
        let required = translated.required.map(|text| memmem::Finder::new(text.as_bytes()).into_owned());
        Ok(Pattern { regex, required, literal: LiteralCapture::parse(java), has_end: translated.has_end })
    }

    /// How many groups it has, not counting the whole match.
    pub(super) fn group_count(&self) -> usize {
        self.regex.captures_len() - 1
    }

    /// Room for the groups of a match.
    pub(super) fn groups(&self) -> Groups {
        Groups(self.regex.capture_locations())
    }

    #[inline]
    fn may_match(&self, text: &str) -> bool {
        self.required.as_ref().is_none_or(|required| required.find(text.as_bytes()).is_some())
    }

    /// The text without its final line end, where `$` may match before it.
    fn without_line_end<'t>(&self, text: &'t str) -> Option<&'t str> {
        if !self.has_end {
            return None;
        }
        text.strip_suffix("\r\n").or_else(|| text.strip_suffix(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']))
    }

    /// Whether it matches anywhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.may_match(text) && (self.regex.is_match(text) || self.without_line_end(text).is_some_and(|t| self.regex.is_match(t)))
    }

    /// The first match.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        if !self.may_match(text) {
            return None;
        }
        self.find_from(text, 0)
    }

    fn find_from(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let found = self.regex.find_at(text, from);
        let found = found.or_else(|| self.without_line_end(text).filter(|t| from <= t.len()).and_then(|t| self.regex.find_at(t, from)));
        found.map(|m| m.range())
    }

    /// A group of the first match: `None` if there is no match or the group took no part in it.
    #[inline]
    pub(super) fn group<'t>(&self, text: &'t str, group: usize, groups: &mut Groups) -> Option<&'t str> {
        if let Some(literal) = &self.literal {
            return literal.group(text, group).map(|range| &text[range]);
        }
        if !self.may_match(text) {
            return None;
        }
        if group == 0 {
            return self.find_from(text, 0).map(|range| &text[range]);
        }
        self.groups_from(text, 0, groups)?;
        groups.0.get(group).map(|(start, end)| &text[start..end])
    }

    /// Matches from a position on; gives the range of the whole match.
    fn groups_from(&self, text: &str, from: usize, groups: &mut Groups) -> Option<Range<usize>> {
        let found = self.regex.captures_read_at(&mut groups.0, text, from);
        let found = found.or_else(|| {
            let text = self.without_line_end(text).filter(|t| from <= t.len())?;
            self.regex.captures_read_at(&mut groups.0, text, from)
        });
        found.map(|m| m.range())
    }

    /// Calls `f` with each match in turn. As in Java an empty match may directly follow another.
    pub(super) fn for_each_match(&self, text: &str, mut f: impl FnMut(Range<usize>)) {
        let mut from = self.may_match(text).then_some(0);
        while let Some(found) = from.and_then(|from| self.find_from(text, from)) {
            from = next_start(text, &found);
            f(found);
        }
    }

    /// Calls `f` with the range of a group in each match, `None` where it took no part.
    pub(super) fn for_each_group(&self, text: &str, group: usize, groups: &mut Groups, mut f: impl FnMut(Option<Range<usize>>)) {
        let mut from = self.may_match(text).then_some(0);
        while let Some(found) = from.and_then(|from| self.groups_from(text, from, groups)) {
            from = next_start(text, &found);
            f(groups.0.get(group).map(|(start, end)| start..end));
        }
    }
}

fn next_start(text: &str, found: &Range<usize>) -> Option<usize> {
    if !found.is_empty() {
        return Some(found.end);
    }
    text[found.end..].chars().next().map(|c| found.end + c.len_utf8())
}

/// Patterns that come with the rows, each compiled once for a batch.
#[derive(Default)]
pub(super) struct Patterns<'a>(HashMap<&'a str, Option<Pattern>>);

impl<'a> Patterns<'a> {
    /// The pattern of a text; `None` if it is no regular expression.
    pub(super) fn get(&mut self, java: &'a str) -> Result<Option<&Pattern>> {
        let compiled = match self.0.entry(java) {
            hashbrown::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hashbrown::hash_map::Entry::Vacant(entry) => entry.insert(match Pattern::compile(java) {
                Ok(pattern) => Some(pattern),
                Err(e) if e.is_invalid() => None,
                Err(e) => return Err(Error::input(e.to_string())),
            }),
        };
        Ok(compiled.as_ref())
    }
}
