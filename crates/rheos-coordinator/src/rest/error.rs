//! Errors as answers: a status, and JSON that says what is wrong.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rheos_core::{Error, ErrorKind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::cluster::{PlanError, RequestError};

/// What an answer that is no success says.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    #[serde(skip)]
    status: StatusCode,
    /// What is wrong.
    message: String,
    /// Where in the script, if it is a matter of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanError>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Problem { status, message: message.into(), plan: None }
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Plan(plan) => Problem { status: StatusCode::BAD_REQUEST, message: plan.message.clone(), plan: Some(plan) },
            RequestError::NoSuchJob(id) => Problem::new(StatusCode::NOT_FOUND, format!("there is no job '{id}'")),
            RequestError::Ended { job, state } => Problem::new(StatusCode::CONFLICT, format!("job '{job}' has ended: it is {state}")),
            RequestError::Other(error) => error.into(),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::FixConfig | ErrorKind::FixInput => StatusCode::BAD_REQUEST,
            ErrorKind::Retry => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::RestartJob | ErrorKind::Corrupt | ErrorKind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
