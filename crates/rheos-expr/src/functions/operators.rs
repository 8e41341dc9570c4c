//! Operators that build and take apart values: concatenation, constructors, element and field access.

use crate::function::Function;

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[];
