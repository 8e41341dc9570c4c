//! Runs a job: carries out what its [`rheos_checkpoint::coordinator::JobMaster`] decides.
//!
//! The master is a state machine without clock, thread or socket. Here is what it lacks: [`run`] gives it the time and what
//! workers and storage say, and does what it wants: requests to storage, commands to [`Workers`], notes for people
//! ([`Observer`]).
//!
//! This crate knows no operator, no SQL, and no worker but by the trait.

mod driver;
mod storage;
mod workers;

pub use driver::{Request, run};
pub use rheos_checkpoint::coordinator::Note;
pub use workers::{EventSender, Observer, Workers};
