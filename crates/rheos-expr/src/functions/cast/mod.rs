//! Conversions between types.

use arrow::array::ArrayRef;

use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use crate::expr::EvalConfig;

/// How a column of one type becomes one of another.
pub(crate) struct Conversion {
    /// Converts a column, or the single value of a constant.
    pub(crate) apply: Apply,
    /// Whether it cannot fail and costs next to nothing.
    pub(crate) cheap: bool,
}

/// Converts an array.
pub(crate) type Apply = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

/// Whether values of one kind can be converted to another; else why not.
pub(crate) fn check(_from: &TypeKind, _to: &TypeKind) -> Result<(), String> {
    Ok(())
}

/// The conversion from one type to another; `or_null` gives NULL for values that cannot be converted.
pub(crate) fn conversion(from: &LogicalType, to: &LogicalType, _or_null: bool, _config: &EvalConfig) -> Result<Conversion> {
    Err(Error::bug(format!("no conversion from {from} to {to} yet")))
}
