//! Typed expressions over columns, with Flink SQL's semantics.
//!
//! 1. A front end builds an [`Expr`] by [`build`]: a call is resolved to a function, its arguments are cast, its type is
//!    derived. Nothing is resolved later, so an expression that exists can be evaluated.
//! 2. Expressions are data (serde): they are part of the job graph and are stored with snapshots.
//! 3. [`program::Program`] compiles several expressions at once, so that what they share is computed once, and evaluates
//!    them on whole batches.
//!
//! `functions/` holds the library, a file for each family.

pub mod build;
pub mod expr;
pub mod function;
pub mod functions;
pub mod program;

pub use expr::{EvalConfig, Expr, Literal};
pub use functions::cast::is_time_zone;
