//! For tests: drives one operator by hand, with a clock that stands still, shows changes as text, and stores in memory.
//!
//! ```no_run
//! use rheos_core::testing::{OperatorHarness, changes};
//! # fn operator() -> Box<dyn rheos_core::operator::Operator> { unimplemented!() }
//! # fn batch() -> rheos_core::Batch { unimplemented!() }
//! let mut harness = OperatorHarness::open(operator()).unwrap();
//! let out = harness.push(batch()).unwrap();
//! assert_eq!(changes(&out), ["+I a|1", "-U b|1", "+U b|2"]);
//! let snapshot = harness.snapshot().unwrap();
//! // The second of two instances, with its share of what one instance kept:
//! let mut second = OperatorHarness::open_at(operator(), 1, 2, &[snapshot]).unwrap();
//! assert_eq!(changes(&second.watermark(10_000).unwrap()), ["+I a|1"]);
//! ```

mod changes;
mod harness;
mod memory;

pub use changes::{changes, sorted_changes};
pub use harness::OperatorHarness;
pub use memory::MemoryStorage;
