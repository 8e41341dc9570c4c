//! Paths into documents (`$.a[0].*`), with the semantics of the Jayway JsonPath library that Flink uses: what is missing
//! is an error, except in lax mode and beyond a wildcard.

use std::fmt;

use super::value::Json;

/// A path ready to be followed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    /// `lax`: what is missing is nothing, rather than an error. Without a mode a path is strict.
    pub(super) lax: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `.name` or `['name']`
    Name(String),
    /// `[0]`, from the end if negative.
    Index(i64),
    /// `[0, 2]`
    Indexes(Vec<i64>),
    /// `[from:to]`
    Slice(Option<i64>, Option<i64>),
    /// `*`
    Wildcard,
    /// `..`: the next step anywhere below.
    Scan,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PathError {
    Invalid(String),
    Unsupported(String),
}

impl PathError {
    /// Whether it is no path for Flink either.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self, PathError::Invalid(_))
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::Invalid(why) | PathError::Unsupported(why) => f.write_str(why),
        }
    }
}

/// What a path leads to.
#[derive(Debug, PartialEq)]
pub(super) enum Found<'d, 'a> {
    /// Nothing, in lax mode.
    Nothing,
    /// The value that a path without wildcards leads to.
    One(&'d Json<'a>),
    /// The values that a path with wildcards leads to.
    Many(Vec<&'d Json<'a>>),
}

/// Nothing is where a strict path leads.
#[derive(Debug, PartialEq)]
pub(super) struct Missing;

