//! Flink SQL text to job graph.
//!
//! The way of a query:
//!
//! 1. [`parser`]: text to [`parser::Statement`]s; expressions and queries by sqlparser under our dialect, DDL by us.
//! 2. [`catalog`]: what CREATE TABLE and CREATE VIEW declared.
//! 3. [`binder`]: names resolved, types derived, a [`plan::Plan`] built. Every error points at line and column.
//! 4. [`optimizer`]: filters down, windows fused with their aggregates, columns and nested fields pruned.
//! 5. [`lower`]: operators chosen from changelog modes and upsert keys, equal sub-plans made one, exchanges placed: a
//!    [`rheos_graph::JobGraph`].
//!
//! It sees connectors only as `ConnectorInfo` in the registry, operators only as their `spec` modules.

pub mod binder;
pub mod catalog;
pub mod error;
pub mod explain;
pub mod explain_state;
pub mod functions;
pub mod like;
pub mod lower;
pub mod optimizer;
pub mod parser;
pub mod plan;
mod suggest;
#[cfg(test)]
mod tests;

pub use error::{SqlError, SqlResult};
