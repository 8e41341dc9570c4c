//! A second opinion on SQL over changes: random queries over random small tables, whose changes Rheos is given one after the
//! other, and whose final rows DataFusion is given at once. Both must come to the same rows.
//!
//! A seed makes a [`case::Case`] ([`table`], [`generate`]); [`difference::compare`] asks both ([`answer`]); what differs is made as
//! small as it can be ([`minimise()`]) and written to a file ([`file`](mod@file)), which a test runs again for ever after.

pub mod answer;
pub mod case;
pub mod dice;
pub mod difference;
mod feed;
pub mod file;
pub mod generate;
pub mod minimise;
pub mod query;
pub mod run;
pub mod table;
pub mod value;

pub use minimise::minimise;
