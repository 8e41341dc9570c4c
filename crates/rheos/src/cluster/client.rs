//! A client of a coordinator's REST interface.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use rheos_coordinator::{PlanError, Submission};
use rheos_core::{ColumnBatch, Error, ErrorKind, Result, batch_bytes};
use serde_json::{Value, json};

/// How long an answer may take that waits for nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Speaks to one coordinator. To be used on a tokio runtime.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    target: String,
    token: Option<String>,
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobState {
    /// `RUNNING`, `FINISHED` and the like.
    pub state: String,
    /// What it waits for, or why it failed.
    pub detail: Option<String>,
}

impl JobState {
    /// Whether nothing more happens to it.
    pub fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "FINISHED" | "STOPPED" | "CANCELED" | "FAILED")
    }

    /// From an answer that shows a job.
    pub fn of(job: &Value) -> JobState {
        let text = |key: &str| job[key].as_str().map(str::to_string);
        JobState { state: text("state").unwrap_or_default(), detail: text("detail") }
    }
}

/// What a question for rows gave.
#[derive(Debug)]
pub enum ResultRows {
    /// These, and the name to ask on from.
    Rows(Vec<ColumnBatch>, String),
    /// None yet.
    NoneYet,
    /// There are no more, and the job has ended.
    End,
}

impl Client {
    /// A client of the coordinator at `host:port`.
    pub fn new(target: &str, token: Option<String>) -> Result<Client> {
        let http = reqwest::Client::builder().connect_timeout(Duration::from_secs(5)).build();
        let http = http.map_err(|e| Error::bug(format!("no client can be made: {e}")))?;
        Ok(Client { http, target: target.to_string(), token })
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<reqwest::Response> {
        let mut request = self.http.request(method, format!("http://{}{path}", self.target));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let sent = request.send().await;
        sent.map_err(|e| Error::retry(format!("the coordinator at {} cannot be reached: {}", self.target, root_of(&e))))
    }

    async fn json(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let asked = tokio::time::timeout(TIMEOUT, async {
            let response = self.send(method, path, body).await?;
            let status = response.status();
            let text = response.text().await.map_err(|e| self.broken(&e))?;
            Ok::<_, Error>((status, text))
        });
        let (status, text) = asked.await.map_err(|_| Error::retry(format!("the coordinator at {} does not answer", self.target)))??;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|e| Error::corrupt(format!("an answer that is not JSON: {e}")));
        }
        Err(problem(status, &text))
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        Error::retry(format!("the connection to the coordinator at {} broke: {}", self.target, root_of(error)))
    }

    /// Runs a script; gives the jobs as they are shown in a list. A script that is wrong is the inner error.
    pub async fn submit(&self, submission: &Submission) -> Result<Result<Vec<Value>, PlanError>> {
        let response = self.send(Method::POST, "/api/v1/jobs", Some(json!(submission))).await?;
        let status = response.status();
        let text = response.text().await.map_err(|e| self.broken(&e))?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        if status.is_success() {
            return Ok(Ok(answer["jobs"].as_array().cloned().unwrap_or_default()));
        }
        match serde_json::from_value(answer["plan"].clone()) {
            Ok(plan) => Ok(Err(plan)),
            Err(_) => Err(problem(status, &text)),
        }
    }

    /// All jobs.
    pub async fn jobs(&self) -> Result<Vec<Value>> {
        Ok(self.json(Method::GET, "/api/v1/jobs", None).await?["jobs"].as_array().cloned().unwrap_or_default())
    }

    /// All workers.
    pub async fn workers(&self) -> Result<Vec<Value>> {
        Ok(self.json(Method::GET, "/api/v1/workers", None).await?["workers"].as_array().cloned().unwrap_or_default())
    }

    /// One job in detail.
    pub async fn job(&self, id: &str) -> Result<Value> {
        self.json(Method::GET, &format!("/api/v1/jobs/{id}"), None).await
    }

    /// Ends a job: with a savepoint, or at once.
    pub async fn end(&self, id: &str, savepoint: bool) -> Result<Value> {
        let path = if savepoint { format!("/api/v1/jobs/{id}/stop?savepoint=true") } else { format!("/api/v1/jobs/{id}/cancel") };
        self.json(Method::POST, &path, None).await
    }

    /// Takes a savepoint of a job, which goes on.
    pub async fn savepoint(&self, id: &str) -> Result<Value> {
        self.json(Method::POST, &format!("/api/v1/jobs/{id}/savepoint"), None).await
    }

    /// What happened to a job, piece by piece, to its end where `follow` says so.
    pub async fn logs(&self, id: &str, follow: bool, mut tell: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut response = self.send(Method::GET, &format!("/api/v1/jobs/{id}/logs?follow={follow}"), None).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(problem(status, &response.text().await.map_err(|e| self.broken(&e))?));
        }
        while let Some(piece) = response.chunk().await.map_err(|e| self.broken(&e))? {
            tell(&piece)?;
        }
        Ok(())
    }

    /// The next rows of a query, after the name that came with the last. Waits some seconds for them.
    pub async fn results(&self, id: &str, after: Option<&str>) -> Result<ResultRows> {
        let after = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let response = self.send(Method::GET, &format!("/api/v1/jobs/{id}/results{after}"), None).await?;
        let status = response.status();
        match status {
            StatusCode::NO_CONTENT => return Ok(ResultRows::NoneYet),
            StatusCode::GONE => return Ok(ResultRows::End),
            _ => {}
        }
        let next = response.headers().get("rheos-next").and_then(|name| name.to_str().ok()).map(str::to_string);
        let body = response.bytes().await.map_err(|e| self.broken(&e))?;
        match next {
            Some(next) if status.is_success() => Ok(ResultRows::Rows(batch_bytes::decode(&body)?, next)),
            _ => Err(problem(status, &String::from_utf8_lossy(&body))),
        }
    }
}

fn problem(status: StatusCode, text: &str) -> Error {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let message = answer["message"].as_str().map_or_else(|| format!("the coordinator answered {status}: {text}"), str::to_string);
    let kind = match status {
        status if status.is_client_error() => ErrorKind::FixConfig,
        StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Retry,
        _ => ErrorKind::RestartJob,
    };
    Error::new(kind, message)
}

/// The innermost reason: what libraries say around it helps nobody.
fn root_of(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}
