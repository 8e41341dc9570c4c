//! The aggregate functions: typed columns of accumulators, one entry a group, updated for a whole batch.
//!
//! 1. `AggregateSet::new` makes the accumulators of an operator's calls. Calls that need the same state share it: AVG and
//!    SUM of a column, MIN and MAX where rows are taken back, all DISTINCT calls of the same arguments.
//! 2. `AggregateSet::update` takes in a batch whose rows were given slots ([`rheos_state`]): filters become lists of rows,
//!    then each [`Accumulator`] runs over its argument column.
//! 3. `AggregateSet::evaluate` gives the results of any slots as columns.
//!
//! Groups can be merged (panes into windows, sessions), cleared, saved and loaded by slot. Where the input takes rows back,
//! functions that cannot undo keep all their values ([`ordered`], [`bag`], [`multiset`]).
//!
//! A new function is a name in [`crate::spec::aggregate`], a variant in [`function`], and an accumulator or a way to
//! finish an existing one.

mod accumulator;
mod bag;
mod collect;
mod count;
mod distinct;
mod ends;
mod extreme;
mod function;
mod grouped;
mod json;
#[cfg(test)]
pub(crate) mod model;
mod moments;
mod multiset;
mod ordered;
mod percentile;
mod set;
mod sum;

pub(crate) use accumulator::{Accumulator, Rows};
pub(crate) use bag::Bag;
pub(crate) use grouped::Grouped;
pub(crate) use set::AggregateSet;
