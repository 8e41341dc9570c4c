//! `deduplicate`: one row of each key, the first or the last by row time.

use rheos_core::operator::Operator;
use rheos_core::registry::Registry;

use super::keep_first::KeepFirst;
use super::keep_last::KeepLast;
use crate::read_spec;
use crate::spec::DeduplicateSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("deduplicate", |spec| {
        let spec: DeduplicateSpec = read_spec(spec)?;
        Ok(match spec.keep_last {
            true => Box::new(KeepLast::new(&spec)?) as Box<dyn Operator>,
            false => Box::new(KeepFirst::new(&spec)?),
        })
    });
}
