//! A sink that takes everything and keeps nothing, to measure what comes before it.

use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::{Batch, Result};

/// The connector.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "blackhole",
        doc: "Takes all rows and keeps none, to measure the speed of a query.",
        options: vec![],
        takes_format: false,
        source: None,
        sink: Some(Arc::new(Blackhole)),
    }
}

#[derive(Debug)]
struct Blackhole;

impl SinkFactory for Blackhole {
    fn describe(&self, _table: &TableSpec) -> Result<SinkDescription> {
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, _table: &TableSpec, _context: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Blackhole))
    }
}

impl Sink for Blackhole {
    fn write(&mut self, _batch: Batch) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, _epoch: Epoch) -> Result<Vec<CommitToken>> {
        Ok(Vec::new())
    }
}
