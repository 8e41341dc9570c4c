//! What the coordinator and the workers of a cluster lack: scripts planned, storage opened, connectors.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rheos_checkpoint::{Manifest, RestartStrategy};
use rheos_coordinator::{Assembly, JobSettings, PlanError, PlannedJob, Planner, Submission};
use rheos_core::Result;
use rheos_core::registry::Registry;
use rheos_core::storage::Storage;
use rheos_graph::{JobGraph, NodeKind};
use rheos_sql::SqlError;
use rheos_storage::LocalCopies;

use super::results;
use crate::Statement;
use crate::checkpointing::{Durability, INTERVAL};
use crate::collect;
use crate::session::{Prepared, Session};
use crate::start::{absolute, find_snapshot, place};

/// From one snapshot to the next of a query whose rows somebody waits for, unless settings say otherwise.
const RESULTS_INTERVAL_MS: u64 = 1_000;

/// The parts of the system that a process of a cluster is given.
#[derive(Default)]
pub(crate) struct Front {
    /// Where a worker keeps copies of the files that it stores, and how many bytes of them.
    pub(crate) copies: Option<(PathBuf, u64)>,
}

impl Front {
    fn open(&self, place: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>> {
        let storage = rheos_storage::open(place, options)?;
        Ok(match &self.copies {
            Some((folder, bytes)) => Arc::new(LocalCopies::new(storage, folder, place, *bytes)?),
            None => storage,
        })
    }
}

impl Planner for Front {
    fn plan(&self, submission: &Submission) -> Result<Vec<PlannedJob>, PlanError> {
        plan(submission).map_err(|error| PlanError {
            message: error.message,
            line: error.place.line,
            column: error.place.column,
            hint: error.hint,
        })
    }
}

fn plan(submission: &Submission) -> Result<Vec<PlannedJob>, SqlError> {
    let mut session = Session::new();
    for (key, value) in &submission.settings {
        session.set(key, value)?;
    }
    if let Some(folder) = &submission.sink_to {
        session.redirect_sinks(folder);
    }
    let mut jobs = Vec::new();
    for parsed in session.parse(&submission.sql)? {
        match &parsed.statement {
            // What came with the script is stronger.
            Statement::Set(Some((key, ..))) if submission.settings.contains_key(key) => continue,
            statement => {
                let prepared = session.prepare(statement).map_err(|mut error| {
                    if error.place.line == 0 {
                        error.place = parsed.place;
                    }
                    error
                })?;
                if let Prepared::Job(job) = prepared {
                    let has_results = job.result.is_some();
                    jobs.push(PlannedJob { graph: with_results(job.graph), settings: settings(&session, has_results)?, has_results });
                }
            }
        }
    }
    if jobs.is_empty() {
        return Err(SqlError::new("the script has no query and no INSERT, so there is nothing to run"));
    }
    Ok(jobs)
}

/// The rows of a query go to the job's folder instead of to this process.
fn with_results(mut graph: JobGraph) -> JobGraph {
    for node in &mut graph.nodes {
        if let NodeKind::Sink { table } = &mut node.kind
            && table.connector == collect::CONNECTOR
        {
            table.connector = results::CONNECTOR.into();
            table.options = [("connector".to_string(), results::CONNECTOR.to_string())].into();
        }
    }
    graph
}

fn settings(session: &Session, has_results: bool) -> Result<JobSettings, SqlError> {
    let settings = session.settings();
    let Durability { dir, storage_options, mut checkpointing, recovery, restart, buffer_bytes } = Durability::of(settings)?;
    if has_results && settings.get(INTERVAL).is_none() {
        checkpointing.interval_ms = RESULTS_INTERVAL_MS;
    }
    Ok(JobSettings {
        dir,
        storage_options,
        checkpointing,
        recovery,
        restart: restart.unwrap_or_else(RestartStrategy::exponential_delay),
        buffer_bytes,
    })
}

impl Assembly for Front {
    fn open_storage(&self, place: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>> {
        rheos_storage::open(place, options)
    }

    fn snapshot<'a>(&'a self, text: &'a str, options: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Option<Manifest>>> {
        Box::pin(async move {
            let (folder, position) = place(text);
            let storage = rheos_storage::open(&folder, options)?;
            let Some(mut manifest) = find_snapshot(&storage, position).await? else { return Ok(None) };
            manifest.files_in.get_or_insert_with(|| absolute(&folder));
            Ok(Some(manifest))
        })
    }
}

impl rheos_worker::process::Assembly for Front {
    fn open_storage(&self, place: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>> {
        self.open(place, options)
    }

    fn registry(&self, storage: &Arc<dyn Storage>) -> Registry {
        let mut registry = crate::registry();
        registry.add_connector(results::connector(Arc::clone(storage), tokio::runtime::Handle::current()));
        registry
    }
}
