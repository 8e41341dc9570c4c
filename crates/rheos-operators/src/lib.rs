//! The operators of Rheos, one concept a file.
//!
//! `spec/` describes each to the planner as data; the planner sees nothing else of this crate. [`register`] makes every
//! kind known to a registry. A file of an operator has, in this order: what it does and what state it keeps, its
//! structure, `new`, the [`rheos_core::operator::Operator`] implementation, the rest.
//!
//! It knows nothing of exchanges, of backends, of SQL text.

pub mod spec;
