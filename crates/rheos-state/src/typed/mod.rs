//! Keyed state of typed operators: keys and values of a program's own Rust types.
//!
//! A state has a [`StateDescriptor`] (its name, and how long its entries live: [`Ttl`]), belongs to one subtask, and is asked
//! with a key and the hash by which rows with that key were routed:
//!
//! | state | for each key |
//! |---|---|
//! | [`ValueState`] | a value |
//! | [`ListState`] | a list, cheap to append to |
//! | [`MapState`] | a map, whose entries are read, written and stored one by one |
//! | [`ReducingState`] | a value that others are folded into |
//! | [`AggregatingState`] | an accumulator with inputs and a result of other types |
//! | [`Timers`] | times at which to be called, of event time or processing time |
//!
//! [`OperatorList`] is state that belongs to no key. A namespace such as a window goes into the key, whose hash stays that of
//! the key without it. Every snapshot holds what changed since the one before, where that is asked for.
//!
//! Keys and values are stored in `postcard`'s format. It does not describe itself: a type must be read as it was written, so
//! `#[serde(flatten)]`, `#[serde(untagged)]` and `#[serde(skip_serializing_if)]` do not work in it. A collection
//! without an order of its own (a `HashMap`) is not the same bytes every time.
//!
//! ```
//! use rheos_core::operator::SubtaskInfo;
//! use rheos_core::routing::KeyGroups;
//! use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
//! use rheos_state::typed::{StateDescriptor, ValueState};
//!
//! # fn main() -> rheos_core::Result<()> {
//! # let subtask = SubtaskInfo {
//! #     job: String::new(), uid: "counts".into(), name: "Counts".into(), index: 0, parallelism: 1,
//! #     key_groups: KeyGroups::all(128), key_group_count: 128,
//! # };
//! # let hash = |key: &str| key.len() as u64;
//! let descriptor = StateDescriptor::new("counts");
//! let mut counts: ValueState<String, u64> = ValueState::open(&descriptor, &subtask, None)?;
//! let key = "rheos".to_string();
//! *counts.get_or_default(hash(&key), &key)? += 1;
//!
//! let mut snapshot = OperatorSnapshot::new();
//! counts.snapshot(SnapshotMode::Full, &mut snapshot)?;
//! let mut again: ValueState<String, u64> = ValueState::open(&descriptor, &subtask, Some(&snapshot))?;
//! assert_eq!(again.get(hash(&key), &key)?, Some(&1));
//! # Ok(())
//! # }
//! ```

mod aggregating;
mod codec;
mod columns;
mod descriptor;
mod expiry;
mod hash_index;
mod header;
mod list;
mod map;
mod nested;
mod operator_list;
mod reducing;
mod rows;
mod scope;
mod slab;
mod stored;
#[cfg(test)]
mod tests;
mod timers;
mod ttl;
mod value;

pub use aggregating::{Aggregate, AggregatingState};
pub use descriptor::{Expiring, StateDescriptor};
pub use list::ListState;
pub use map::MapState;
pub use operator_list::OperatorList;
pub use reducing::ReducingState;
pub use scope::{StateKey, StateValue};
pub use timers::{Timer, Timers};
pub use ttl::{TimeDomain, Ttl, TtlUpdate, TtlVisibility};
pub use value::ValueState;
