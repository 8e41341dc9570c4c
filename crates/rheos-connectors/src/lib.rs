//! Connectors and formats: how tables are read from, and written to, the world outside.
//!
//! 1. [`register`] puts every connector and format into the registry, with the options that the planner checks.
//! 2. A connector makes splits and readers ([`rheos_core::source`]) or writers and a committer ([`rheos_core::sink`]).
//! 3. What it carries is bytes; a [`format::Decoder`] turns them into batches and a [`format::Encoder`] back. Files may also be of
//!    a format that knows columns by itself: [`format::parquet`].
//!
//! This crate knows nothing of SQL, operators or tasks: a [`rheos_core::connector::TableSpec`] is all it sees of a job.

pub mod blackhole;
pub mod datagen;
pub mod filesystem;
pub mod format;
pub mod nexmark;
pub mod print;
pub mod values;

mod beginnings;
#[cfg(test)]
mod fixture;

use rheos_core::registry::Registry;

/// Adds all connectors and formats.
pub fn register(registry: &mut Registry) {
    format::register(registry);
    registry.add_connector(filesystem::connector());
    registry.add_connector(print::connector());
    registry.add_connector(blackhole::connector());
    registry.add_connector(values::connector());
    registry.add_connector(datagen::connector());
    registry.add_connector(nexmark::connector());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_knows_every_connector_and_format() {
        let mut registry = Registry::new();
        register(&mut registry);
        let connectors: Vec<&str> = registry.connectors().map(|c| c.name).collect();
        assert_eq!(connectors, ["blackhole", "datagen", "filesystem", "nexmark", "print", "values"]);
        for format in registry.formats() {
            assert!(format.options.iter().all(|o| o.key.strip_prefix(format.name).is_some_and(|k| k.starts_with('.'))));
        }
        assert_eq!(registry.formats().count(), 4);
    }
}
