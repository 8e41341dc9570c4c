//! Numbers of the coordinator for Prometheus, in its text format.

use std::fmt::Write;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use rheos_graph::{JobMetrics, TaskReport};

use crate::cluster::Cluster;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Numbers of the cluster and its jobs.
pub(crate) async fn metrics(State(cluster): State<Cluster>) -> impl IntoResponse {
    let mut out = String::new();
    let workers = cluster.workers();
    single(&mut out, "rheos_workers", "gauge", "Workers that are there.", workers.len());
    single(&mut out, "rheos_slots", "gauge", "Slots of all workers.", workers.iter().map(|w| w.slots).sum::<usize>());
    single(&mut out, "rheos_slots_free", "gauge", "Slots that no job has.", workers.iter().map(|w| w.free).sum::<usize>());
    let jobs = cluster.jobs();
    let by_job = |out: &mut String, name: &str, kind: &str, help: &str, of: &dyn Fn(&crate::cluster::ClusterJob) -> u64| {
        head(out, name, kind, help);
        for job in &jobs {
            let (id, title) = (&job.record.id, escaped(&job.record.name));
            let _ = writeln!(out, "{name}{{job=\"{id}\",name=\"{title}\"}} {}", of(job));
        }
    };
    by_job(&mut out, "rheos_job_running", "gauge", "1 while all of the job runs.", &|job| u64::from(job.standing().0 == "RUNNING"));
    by_job(&mut out, "rheos_job_restarts_total", "counter", "How often the job was started again.", &|job| job.restarts());
    by_job(&mut out, "rheos_job_checkpoints_total", "counter", "Snapshots completed.", &|job| job.checkpoints().completed);
    by_job(&mut out, "rheos_job_checkpoints_failed_total", "counter", "Snapshots that failed.", &|job| job.checkpoints().failed);
    let last = |job: &crate::cluster::ClusterJob| job.checkpoints().last_bytes.unwrap_or(0);
    by_job(&mut out, "rheos_job_state_bytes", "gauge", "Size of the state in the last snapshot.", &last);
    ([(CONTENT_TYPE, TEXT)], out)
}

/// Numbers of the tasks of jobs, each with its id: what a worker shows.
pub fn task_metrics(jobs: &[(String, JobMetrics)]) -> String {
    type Of = fn(&TaskReport) -> f64;
    let seconds: [(&str, &str, Of); 3] = [
        ("rheos_task_useful_seconds_total", "Time spent on rows.", |t| t.useful_ns() as f64 / 1e9),
        ("rheos_task_wait_input_seconds_total", "Time spent waiting for input.", |t| t.wait_input_ns as f64 / 1e9),
        ("rheos_task_wait_output_seconds_total", "Time spent waiting for room in the output.", |t| t.wait_output_ns as f64 / 1e9),
    ];
    let counts: [(&str, &str, Of); 4] = [
        ("rheos_task_rows_in_total", "Rows taken in.", |t| t.rows_in as f64),
        ("rheos_task_rows_out_total", "Rows given.", |t| t.rows_out as f64),
        ("rheos_task_bytes_in_total", "Bytes taken in.", |t| t.bytes_in as f64),
        ("rheos_task_bytes_out_total", "Bytes given.", |t| t.bytes_out as f64),
    ];
    let mut out = String::new();
    for (name, help, of) in seconds.into_iter().chain(counts) {
        head(&mut out, name, "counter", help);
        tasks(&mut out, jobs, name, of);
    }
    let queued: (&str, Of) = ("rheos_task_queued_bytes", |t| t.queued_bytes as f64);
    head(&mut out, queued.0, "gauge", "Bytes that wait in the inbox.");
    tasks(&mut out, jobs, queued.0, queued.1);
    out
}

fn tasks(out: &mut String, jobs: &[(String, JobMetrics)], name: &str, of: fn(&TaskReport) -> f64) {
    for (job, metrics) in jobs {
        for task in &metrics.tasks {
            let (id, index, title) = (task.task, task.index, escaped(&task.name));
            let _ = writeln!(out, "{name}{{job=\"{job}\",task=\"{id}\",index=\"{index}\",name=\"{title}\"}} {}", of(task));
        }
    }
}

/// A number without labels.
pub fn single(out: &mut String, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
    head(out, name, kind, help);
    let _ = writeln!(out, "{name} {value}");
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
