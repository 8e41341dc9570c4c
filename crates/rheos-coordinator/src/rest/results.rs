//! The rows of a query, for whoever asks: files in the job's folder, in the order in which they became visible.
//!
//! The sink of such a job (in the assembly of the system) stores rows below `results/` and makes them visible by a numbered name, so
//! rows outlive every process, and a client that has lost its connection goes on where it was.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::error::Problem;
use crate::cluster::Cluster;

/// Where visible rows are, below the job's folder.
pub const VISIBLE: &str = "results/visible/";

/// In an answer with rows: the name after which to ask next.
const NEXT: HeaderName = HeaderName::from_static("rheos-next");

/// How long an answer waits for rows.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Which rows.
#[derive(Deserialize, IntoParams)]
pub(crate) struct ResultParameters {
    /// The name that came with the last rows; these are deleted now. Without it, from the beginning of what is there.
    after: Option<String>,
}

/// The next rows of a query's result as an Arrow IPC stream behind a header of 16 bytes, with the name after which to ask next in
/// the header `rheos-next`. 204: none have come within ten seconds. 410: the job has ended and there are no more.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/results", params(("id" = String, Path), ResultParameters), responses((status = 200, content_type = "application/octet-stream"), (status = 204), (status = 410), (status = 404, body = Problem)))]
pub(crate) async fn results(
    State(cluster): State<Cluster>,
    Path(id): Path<String>,
    Query(ResultParameters { after }): Query<ResultParameters>,
) -> Result<Response, Problem> {
    let job = cluster.job(&id)?;
    if !job.record.has_results {
        return Err(Problem::new(StatusCode::NOT_FOUND, format!("job '{id}' writes its rows to a table")));
    }
    let storage = cluster.storage_of(&job)?;
    let looks = (PATIENCE.as_millis() / PAUSE.as_millis()) as usize;
    let mut pause = PAUSE;
    for _ in 0..looks {
        // Asked before looking: what came before the end is there by then.
        let has_ended = job.ending().is_some();
        let names = storage.list(VISIBLE).await?.into_iter().filter_map(|stored| stored.name.strip_prefix(VISIBLE).map(str::to_string));
        let (taken, left): (Vec<String>, Vec<String>) = names.partition(|name| after.as_ref().is_some_and(|after| name <= after));
        for name in taken {
            storage.delete(&format!("{VISIBLE}{name}")).await?;
        }
        if let Some(name) = left.into_iter().min()
            && let Some(rows) = storage.get(&format!("{VISIBLE}{name}")).await?
        {
            let headers = [(CONTENT_TYPE, "application/octet-stream".to_string()), (NEXT, name)];
            return Ok((headers, Body::from(rows)).into_response());
        }
        if has_ended {
            return Ok(StatusCode::GONE.into_response());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
