//! Jobs: submitted, listed, shown, ended.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use rheos_core::text::write_timestamp;
use rheos_core::types::timestamp_unit;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::Problem;
use super::view::{JobDetails, JobSummary, details, summary};
use crate::cluster::{Cluster, ClusterJob, LogLine, Submission};
use crate::driver::Request;

/// Jobs of a cluster.
#[derive(Serialize, ToSchema)]
pub(crate) struct Jobs {
    jobs: Vec<JobSummary>,
}

/// How a job is to be ended.
#[derive(Deserialize, IntoParams)]
pub(crate) struct StopParameters {
    /// With a savepoint to go on from: the default. Without, it is canceled.
    #[serde(default = "yes")]
    savepoint: bool,
}

fn yes() -> bool {
    true
}

/// Runs a script: each query and INSERT becomes a job, durable when the answer comes.
#[utoipa::path(post, path = "/api/v1/jobs", request_body = Submission, responses((status = 200, body = Jobs), (status = 400, body = Problem)))]
pub(crate) async fn submit(State(cluster): State<Cluster>, Json(submission): Json<Submission>) -> Result<Json<Jobs>, Problem> {
    let jobs = cluster.submit(submission).await?;
    Ok(Json(Jobs { jobs: jobs.iter().map(|job| summary(job)).collect() }))
}

/// All jobs, in the order of their submission.
#[utoipa::path(get, path = "/api/v1/jobs", responses((status = 200, body = Jobs)))]
pub(crate) async fn list(State(cluster): State<Cluster>) -> Json<Jobs> {
    Json(Jobs { jobs: cluster.jobs().iter().map(|job| summary(job)).collect() })
}

/// One job: how it stands, where its time goes, what holds it back.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", params(("id" = String, Path)), responses((status = 200, body = JobDetails), (status = 404, body = Problem)))]
pub(crate) async fn show(State(cluster): State<Cluster>, Path(id): Path<String>) -> Result<Json<JobDetails>, Problem> {
    Ok(Json(details(&cluster, &*cluster.job(&id)?)))
}

/// Ends a job at once; what is not visible by now will not be.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", params(("id" = String, Path)), responses((status = 200, body = JobSummary), (status = 409, body = Problem)))]
pub(crate) async fn cancel(State(cluster): State<Cluster>, Path(id): Path<String>) -> Result<Json<JobSummary>, Problem> {
    Ok(Json(summary(&*cluster.ask(&id, Request::Cancel)?)))
}

/// Ends a job with a savepoint; all output up to it becomes visible. The answer comes at once: the job's state tells when it is done.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/stop", params(("id" = String, Path), StopParameters), responses((status = 200, body = JobSummary), (status = 409, body = Problem)))]
pub(crate) async fn stop(
    State(cluster): State<Cluster>,
    Path(id): Path<String>,
    Query(StopParameters { savepoint }): Query<StopParameters>,
) -> Result<Json<JobSummary>, Problem> {
    let request = if savepoint { Request::StopWithSavepoint } else { Request::Cancel };
    Ok(Json(summary(&*cluster.ask(&id, request)?)))
}

/// Takes a savepoint of a job, which goes on.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/savepoint", params(("id" = String, Path)), responses((status = 200, body = JobSummary), (status = 409, body = Problem)))]
pub(crate) async fn savepoint(State(cluster): State<Cluster>, Path(id): Path<String>) -> Result<Json<JobSummary>, Problem> {
    Ok(Json(summary(&*cluster.ask(&id, Request::Savepoint)?)))
}

/// Which lines of a job's story.
#[derive(Deserialize, IntoParams)]
pub(crate) struct LogParameters {
    /// From this number on.
    #[serde(default)]
    from: u64,
    /// Go on with lines as they come, until the job has ended.
    #[serde(default)]
    follow: bool,
}

/// What happened to a job since the coordinator took it over, a line each.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/logs", params(("id" = String, Path), LogParameters), responses((status = 200, content_type = "text/plain", body = String)))]
pub(crate) async fn logs(
    State(cluster): State<Cluster>,
    Path(id): Path<String>,
    Query(LogParameters { from, follow }): Query<LogParameters>,
) -> Result<Response, Problem> {
    let job = cluster.job(&id)?;
    let text = |lines: &[LogLine]| lines.iter().map(line).collect::<String>();
    let body = if follow {
        let changes = job.changes.subscribe();
        Body::from_stream(stream::unfold((job, changes, from), move |(job, mut changes, from)| async move {
            loop {
                changes.mark_unchanged();
                let has_ended = job.ending().is_some();
                let lines = job.lines(from);
                if let Some(last) = lines.last() {
                    let next = last.number + 1;
                    return Some((Ok::<_, std::convert::Infallible>(Bytes::from(text(&lines))), (job, changes, next)));
                }
                if has_ended {
                    return None;
                }
                // The job lives as long as we do.
                drop(tokio::time::timeout(Duration::from_secs(1), changes.changed()).await);
            }
        }))
    } else {
        Body::from(text(&job.lines(from)))
    };
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response())
}

fn line(line: &LogLine) -> String {
    let mut text = String::new();
    write_timestamp(&mut text, line.at_ms, timestamp_unit(3), 3);
    format!("{text} {}\n", line.text)
}

impl ClusterJob {
    /// How many slots it takes.
    pub(crate) fn slots(&self) -> usize {
        self.graph.tasks.iter().map(|task| task.parallelism).max().unwrap_or(0)
    }
}
