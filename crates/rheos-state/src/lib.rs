//! Columnar keyed state of one subtask, in memory.
//!
//! An operator of the SQL layer updates a whole batch at once:
//!
//! 1. [`KeyIndex`] turns the key columns of a batch into slots, small dense numbers; a new key takes a new slot or one that
//!    was given back.
//! 2. The operator keeps its values in typed columns indexed by slot ([`SlotColumns`]) and reads and writes them there.
//! 3. [`KeyedTable`] holds both together: it grows the columns with the keys, forgets keys, and gives a snapshot: everything,
//!    or what changed ([`ChangedSlots`]) since the one before.
//!
//! Values without a type known at compile time are kept as bytes by [`RowCodec`]. Operators with state of another shape
//! make their segments with [`snapshot`]. Programs keep values of their own types in [`typed`] state.
//!
//! Nothing here depends on all keys being in memory: operators ask for the slots of one batch of keys, touch only those
//! until the next batch, and columns can save and load any set of slots. A backend that is larger than memory fits behind
//! the same calls.

mod bytes_table;
mod changed_slots;
mod fixed;
mod key_index;
mod keyed_table;
mod row_codec;
mod slots;
pub mod snapshot;
pub mod typed;
mod words_table;

pub use changed_slots::ChangedSlots;
pub use key_index::KeyIndex;
pub use keyed_table::{KeyedTable, SlotColumns};
pub use row_codec::{EncodedRows, RowCodec};
pub use slots::{NO_SLOT, Slot, Slots};
