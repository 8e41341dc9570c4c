//! Mathematical functions.

use crate::function::Function;

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[];
