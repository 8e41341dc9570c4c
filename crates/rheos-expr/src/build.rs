//! Builds typed expressions.

use rheos_core::types::TypeKind;

/// Whether a value of one kind may stand where the other is asked for.
pub fn is_implicitly_castable(from: &TypeKind, to: &TypeKind) -> bool {
    from == to
}
