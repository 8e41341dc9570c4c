//! Which slots have changed since the last snapshot.

use crate::slots::Slot;

/// A set of slots, a bit for each. It records nothing until the first snapshot has asked: a job without snapshots does not pay for it.
#[derive(Debug, Default)]
pub struct ChangedSlots {
    is_recording: bool,
    bits: Vec<u64>,
}

impl ChangedSlots {
    /// These slots have changed; slots may come several times.
    #[inline]
    pub fn add(&mut self, slots: &[Slot]) {
        if self.is_recording {
            slots.iter().for_each(|slot| self.record(*slot));
        }
    }

    /// One slot has changed.
    #[inline]
    pub fn add_one(&mut self, slot: Slot) {
        if self.is_recording {
            self.record(slot);
        }
    }

    #[inline]
    fn record(&mut self, slot: Slot) {
        let (word, bit) = (slot as usize / 64, 1u64 << (slot % 64));
        if word >= self.bits.len() {
            self.bits.resize((word + 1).next_power_of_two(), 0);
        }
        self.bits[word] |= bit;
    }

    /// What has changed since the last call, ascending, or `None` where that was not recorded. Recording goes on from here.
    pub fn take(&mut self) -> Option<Vec<Slot>> {
        let recorded = std::mem::replace(&mut self.is_recording, true);
        let mut slots = Vec::new();
        for (i, word) in self.bits.iter_mut().enumerate() {
            let mut left = std::mem::take(word);
            while left != 0 {
                slots.push(i as Slot * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        recorded.then_some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_once_and_only_from_the_first_question_on() {
        let mut changed = ChangedSlots::default();
        changed.add(&[1, 2]);
        assert_eq!(changed.take(), None);
        changed.add(&[700, 3, 3]);
        changed.add_one(700);
        assert_eq!(changed.take(), Some(vec![3, 700]));
        assert_eq!(changed.take(), Some(vec![]));
    }
}
