//! Table programs: sources with rows before and after a savepoint, SQL, and what the sinks must have got by then.
//!
//! 1. [`program`] is a program as its JSON says it; Flink's own have the same form.
//! 2. [`feed`] is the connector that feeds a table's rows (made of JSON in [`rows`]), [`taken`] the one that keeps what a sink gets.
//! 3. [`run`] runs a program up to a savepoint and on from there.
//! 4. [`table`] folds changes to a table, and [`line`] writes values as Flink's tests print them.
//! 5. [`verdict`] says whether a program agrees.

pub(crate) mod feed;
pub(crate) mod line;
pub(crate) mod program;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod table;
pub(crate) mod taken;
pub(crate) mod verdict;
