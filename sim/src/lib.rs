//! A whole cluster in one thread: coordinators, workers, storage and sinks that fail in every way, by seed.
//!
//! [`run`] plays one schedule: a small random job ([`job`]) runs on simulated workers, which
//! align barriers with the engine's own alignment, under masters that are the engine's own state machines. Messages are lost,
//! doubled and reordered, storage fails, answers late or not at all, workers and coordinators crash, sleep, and are cut off and
//! go on later. At each step the [`invariant`]s are checked. The same seed gives the same run.

mod deployment;
mod dice;
pub mod invariant;
pub mod job;
mod outside;
pub mod plan;
mod storage;
mod subtask;
mod world;

pub use invariant::{Invariant, Violation};
pub use plan::{Mutation, Plan};
pub use world::{Report, run};
