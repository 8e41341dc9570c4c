//! Torture: a bounded job run once without failure, and again while it is killed, its writes fail and replies are lost, over and
//! over; then the outputs are compared.
//!
//! 1. [`torture`] runs a job as child processes, its lives ([`Life`]), whose commands the caller makes: `rheos run`, or a program
//!    of one's own. A [`Witness`] in each of them says on standard error what happens.
//! 2. [`Output`] reads what became visible.
//! 3. [`compare()`] says which rows are lost, duplicated or changed, and [`Report`] whether that is what was promised.

mod compare;
mod life;
mod lives;
mod output;
mod report;
#[cfg(test)]
mod tests;
mod witness;

pub use compare::{Comparison, Differences, Repetition, Tally, compare};
pub use life::Life;
pub use lives::{Options, torture};
pub use output::{Change, Output, Rows};
pub use report::Report;
pub use witness::Witness;

/// Settings of a tortured job, key and value: it starts again at once, as often as it must, and whenever a snapshot fails.
pub const RESTARTS: [(&str, &str); 4] = [
    ("restart-strategy.type", "fixed-delay"),
    ("restart-strategy.fixed-delay.attempts", "1000000"),
    ("restart-strategy.fixed-delay.delay", "20 ms"),
    ("execution.checkpointing.tolerable-failed-checkpoints", "0"),
];
