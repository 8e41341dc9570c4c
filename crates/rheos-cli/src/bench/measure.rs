//! One query run over generated events, and what it took.

use rheos::{JobMetrics, Prepared, ResultInfo, Session, SqlError, StartOptions};
use rheos_core::env::system_monotonic_ns;

use super::process_time::process_time_ns;
use super::queries::{Query, TABLES};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::variables::substitute;

/// What a run took.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The query's name.
    pub(crate) query: &'static str,
    /// How many events there were, generated or passed over.
    pub(crate) events: u64,
    /// Elapsed time.
    pub(crate) wall_ns: u64,
    /// Time on processors; `None` where the system does not say.
    pub(crate) cpu_ns: Option<u64>,
    /// Rows that reached the sink.
    pub(crate) rows_out: u64,
    /// All that the tasks measured.
    pub(crate) metrics: JobMetrics,
}

impl Measured {
    /// Processor time an event, in nanoseconds.
    pub(crate) fn cpu_ns_per_event(&self) -> Option<f64> {
        self.cpu_ns.map(|ns| ns as f64 / self.events.max(1) as f64)
    }

    /// Events a second of elapsed time.
    pub(crate) fn events_per_second(&self) -> f64 {
        self.events as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

/// Runs a query into a sink that keeps nothing. `Ok(Err)` says why the query cannot be run.
pub(crate) fn measure(
    query: Query,
    events: u64,
    settings: &Settings,
    options: StartOptions,
    interrupt: &Interrupt,
) -> Result<Result<Measured, SqlError>, Failure> {
    let mut session = Session::new();
    settings.apply(&mut session, None)?;
    let job = match prepare(&mut session, query, events) {
        Ok(job) => job,
        Err(refused) => return Ok(Err(refused)),
    };
    let (cpu_ns, wall_ns) = (process_time_ns(), system_monotonic_ns());
    let running = session.start_with(job, options).map_err(Failure::of_start)?;
    while !running.is_done() {
        if interrupt.is_requested() {
            running.cancel();
            running.wait().map_err(Failure::Job)?;
            return Err(Failure::Interrupted);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    running.wait().map_err(Failure::Job)?;
    let wall_ns = system_monotonic_ns() - wall_ns;
    let cpu_ns = cpu_ns.zip(process_time_ns()).map(|(before, after)| after - before);
    let metrics = running.metrics();
    let rows_out = Progress::of(&metrics).rows_out;
    Ok(Ok(Measured { query: query.name, events, wall_ns, cpu_ns, rows_out, metrics }))
}

fn prepare(session: &mut Session, query: Query, events: u64) -> Result<rheos::Job, SqlError> {
    let events = events.to_string();
    let tables = substitute(TABLES, |name| (name == "EVENTS").then(|| events.clone()))
        .map_err(|missing| SqlError::new(format!("the variable '{}' has no value", missing.name)))?;
    for parsed in session.parse(&tables)? {
        session.prepare(&parsed.statement)?;
    }
    let info = match last(session, query.sql)? {
        Prepared::Job(job) => job.result.ok_or_else(|| SqlError::new("not a query"))?,
        _ => return Err(SqlError::new("not a query")),
    };
    last(session, &sink_table(&info))?;
    match last(session, &format!("INSERT INTO sink {}", query.sql))? {
        Prepared::Job(job) => Ok(job),
        _ => Err(SqlError::new("not a query")),
    }
}

/// Prepares the only statement of a text.
fn last(session: &mut Session, sql: &str) -> Result<Prepared, SqlError> {
    let parsed = session.parse(sql)?.pop().ok_or_else(|| SqlError::new("no statement"))?;
    session.prepare(&parsed.statement)
}

/// A table that takes the query's rows and keeps none.
fn sink_table(info: &ResultInfo) -> String {
    let column = |f: &rheos_core::schema::Field| format!("`{}` {}", f.name.replace('`', "``"), f.ty.kind);
    let columns: Vec<String> = info.schema.fields.iter().map(column).collect();
    format!("CREATE TABLE sink ({}) WITH ('connector' = 'blackhole')", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::queries::ALL;

    #[test]
    fn every_query_runs_over_a_few_events_or_says_why_not() {
        for query in ALL {
            let measured = measure(*query, 2_000, &Settings::default(), StartOptions::default(), &Interrupt::default()).unwrap();
            match measured {
                Ok(measured) => assert_eq!(measured.events, 2_000),
                Err(refused) => assert!(refused.message.contains("not supported"), "{}: {refused}", query.name),
            }
        }
    }
}
