//! Parquet: columns in files that carry their own types, with statistics that tell what need not be read.
//!
//! A reader opens a file (`FileReader`), finds the leaves that the projection and the predicates need (`leaves`), leaves out the
//! row groups and pages whose statistics exclude a match (`prune`), and makes what it reads fit the declared types (`fit`).

mod fit;
mod leaves;
mod options;
mod prune;
mod ranges;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use options::Options;

pub(crate) use options::{check_types, info};
pub(crate) use read::{FileReader, rows_of};
pub(crate) use write::FileWriter;