impl Path {
    /// Reads a path: `[lax | strict] $...`.
    pub(super) fn parse(text: &str) -> Result<Path, PathError> {
        let trimmed = text.trim();
        let (lax, steps) = match trimmed.split_once(char::is_whitespace) {
            Some((mode, steps)) if mode.eq_ignore_ascii_case("lax") => (true, steps.trim()),
            Some((mode, steps)) if mode.eq_ignore_ascii_case("strict") => (false, steps.trim()),
            _ => (false, trimmed),
        };
        let invalid = |why: &str| PathError::Invalid(format!("'{text}' is no path: {why}"));
        let unsupported = |what: &str| PathError::Unsupported(format!("path '{text}': {what} are not supported"));
        if steps.is_empty() {
            return Err(invalid("it is empty"));
        }
        // A path may leave out its root.
        let mut rest = steps.strip_prefix('$').map_or_else(|| format!(".{steps}"), str::to_string);
        let mut parsed = Vec::new();
        while !rest.is_empty() {
            let (step, after) = if let Some(after) = rest.strip_prefix("..") {
                let after = if after.starts_with('[') { after.to_string() } else { format!(".{after}") };
                if after.len() < 2 {
                    return Err(invalid("it ends in '..'"));
                }
                (Step::Scan, after)
            } else if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[', '(', ' ']).unwrap_or(after.len());
                let name = &after[..end];
                match after[end..].chars().next() {
                    Some('(') => return Err(unsupported("functions")),
                    Some(' ') => return Err(invalid("a name has a blank; write ['name'] for that")),
                    _ => {}
                }
                let step = match name {
                    "" if after.starts_with('[') => None,
                    "" => return Err(invalid("a '.' has no name after it")),
                    "*" => Some(Step::Wildcard),
                    name => Some(Step::Name(name.to_string())),
                };
                let after = after[end..].to_string();
                match step {
                    Some(step) => (step, after),
                    None => {
                        rest = after;
                        continue;
                    }
                }
            } else if let Some(after) = rest.strip_prefix('[') {
                let inner = after.trim_start();
                if inner.starts_with('?') {
                    return Err(unsupported("filters"));
                }
                if let Some(quote) = inner.chars().next().filter(|c| matches!(c, '\'' | '"')) {
                    let (name, after) = quoted(&inner[1..], quote).ok_or_else(|| invalid("a quote is not closed"))?;
                    let after = after.trim_start();
                    if after.starts_with(',') {
                        return Err(unsupported("several names in brackets"));
                    }
                    let after = after.strip_prefix(']').ok_or_else(|| invalid("a '[' is not closed"))?;
                    (Step::Name(name), after.to_string())
                } else {
                    let (inner, after) = after.split_once(']').ok_or_else(|| invalid("a '[' is not closed"))?;
                    (
                        brackets(inner.trim()).ok_or_else(|| invalid("brackets hold neither a number, a name in quotes nor '*'"))?,
                        after.to_string(),
                    )
                }
            } else {
                return Err(invalid("a step begins with '.' or '['"));
            };
            parsed.push(step);
            rest = after;
        }
        if parsed.last() == Some(&Step::Scan) {
            return Err(invalid("it ends in '..'"));
        }
        Ok(Path { lax, steps: parsed })
    }

    fn is_definite(&self) -> bool {
        self.steps.iter().all(Step::is_definite)
    }

    /// Follows the path from the root of a document.
    pub(super) fn follow<'d, 'a>(&self, document: &'d Json<'a>) -> Result<Found<'d, 'a>, Missing> {
        // The library has no path into a document that is null.
        if *document == Json::Null {
            return Err(Missing);
        }
        let mut found = Vec::new();
        let followed = self.walk(&self.steps, document, true, &mut found);
        match (followed, self.is_definite()) {
            (Ok(()), false) => Ok(Found::Many(found)),
            (Ok(()), true) if !found.is_empty() => Ok(Found::One(found[0])),
            _ if !self.lax => Err(Missing),
            (_, true) => Ok(Found::Nothing),
            (_, false) => Ok(Found::Many(Vec::new())),
        }
    }

    fn walk<'d, 'a>(&self, steps: &[Step], at: &'d Json<'a>, definite: bool, found: &mut Vec<&'d Json<'a>>) -> Result<(), Missing> {
        let Some((step, rest)) = steps.split_first() else {
            found.push(at);
            return Ok(());
        };
        // Beyond a wildcard, what is missing in one branch is no error.
        let absent = |tolerated: bool| if tolerated { Ok(()) } else { Err(Missing) };
        match step {
            Step::Name(name) => match (at, at.get(name)) {
                (_, Some(value)) => self.walk(rest, value, definite, found),
                (Json::Object(_), None) => absent(rest.is_empty() || !definite || self.lax),
                _ => absent(!definite),
            },
            Step::Index(_) | Step::Indexes(_) | Step::Slice(..) => {
                let Json::Array(items) = at else { return absent(!definite || self.lax) };
                let definite = definite && step.is_definite();
                step.positions(items.len()).try_for_each(|i| self.walk(rest, &items[i], definite, found))
            }
            Step::Wildcard => {
                // An error within a branch ends that branch only.
                match at {
                    Json::Object(entries) => entries.iter().for_each(|(_, value)| drop(self.walk(rest, value, false, found))),
                    Json::Array(items) => items.iter().for_each(|item| drop(self.walk(rest, item, false, found))),
                    _ => {}
                }
                Ok(())
            }
            Step::Scan => {
                let fits = match rest.first() {
                    Some(Step::Name(name)) => at.get(name).is_some(),
                    Some(Step::Wildcard) => true,
                    _ => matches!(at, Json::Array(_)),
                };
                if fits {
                    self.walk(rest, at, false, found)?;
                }
                match at {
                    Json::Object(entries) => entries.iter().try_for_each(|(_, value)| self.walk(steps, value, false, found)),
                    Json::Array(items) => items.iter().try_for_each(|item| self.walk(steps, item, false, found)),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Step {
    fn is_definite(&self) -> bool {
        matches!(self, Step::Name(_) | Step::Index(_))
    }

    /// The positions in an array of a length; those outside are left out.
    fn positions(&self, length: usize) -> impl Iterator<Item = usize> {
        let from_end = |i: i64| if i < 0 { i + length as i64 } else { i };
        let positions: Vec<usize> = match self {
            Step::Index(i) => usize::try_from(from_end(*i)).into_iter().collect(),
            Step::Indexes(indexes) => indexes.iter().filter_map(|i| usize::try_from(from_end(*i)).ok()).collect(),
            Step::Slice(from, to) => {
                let bound = |i: i64| from_end(i).clamp(0, length as i64) as usize;
                (from.map_or(0, bound)..to.map_or(length, bound)).collect()
            }
            _ => Vec::new(),
        };
        positions.into_iter().filter(move |i| *i < length)
    }
}

/// A name in quotes, in which a backslash quotes the next character, and what follows it.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => name.push(chars.next()?.1),
            c if c == quote => return Some((name, &text[at + c.len_utf8()..])),
            c => name.push(c),
        }
    }
    None
}

/// What stands between brackets without quotes.
fn brackets(text: &str) -> Option<Step> {
    let number = |t: &str| t.trim().parse::<i64>().ok();
    if text == "*" {
        return Some(Step::Wildcard);
    }
    if let Some((from, to)) = text.split_once(':') {
        let bound = |t: &str| if t.trim().is_empty() { Some(None) } else { number(t).map(Some) };
        return Some(Step::Slice(bound(from)?, bound(to)?));
    }
    if text.contains(',') {
        return text.split(',').map(number).collect::<Option<Vec<_>>>().map(Step::Indexes);
    }
    number(text).map(Step::Index)
}
