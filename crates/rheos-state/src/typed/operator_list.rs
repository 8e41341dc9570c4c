//! State that belongs to no key: a list, shared out anew when the parallelism changes.

use rheos_core::snapshot::{ListKind, OperatorSnapshot};
use rheos_core::{Error, Result};

use super::codec::{ENCODING, decode, encode};
use super::scope::StateValue;

/// The first bytes of an item: what it is, and how it is encoded; then its kind.
const MAGIC: [u8; 5] = [b'R', b'H', b'O', b'L', ENCODING];

/// The items of one instance, which it changes as it likes. What the instances of a restored operator get is said by the kind:
/// each item to one of them, all items to all, or one copy of what was the same everywhere.
///
/// ```
/// use rheos_core::snapshot::{ListKind, OperatorSnapshot};
/// use rheos_state::typed::OperatorList;
///
/// # fn main() -> rheos_core::Result<()> {
/// let mut positions: OperatorList<(String, u64)> = OperatorList::open("positions", ListKind::Split, None)?;
/// positions.items.push(("part-0".into(), 17));
/// let mut snapshot = OperatorSnapshot::new();
/// positions.snapshot(&mut snapshot)?;
/// let again: OperatorList<(String, u64)> = OperatorList::open("positions", ListKind::Split, Some(&snapshot))?;
/// assert_eq!(again.items, positions.items);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OperatorList<T> {
    name: String,
    kind: ListKind,
    /// The items.
    pub items: Vec<T>,
}

impl<T: StateValue> OperatorList<T> {
    /// The list `name`, with this instance's share of what a snapshot holds of it.
    pub fn open(name: &str, kind: ListKind, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let stored = restored.map_or(&[][..], |from| from.list(name));
        let items = stored.iter().map(|item| from_item(kind, item)).collect::<Result<_>>();
        Ok(OperatorList { name: name.to_string(), kind, items: items.map_err(|e| e.context(format!("state '{name}'")))? })
    }

    /// Puts the items into an operator's snapshot. They are given whole every time.
    pub fn snapshot(&self, into: &mut OperatorSnapshot) -> Result<()> {
        let mut encoded = Vec::new();
        for item in &self.items {
            encode(item, &mut encoded).map_err(|e| e.context(format!("state '{}'", self.name)))?;
            into.put_list(&self.name, self.kind, [MAGIC.as_slice(), &[number(self.kind)], &encoded].concat());
        }
        Ok(())
    }
}

/// These numbers are in snapshots.
fn number(kind: ListKind) -> u8 {
    match kind {
        ListKind::Split => 0,
        ListKind::Union => 1,
        ListKind::Broadcast => 2,
    }
}

fn from_item<T: StateValue>(kind: ListKind, item: &[u8]) -> Result<T> {
    let kinds = [ListKind::Split, ListKind::Union, ListKind::Broadcast];
    match item.split_at_checked(MAGIC.len() + 1) {
        Some(([magic @ .., stored], rest)) if *magic == MAGIC => match kinds.into_iter().find(|kind| number(*kind) == *stored) {
            Some(stored) if stored != kind => {
                Err(Error::config(format!("it was written as a list of kind {stored:?}, and cannot become one of kind {kind:?}")))
            }
            _ => decode(rest),
        },
        _ => Err(Error::config("it was not written as an operator's list in an encoding that this Rheos reads")),
    }
}
