//! The operators of Rheos, one concept a file.
//!
//! `spec/` describes each to the planner as data; the planner sees nothing else of this crate. [`register`] makes every
//! kind known to a registry. A file of an operator has, in this order: what it does and what state it keeps, its
//! structure, `new`, the [`rheos_core::operator::Operator`] implementation, the rest.
//!
//! It knows nothing of exchanges, of backends, of SQL text.

mod aggregate;
mod calc;
mod changelog_normalize;
mod constraint_enforcer;
mod difference;
mod expand;
mod group_aggregate;
mod idle_state;
mod interval_join;
mod join;
mod limit;
mod local_aggregate;
mod lookup_join;
mod over;
mod pattern;
mod processing_time;
mod rank;
mod relation_to_stream;
mod row_store;
mod row_time;
pub mod spec;
mod stored_changes;
mod temporal_join;
#[cfg(test)]
mod testing;
mod unnest;
mod upsert_materialize;
mod values;
mod watermark;
mod window;
mod window_buffer;
mod window_join;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use rheos_core::error::{Error, Result};
use rheos_core::registry::Registry;
use serde::Deserialize;
use serde_json::Value;

/// Adds every operator and watermark generator of this crate under its kind.
pub fn register(registry: &mut Registry) {
    calc::register(registry);
    changelog_normalize::register(registry);
    constraint_enforcer::register(registry);
    expand::register(registry);
    interval_join::register(registry);
    join::register(registry);
    group_aggregate::register(registry);
    limit::register(registry);
    local_aggregate::register(registry);
    lookup_join::register(registry);
    over::register(registry);
    pattern::register(registry);
    processing_time::register(registry);
    rank::register(registry);
    relation_to_stream::register(registry);
    temporal_join::register(registry);
    unnest::register(registry);
    upsert_materialize::register(registry);
    values::register(registry);
    watermark::register(registry);
    window::register(registry);
    window_join::register(registry);
}

/// What the planner said, as the operator's own type.
pub(crate) fn read_spec<'a, T: Deserialize<'a>>(spec: &'a Value) -> Result<T> {
    Ok(T::deserialize(spec)?)
}

/// Columns as rows, also where there are no columns.
pub(crate) fn records(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// For which rows a condition, the first of what a program gave, is true; NULL counts as false.
pub(crate) fn holds(values: &[ArrayRef]) -> Result<BooleanBuffer> {
    let values = values.first().and_then(|v| v.as_boolean_opt()).ok_or_else(|| Error::bug("a condition that is no BOOLEAN"))?;
    Ok(match values.nulls() {
        Some(nulls) => values.values() & nulls.inner(),
        None => values.values().clone(),
    })
}
