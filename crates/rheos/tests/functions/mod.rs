//! Cases of functions: an expression of SQL over a row of fields, and the value and type that Apache Flink gives for it.
//!
//! 1. [`record`] is the cases as their JSON says them, [`mended`] what the recording lost of Flink's own source.
//! 2. [`types`] reads types as Java writes them.
//! 3. [`values`] makes columns of recorded values, and compares what comes out with them.
//! 4. [`run`] binds an expression with the planner and evaluates it.
//! 5. [`verdict`] says how a case went, [`report`] counts.

pub(crate) mod mended;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod types;
pub(crate) mod values;
pub(crate) mod verdict;
