//! From a hash to slots.

use hashbrown::HashTable;

use crate::slots::Slot;

/// Slots by the hash of what is kept there; who asks tells whether a slot is the one that is meant. What it costs beside the
/// entries is some 11 bytes each.
#[derive(Debug, Default)]
pub(super) struct HashIndex {
    table: HashTable<Link>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    tag: u32,
    slot: Slot,
}

impl Link {
    /// The hash by which the table places a link: it looks at the highest bits and at the lowest.
    #[inline]
    fn place(tag: u32) -> u64 {
        u64::from(tag) << 32 | u64::from(tag)
    }
}

/// 32 bits of a hash, mixed: the hashes of one subtask's keys are alike in their high bits, since those choose the key group.
#[inline]
fn tag(hash: u64) -> u32 {
    let product = u128::from(hash ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    (product as u64 ^ (product >> 64) as u64) as u32
}

impl HashIndex {
    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(Slot) -> bool) -> Option<Slot> {
        let tag = tag(hash);
        self.table.find(Link::place(tag), |link| link.tag == tag && is(link.slot)).map(|link| link.slot)
    }

    #[inline]
    pub(super) fn insert(&mut self, hash: u64, slot: Slot) {
        let tag = tag(hash);
        self.table.insert_unique(Link::place(tag), Link { tag, slot }, |link| Link::place(link.tag));
    }

    pub(super) fn remove(&mut self, hash: u64, slot: Slot) {
        if let Ok(link) = self.table.find_entry(Link::place(tag(hash)), |link| link.slot == slot) {
            link.remove();
        }
    }
}
