//! Windows over event time.
//!
//! 1. [`slicing`] is the arithmetic: which slice a time is in, which windows are made of which slices.
//! 2. [`aggregate`] keeps accumulators by slice and key; overlapping windows share slices and are put together when they
//!    close. Windows that rows carry with them are kept the same way.
//! 3. [`sessions`] finds the session of a row and merges sessions; [`session_aggregate`] and [`session_table`] are the
//!    operators over it.
//! 4. [`table`] gives each row its windows, without an aggregate.
//!
//! A window closes when the watermark reaches its last millisecond; what comes for it later is late.

mod aggregate;
mod close;
mod open_windows;
mod placement;
mod properties;
mod session_aggregate;
mod session_table;
mod sessions;
mod slicing;
mod table;

use rheos_core::registry::Registry;
use serde_json::Value;

pub(crate) use self::placement::Placement;
pub(crate) use self::slicing::Slicing;
use crate::read_spec;
use crate::spec::{WindowAggregateSpec, WindowSpec, WindowTableSpec, Windowing};

/// Adds `window-aggregate` and `window-table`.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("window-aggregate", |spec: &Value| {
        let spec: WindowAggregateSpec = read_spec(spec)?;
        Ok(match spec.windowing {
            Windowing::Time { column, window: WindowSpec::Session { gap_ms } } => {
                Box::new(session_aggregate::SessionAggregate::new(spec, column, gap_ms)?)
            }
            _ => Box::new(aggregate::WindowAggregate::new(spec)?),
        })
    });
    registry.add_operator("window-table", |spec: &Value| {
        let spec: WindowTableSpec = read_spec(spec)?;
        Ok(match spec.window {
            WindowSpec::Session { gap_ms } => Box::new(session_table::SessionTable::new(spec, gap_ms)?),
            _ => Box::new(table::WindowTable::new(spec)?),
        })
    });
}

#[cfg(test)]
mod tests;
