//! The rows of each key as linked lists over row slots.

use rheos_state::{KeyIndex, Slot};

use crate::row_store::NO_ROW;

/// The rows of one key.
#[derive(Debug, Clone, Copy)]
struct Head {
    first: u32,
    count: u32,
}

const EMPTY: Head = Head { first: NO_ROW, count: 0 };

/// For each key slot a list of row slots, the latest first. Adding and removing take constant time.
#[derive(Debug)]
pub(crate) struct KeyLists {
    heads: Vec<Head>,
    next: Vec<u32>,
    /// The links back; kept only where rows are removed.
    previous: Option<Vec<u32>>,
}

impl KeyLists {
    /// Empty lists; `removable` says whether rows will be removed.
    pub(crate) fn new(removable: bool) -> Self {
        KeyLists { heads: Vec::new(), next: Vec::new(), previous: removable.then(Vec::new) }
    }

    /// Makes room for keys and rows below these bounds.
    pub(crate) fn grow(&mut self, keys: usize, rows: usize) {
        if self.heads.len() < keys {
            self.heads.resize(keys, EMPTY);
        }
        if self.next.len() < rows {
            self.next.resize(rows, NO_ROW);
            if let Some(previous) = &mut self.previous {
                previous.resize(rows, NO_ROW);
            }
        }
    }

    /// Adds a row; returns how many the key has now.
    #[inline]
    pub(crate) fn add(&mut self, key: u32, row: u32) -> u32 {
        let head = &mut self.heads[key as usize];
        self.next[row as usize] = head.first;
        if let Some(previous) = &mut self.previous {
            previous[row as usize] = NO_ROW;
            if head.first != NO_ROW {
                previous[head.first as usize] = row;
            }
        }
        head.first = row;
        head.count += 1;
        head.count
    }

    /// Removes a row; returns how many the key has left.
    pub(crate) fn remove(&mut self, key: u32, row: u32) -> u32 {
        let head = &mut self.heads[key as usize];
        let next = self.next[row as usize];
        if let Some(links) = &mut self.previous {
            let previous = links[row as usize];
            match previous {
                NO_ROW => head.first = next,
                previous => self.next[previous as usize] = next,
            }
            if next != NO_ROW {
                links[next as usize] = previous;
            }
        }
        head.count -= 1;
        head.count
    }

    /// The latest row of a key.
    #[inline]
    pub(crate) fn first(&self, key: u32) -> u32 {
        self.heads.get(key as usize).map_or(NO_ROW, |h| h.first)
    }

    /// The row of the same key that was added before `row`.
    #[inline]
    pub(crate) fn after(&self, row: u32) -> u32 {
        self.next[row as usize]
    }

    /// How many rows a key has.
    #[inline]
    pub(crate) fn count(&self, key: u32) -> u32 {
        self.heads.get(key as usize).map_or(0, |h| h.count)
    }
}

/// Removes those of `candidates` that have no row left on either side; a key may be named more than once.
pub(crate) fn remove_unused(keys: &mut KeyIndex, sides: [&KeyLists; 2], mut candidates: Vec<Slot>) {
    candidates.sort_unstable();
    candidates.dedup();
    candidates.retain(|key| sides.iter().all(|lists| lists.count(*key) == 0));
    keys.remove(&candidates);
}
