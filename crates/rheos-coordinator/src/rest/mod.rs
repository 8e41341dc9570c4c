//! What people and tools ask of a cluster, over HTTP: everything that the commands do, an OpenAPI document, metrics for Prometheus.

mod error;
mod jobs;
mod prometheus;
mod results;
mod view;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rheos_protocol::token::is_right;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::cluster::{Cluster, WorkerInfo};
use error::Problem;
pub use prometheus::{single, task_metrics};
pub use results::VISIBLE as VISIBLE_RESULTS;

/// The largest request: a script.
const MAX_REQUEST_BYTES: usize = 16 << 20;

/// The whole interface as a document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Rheos coordinator",
        description = "Jobs of a Rheos cluster. With a token, every request but /healthz carries 'Authorization: Bearer TOKEN'."
    ),
    paths(
        jobs::submit,
        jobs::list,
        jobs::show,
        jobs::cancel,
        jobs::stop,
        jobs::savepoint,
        jobs::logs,
        results::results,
        workers,
        overview
    )
)]
struct Document;

/// The workers of a cluster.
#[derive(Serialize, ToSchema)]
struct Workers {
    workers: Vec<WorkerInfo>,
}

/// A cluster at a glance.
#[derive(Serialize, ToSchema)]
struct Overview {
    /// The version of Rheos.
    version: String,
    workers: usize,
    slots: usize,
    free_slots: usize,
    /// How many jobs have not ended.
    jobs: usize,
}

impl Cluster {
    /// All routes; to be served beside [`Cluster::control`].
    pub fn rest(&self) -> Router {
        let guarded = Router::new()
            .route("/api/v1/jobs", get(jobs::list).post(jobs::submit))
            .route("/api/v1/jobs/{id}", get(jobs::show))
            .route("/api/v1/jobs/{id}/cancel", post(jobs::cancel))
            .route("/api/v1/jobs/{id}/stop", post(jobs::stop))
            .route("/api/v1/jobs/{id}/savepoint", post(jobs::savepoint))
            .route("/api/v1/jobs/{id}/logs", get(jobs::logs))
            .route("/api/v1/jobs/{id}/results", get(results::results))
            .route("/api/v1/workers", get(workers))
            .route("/api/v1/overview", get(overview))
            .route("/api/v1/openapi.json", get(|| async { Json(Document::openapi()) }))
            .route("/metrics", get(prometheus::metrics))
            .layer(middleware::from_fn_with_state(self.clone(), check_token));
        Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .merge(guarded)
            .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
            .with_state(self.clone())
    }
}

async fn check_token(State(cluster): State<Cluster>, request: Request, next: Next) -> Response {
    if let Some(token) = &cluster.options().token {
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if !is_right(header, token) {
            let message = "this cluster wants a token: 'Authorization: Bearer TOKEN'";
            return Problem::new(StatusCode::UNAUTHORIZED, message).into_response();
        }
    }
    next.run(request).await
}

/// The workers that are there.
#[utoipa::path(get, path = "/api/v1/workers", responses((status = 200, body = Workers)))]
async fn workers(State(cluster): State<Cluster>) -> Json<Workers> {
    Json(Workers { workers: cluster.workers() })
}

/// The cluster at a glance.
#[utoipa::path(get, path = "/api/v1/overview", responses((status = 200, body = Overview)))]
async fn overview(State(cluster): State<Cluster>) -> Json<Overview> {
    let workers = cluster.workers();
    Json(Overview {
        version: cluster.options().version.clone(),
        workers: workers.len(),
        slots: workers.iter().map(|w| w.slots).sum(),
        free_slots: workers.iter().map(|w| w.free).sum(),
        jobs: cluster.jobs().iter().filter(|job| job.ending().is_none()).count(),
    })
}
