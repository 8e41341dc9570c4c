//! Functions of dates, times and timestamps.

use crate::function::Function;

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[];
