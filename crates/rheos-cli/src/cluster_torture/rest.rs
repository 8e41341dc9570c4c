//! What the coordinator tells over HTTP: its workers, and how the job is.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a job's state is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Tasks are not all running yet, or not again.
    Waiting,
    /// All tasks run.
    Running,
    /// It has failed and starts again.
    Restarting,
    /// It has ended well.
    Finished,
    /// It has ended in another way, and stays so.
    Gone,
}

/// How a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobStatus {
    /// Its state.
    pub(super) state: State,
    /// The state as the coordinator spells it.
    pub(super) word: String,
    /// How often it has started again, as this coordinator counts.
    pub(super) restarts: u64,
    /// How many snapshots are complete, as this coordinator counts.
    pub(super) snapshots: u64,
    /// How many rows its tasks have read, if that is told.
    pub(super) rows_in: Option<u64>,
    /// Why it has failed.
    pub(super) failure: Option<String>,
}

/// A job.
pub(super) fn job(coordinator: SocketAddr, id: &str) -> io::Result<JobStatus> {
    let job = get(coordinator, &format!("/api/v1/jobs/{id}"))?;
    status(&job).ok_or_else(|| io::Error::other(format!("a job without a state: {job}")))
}

/// How many workers have made themselves known.
pub(super) fn workers(coordinator: SocketAddr) -> io::Result<usize> {
    let told = get(coordinator, "/api/v1/workers")?;
    Ok(told["workers"].as_array().map_or(0, Vec::len))
}

fn status(job: &Value) -> Option<JobStatus> {
    let word = job["state"].as_str()?;
    let state = match word {
        "RUNNING" => State::Running,
        "RESTARTING" => State::Restarting,
        "FINISHED" => State::Finished,
        "CANCELED" | "STOPPED" | "FAILED" => State::Gone,
        _ => State::Waiting,
    };
    let tasks = job["tasks"].as_array();
    Some(JobStatus {
        state,
        word: word.into(),
        restarts: job["restarts"].as_u64().unwrap_or(0),
        snapshots: job["checkpoints"]["completed"].as_u64().unwrap_or(0),
        rows_in: tasks.and_then(|tasks| tasks.iter().map(|task| task["rows_in"].as_u64()).sum()),
        failure: job["failure"].as_str().map(str::to_string),
    })
}

fn get(server: SocketAddr, path: &str) -> io::Result<Value> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let body = body(&answer)?;
    serde_json::from_slice(&body).map_err(io::Error::other)
}

/// The body of a whole answer, whose status must be 200.
fn body(answer: &[u8]) -> io::Result<Vec<u8>> {
    let cut_short = || io::Error::new(io::ErrorKind::UnexpectedEof, "an answer that is cut short");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(cut_short)?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let rest = &answer[end + 4..];
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(io::Error::other(format!("{status}: {}", String::from_utf8_lossy(rest).trim())));
    }
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    if header("transfer-encoding") == Some("chunked") {
        return chunks(rest).ok_or_else(cut_short);
    }
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(rest.len());
    rest.get(..length).map(<[u8]>::to_vec).ok_or_else(cut_short)
}

fn chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        rest = &rest[end + 2..];
        whole.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_by_length_by_chunks_or_to_the_end() {
        let read = |answer: &str| body(answer.as_bytes()).map(|body| String::from_utf8(body).unwrap());
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap(), "{}");
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\n{}").unwrap(), "{}");
        assert_eq!(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n").unwrap(), "{}");
        assert!(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}").is_err());
        assert!(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{}").is_err());
        assert!(read("HTTP/1.1 404 Not Found\r\n\r\nno job 'x'").unwrap_err().to_string().contains("no job 'x'"));
    }

    #[test]
    fn a_job_is_read_with_what_is_told_of_it() {
        let job = serde_json::json!({"id": "a", "state": "RUNNING", "restarts": 2, "checkpoints": {"completed": 5}, "failure": null,
            "tasks": [{"rows_in": 3, "rows_out": 1}, {"rows_in": 4}]});
        let running = status(&job).unwrap();
        assert_eq!((running.state, running.restarts, running.snapshots, running.rows_in), (State::Running, 2, 5, Some(7)));
        let job = serde_json::json!({"state": "FAILED", "failure": "no more", "tasks": [{"name": "x"}]});
        let failed = status(&job).unwrap();
        assert_eq!((failed.state, failed.rows_in, failed.failure.as_deref()), (State::Gone, None, Some("no more")));
        assert!(status(&serde_json::json!({})).is_none());
    }
}
