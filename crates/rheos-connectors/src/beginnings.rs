//! When streams that are made up in real time began, so that a job that goes on without its state knows what it has missed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rheos_core::connector::TableSpec;
use rheos_core::time::TimestampMs;

/// When the streams of tables were first read, as far as this process has read them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beginnings(Arc<Mutex<BTreeMap<String, TimestampMs>>>);

impl Beginnings {
    /// What is to be told when the stream of this table begins.
    pub(crate) fn of_table(&self, table: &TableSpec) -> impl Fn(TimestampMs) + Send + use<> {
        let (beginnings, key) = (Arc::clone(&self.0), key(table));
        move |at_ms| {
            beginnings.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), at_ms);
        }
    }

    /// When a stream began, if it has been read.
    pub(crate) fn of(&self, table: &TableSpec) -> Option<TimestampMs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key(table)).copied()
    }
}

fn key(table: &TableSpec) -> String {
    format!("{} {:?}", table.name, table.options)
}
