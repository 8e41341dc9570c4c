//! How much may wait between two tasks.

use rheos_core::element::Element;

use crate::net::Encoded;

/// What one channel holds at most. An empty channel admits any one element, so that none is too large to pass; a channel
/// never holds more than the greater of its limits and its largest element.
#[derive(Debug, Clone, Copy)]
pub struct ChannelLimits {
    /// Retained bytes.
    pub bytes: usize,
    /// Rows. Watermarks and barriers count as one each.
    pub rows: usize,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        ChannelLimits { bytes: 4 << 20, rows: 64 << 10 }
    }
}

/// Up to which size the pieces for one channel are joined before they are sent.
#[derive(Debug, Clone, Copy)]
pub struct CoalesceLimits {
    /// Rows that are worth sending: a piece of at least half of this is sent as it is.
    pub rows: usize,
    /// Retained bytes after which pieces wait no longer.
    pub bytes: usize,
}

impl Default for CoalesceLimits {
    fn default() -> Self {
        CoalesceLimits { rows: 4096, bytes: 1 << 20 }
    }
}

/// What an element takes of a channel's room.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
}

/// An element on its way, with what it takes of a channel's room.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) element: Element,
    pub(crate) cost: Cost,
    /// The element as frames, where it waits to go to another process: so it is encoded once.
    pub(crate) encoded: Option<Box<Encoded>>,
}

impl From<Element> for Parcel {
    fn from(element: Element) -> Self {
        Parcel { cost: Cost::of(&element), element, encoded: None }
    }
}

impl Cost {
    fn of(element: &Element) -> Cost {
        match element {
            Element::Batch(batch) => Cost { bytes: batch.retained_bytes(), rows: batch.num_rows() },
            _ => Cost { bytes: 0, rows: 1 },
        }
    }
}
