//! A sink that takes everything and keeps nothing, to measure what comes before it.

use std::sync::Arc;
use std::time::Duration;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ConnectorInfo, OptionInfo, TableSpec};
use rheos_core::element::Epoch;
use rheos_core::operator::OperatorContext;
use rheos_core::sink::{CommitToken, Sink, SinkDescription, SinkFactory};
use rheos_core::{Batch, Error, Result};

const BATCHES_PER_SECOND: &str = "rheos.batches-per-second";

/// The connector.
pub fn connector() -> ConnectorInfo {
    ConnectorInfo {
        name: "blackhole",
        doc: "Takes all rows and keeps none, to measure the speed of a query.",
        options: vec![OptionInfo::optional(
            BATCHES_PER_SECOND,
            "none",
            "Takes no more batches a second in each subtask, however large they are: to see what a slow sink does to a job.",
        )],
        takes_format: false,
        source: None,
        sink: Some(Arc::new(Factory)),
    }
}

#[derive(Debug)]
struct Factory;

#[derive(Debug)]
struct Blackhole {
    /// How long a batch takes.
    pause: Option<Duration>,
}

/// The time that each batch takes.
fn pause(table: &TableSpec) -> Result<Option<Duration>> {
    let Some(text) = table.option(BATCHES_PER_SECOND) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(Some(Duration::from_secs_f64(1.0 / rate))),
        _ => Err(Error::config(format!("option '{BATCHES_PER_SECOND}' of table '{}' is '{text}'; it is a number above 0", table.name))),
    }
}

impl SinkFactory for Factory {
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription> {
        pause(table)?;
        Ok(SinkDescription { accepts: ChangelogMode::Retract })
    }

    fn writer(&self, table: &TableSpec, _context: &OperatorContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Blackhole { pause: pause(table)? }))
    }
}

impl Sink for Blackhole {
    fn write(&mut self, _batch: Batch) -> Result<()> {
        if let Some(pause) = self.pause {
            std::thread::sleep(pause);
        }
        Ok(())
    }

    fn prepare(&mut self, _epoch: Epoch) -> Result<Vec<CommitToken>> {
        Ok(Vec::new())
    }
}
