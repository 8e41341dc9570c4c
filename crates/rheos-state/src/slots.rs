//! Gives out slots, the dense numbers under which state is kept, and takes them back.

/// The number of a row of state.
pub type Slot = u32;

/// Stands for "no slot".
pub const NO_SLOT: Slot = Slot::MAX;

/// Which slots are in use. Those given back are given out again first, so that the numbers stay dense.
#[derive(Debug, Default)]
pub struct Slots {
    used: Vec<bool>,
    free: Vec<Slot>,
}

impl Slots {
    /// Takes a slot.
    #[inline]
    pub fn take(&mut self) -> Slot {
        match self.free.pop() {
            Some(slot) => {
                self.used[slot as usize] = true;
                slot
            }
            None => {
                self.used.push(true);
                (self.used.len() - 1) as Slot
            }
        }
    }

    /// Gives a slot back.
    pub fn give_back(&mut self, slot: Slot) {
        debug_assert!(self.used[slot as usize], "slot {slot} given back twice");
        self.used[slot as usize] = false;
        self.free.push(slot);
    }

    /// Whether a slot is in use.
    pub fn is_used(&self, slot: Slot) -> bool {
        self.used.get(slot as usize).is_some_and(|used| *used)
    }

    /// How many slots are in use.
    pub fn len(&self) -> usize {
        self.used.len() - self.free.len()
    }

    /// Whether none is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All slots ever given out are below this.
    pub fn bound(&self) -> usize {
        self.used.len()
    }

    /// The slots in use, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        self.used.iter().enumerate().filter(|(_, used)| **used).map(|(slot, _)| slot as Slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_given_back_are_used_again_first() {
        let mut slots = Slots::default();
        assert_eq!([slots.take(), slots.take(), slots.take()], [0, 1, 2]);
        slots.give_back(1);
        assert_eq!(slots.iter().collect::<Vec<_>>(), [0, 2]);
        assert_eq!([slots.take(), slots.take()], [1, 3]);
        assert_eq!((slots.len(), slots.bound()), (4, 4));
    }
}
