//! The one place where everything that can be chosen by name is put together.

use rheos_core::registry::Registry;

/// All connectors, formats and operators of this binary.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    rheos_connectors::register(&mut registry);
    rheos_operators::register(&mut registry);
    registry
}
