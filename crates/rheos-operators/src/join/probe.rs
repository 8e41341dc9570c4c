//! Finds the pairs of a batch with the rows of the other side, a bounded number at a time.

use rheos_state::NO_SLOT;

use super::lists::KeyLists;
use crate::row_store::NO_ROW;

/// How many pairs and rows a call may look at when next to nothing comes of them, before it lets others run.
pub(crate) const MAX_STEPS: usize = 64 * 1024;

/// How far a batch has been paired.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    /// The row that is being paired; those before it are complete.
    pub(crate) row: usize,
    /// How many pairs and rows were looked at so far.
    pub(crate) steps: usize,
    /// Where its list goes on; `None` before its start.
    next: Option<u32>,
}

/// Row numbers of the batch, ascending, with slots of the other side.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub(crate) own: Vec<u32>,
    pub(crate) other: Vec<u32>,
}

impl Pairs {
    /// Keeps the pairs for which `holds` is true.
    pub(crate) fn retain(&mut self, holds: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for i in 0..self.own.len() {
            if holds(i) {
                self.own[kept] = self.own[i];
                self.other[kept] = self.other[i];
                kept += 1;
            }
        }
        self.own.truncate(kept);
        self.other.truncate(kept);
    }
}

/// Adds pairs until there are `room` of them or the batch is at its end. `key_slots` has the key of each row;
/// `skip(row)` tells which rows are passed over. A row that has no pairs counts as `alone` pairs, for it may be put out too.
pub(crate) fn collect(
    cursor: &mut Cursor,
    key_slots: &[u32],
    lists: &KeyLists,
    room: usize,
    alone: usize,
    skip: impl Fn(usize) -> bool,
) -> Pairs {
    let mut pairs = Pairs::default();
    let mut without = 0;
    while cursor.row < key_slots.len() && pairs.own.len() + without < room {
        let row = cursor.row;
        let mut at = match cursor.next {
            Some(next) => next,
            None if key_slots[row] == NO_SLOT || skip(row) => NO_ROW,
            None => lists.first(key_slots[row]),
        };
        if at == NO_ROW {
            without += alone;
        }
        while at != NO_ROW && pairs.own.len() + without < room {
            pairs.own.push(row as u32);
            pairs.other.push(at);
            at = lists.after(at);
        }
        if at == NO_ROW {
            (cursor.row, cursor.next) = (row + 1, None);
            cursor.steps += 1;
        } else {
            cursor.next = Some(at);
        }
    }
    cursor.steps += pairs.own.len();
    pairs
}
