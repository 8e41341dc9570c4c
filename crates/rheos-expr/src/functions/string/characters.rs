//! Characters found by position, quickly where a text is ASCII.

/// The byte at which character `n` (from 0) begins; the text's length if it has no more than `n`.
#[inline]
pub(super) fn offset(text: &str, n: usize) -> usize {
    let at = n.min(text.len());
    // Characters before it are single bytes: it is where it seems to be.
    if text.as_bytes()[..at].is_ascii() { at } else { text.char_indices().nth(n).map_or(text.len(), |(at, _)| at) }
}

/// How many characters a text has.
#[inline]
pub(super) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The characters `start` to `start + length` (from 0).
#[inline]
pub(super) fn slice(text: &str, start: usize, length: usize) -> &str {
    let rest = &text[offset(text, start)..];
    &rest[..offset(rest, length)]
}

/// A count as given in SQL, bounded to what indexes can be.
#[inline]
pub(super) fn bounded(count: i64) -> usize {
    usize::try_from(count.max(0)).unwrap_or(usize::MAX)
}
