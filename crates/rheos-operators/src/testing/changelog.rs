//! A random changelog over a table.

use rheos_core::changelog::RowKind;
use rheos_core::env::{Random, SplitMix64};

use super::table::{Change, Row, Value};

/// Random choices that follow from a seed.
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(SplitMix64::new(seed))
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    /// A BIGINT below `bound`, one in eight times NULL.
    pub(crate) fn int(&mut self, bound: u64) -> Value {
        match self.below(8) {
            0 => Value::Null,
            _ => Value::Int(self.below(bound) as i64),
        }
    }

    /// A STRING of which there are `bound`, one in eight times NULL.
    pub(crate) fn text(&mut self, bound: u64) -> Value {
        match self.below(8) {
            0 => Value::Null,
            _ => Value::Text(format!("text {}", self.below(bound))),
        }
    }
}

/// Changes that are legal one after the other: only rows that are there are taken back. Values come from a small domain, so
/// that equal rows occur.
pub(crate) struct Changelog {
    pub(crate) live: Vec<Row>,
    make: fn(&mut Dice) -> Row,
    retracts: bool,
}

impl Changelog {
    pub(crate) fn new(make: fn(&mut Dice) -> Row, retracts: bool) -> Self {
        Changelog { live: Vec::new(), make, retracts }
    }

    /// At least `count` changes. An update changes one column, or all.
    pub(crate) fn next(&mut self, dice: &mut Dice, count: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        while (changes.len() as u64) < count {
            let choice = if self.retracts && !self.live.is_empty() { dice.below(10) } else { 0 };
            if choice < 6 {
                let row = (self.make)(dice);
                self.live.push(row.clone());
                changes.push((RowKind::Insert, row));
                continue;
            }
            let at = dice.below(self.live.len() as u64) as usize;
            let old = self.live.swap_remove(at);
            if choice < 8 {
                changes.push((RowKind::Delete, old));
                continue;
            }
            let mut new = (self.make)(dice);
            if dice.below(4) > 0 {
                let column = dice.below(old.len() as u64) as usize;
                let changed = std::mem::replace(&mut new, old.clone());
                new[column] = changed[column].clone();
            }
            self.live.push(new.clone());
            changes.push((RowKind::UpdateBefore, old));
            changes.push((RowKind::UpdateAfter, new));
        }
        changes
    }
}
