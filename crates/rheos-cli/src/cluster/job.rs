//! What people ask of a cluster: its jobs, its workers, one job in detail.

use std::io::{self, IsTerminal, Write};

use rheos::Error;
use serde_json::Value;

use super::client::Blocking;
use crate::args::{JobArgs, JobCommand, LogsArgs, StopArgs, TargetArgs};
use crate::failure::Failure;
use crate::figures::{magnitude, moment, table};
use crate::run::write_out;

/// `rheos jobs`
pub(crate) fn jobs(args: &TargetArgs) -> Result<(), Failure> {
    let blocking = Blocking::new(args.target.as_deref(), args.token_file.as_deref())?;
    let jobs = blocking.wait(blocking.client.jobs())?;
    let rows = jobs.iter().map(|job| {
        let number = |key: &str| job[key].as_i64().unwrap_or(0);
        let text = |key: &str| job[key].as_str().unwrap_or("").to_string();
        let submitted = moment(number("submitted_ms") / 1000 * 1000);
        vec![
            text("id"),
            text("state"),
            number("slots").to_string(),
            number("restarts").to_string(),
            submitted,
            text("name"),
            first_line(&text("detail")),
        ]
    });
    show(&["id", "state", "slots", "restarts", "submitted", "name", "detail"], rows.collect())
}

/// `rheos workers`
pub(crate) fn workers(args: &TargetArgs) -> Result<(), Failure> {
    let blocking = Blocking::new(args.target.as_deref(), args.token_file.as_deref())?;
    let workers = blocking.wait(blocking.client.workers())?;
    let rows = workers.iter().map(|worker| {
        let number = |key: &str| worker[key].as_u64().unwrap_or(0);
        let text = |key: &str| worker[key].as_str().unwrap_or("").to_string();
        let heard = format!("{:.1} s ago", number("heard_ms_ago") as f64 / 1000.0);
        vec![text("id"), text("address"), number("slots").to_string(), number("free").to_string(), heard, text("metrics_address")]
    });
    show(&["id", "address", "slots", "free", "heard of", "metrics"], rows.collect())
}

/// `rheos job ...`
pub(crate) fn job(command: &JobCommand) -> Result<(), Failure> {
    match command {
        JobCommand::Show(args) => details(args),
        JobCommand::Cancel(args) => {
            let (blocking, id) = of(args)?;
            blocking.wait(blocking.client.end(&id, false))?;
            eprintln!("job {id} is being canceled");
            Ok(())
        }
        JobCommand::Stop(StopArgs { job, savepoint: _ }) => stop(job),
        JobCommand::Savepoint(args) => {
            let (blocking, id) = of(args)?;
            let before = blocking.wait(blocking.client.job(&id))?;
            blocking.wait(blocking.client.savepoint(&id))?;
            eprintln!("job {id} takes a savepoint; 'rheos checkpoints list {}' shows it", before["snapshots"].as_str().unwrap_or(""));
            Ok(())
        }
        JobCommand::Logs(LogsArgs { job, follow }) => {
            let (blocking, id) = of(job)?;
            let told = |piece: &[u8]| {
                let mut out = io::stdout().lock();
                out.write_all(piece).and_then(|()| out.flush()).map_err(|e| Error::restart(e.to_string()).caused_by(e))
            };
            blocking.wait(blocking.client.logs(&id, *follow, told))
        }
    }
}

/// Ends a job with a savepoint, and waits until that is taken.
fn stop(args: &JobArgs) -> Result<(), Failure> {
    let (blocking, id) = of(args)?;
    blocking.wait(blocking.client.end(&id, true))?;
    loop {
        let job = blocking.wait(blocking.client.job(&id))?;
        let state = rheos::cluster::JobState::of(&job);
        if state.has_ended() {
            let detail = state.detail.unwrap_or_default();
            return match state.state.as_str() {
                "STOPPED" => {
                    let folder = job["snapshots"].as_str().unwrap_or("");
                    eprintln!("job {id} is stopped with {detail}; 'rheos submit --restore {folder}' goes on from there");
                    Ok(())
                }
                "FINISHED" => {
                    eprintln!("job {id} had come to its end");
                    Ok(())
                }
                state => Err(Failure::Job(Error::restart(format!("job {id} is {state}: {detail}")))),
            };
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A client, and the whole id of the job that is meant.
fn of(args: &JobArgs) -> Result<(Blocking, String), Failure> {
    let blocking = Blocking::new(args.target.target.as_deref(), args.target.token_file.as_deref())?;
    let jobs = blocking.wait(blocking.client.jobs())?;
    let ids = jobs.iter().filter_map(|job| job["id"].as_str());
    let mut meant: Vec<&str> = ids.filter(|id| id.starts_with(&args.id)).collect();
    if meant.contains(&args.id.as_str()) {
        meant = vec![&args.id];
    }
    match meant[..] {
        [id] => Ok((blocking, id.to_string())),
        [] => Err(Failure::wrong(format!("there is no job '{}'; 'rheos jobs' lists those there are", args.id))),
        _ => Err(Failure::wrong(format!("'{}' may be any of {}", args.id, meant.join(", ")))),
    }
}

fn details(args: &JobArgs) -> Result<(), Failure> {
    let (blocking, id) = of(args)?;
    let job = blocking.wait(blocking.client.job(&id))?;
    let text = |key: &str| job[key].as_str().unwrap_or("").to_string();
    let mut out = format!("{id}  {}  {}\n", text("state"), text("name"));
    let mut line = |label: &str, value: String| {
        if !value.is_empty() {
            out.push_str(&format!("{label:<12}{value}\n"));
        }
    };
    line("detail", text("detail"));
    line("submitted", moment(job["submitted_ms"].as_i64().unwrap_or(0)));
    line("ended", job["ended_ms"].as_i64().map(moment).unwrap_or_default());
    line("restarts", job["restarts"].to_string());
    let checkpoints = &job["checkpoints"];
    let last = checkpoints["last_epoch"].as_u64().map(|epoch| {
        let (ms, bytes) = (checkpoints["last_duration_ms"].as_u64().unwrap_or(0), checkpoints["last_bytes"].as_u64().unwrap_or(0));
        format!("; the last, epoch {epoch}, took {ms} ms, {} bytes", magnitude(bytes as f64))
    });
    line("snapshots", format!("{} in {}{}", checkpoints["completed"], text("snapshots"), last.unwrap_or_default()));
    match job["bottleneck"]["why"].as_str() {
        Some(why) => line("bottleneck", why.to_string()),
        None if job["tasks"].as_array().is_some_and(|tasks| !tasks.is_empty()) => {
            line("bottleneck", "none: nothing waits for anything but input".into())
        }
        None => {}
    }
    write_out(&out)?;
    let rows: Vec<Vec<String>> = job["tasks"].as_array().into_iter().flatten().flat_map(task_rows).collect();
    if rows.is_empty() {
        return Ok(());
    }
    write_out("\n")?;
    show(&["task", "instance", "useful", "waits for input", "for output", "rows in/s", "rows out/s", "watermark"], rows)
}

fn task_rows(task: &Value) -> Vec<Vec<String>> {
    let name = task["name"].as_str().unwrap_or("").to_string();
    let row = |subtask: &Value| {
        let percent = |key: &str| format!("{:.0}%", subtask[key].as_f64().unwrap_or(0.0) * 100.0);
        let rate = |key: &str| magnitude(subtask[key].as_f64().unwrap_or(0.0));
        vec![
            name.clone(),
            subtask["index"].to_string(),
            percent("useful"),
            percent("waits_for_input"),
            percent("waits_for_output"),
            rate("rows_in_per_s"),
            rate("rows_out_per_s"),
            subtask["watermark_ms"].as_i64().map_or_else(|| "-".into(), moment),
        ]
    };
    task["subtasks"].as_array().into_iter().flatten().map(row).collect()
}

/// A table on a terminal, cells separated by tabs elsewhere.
fn show(header: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
    let header: Vec<String> = header.iter().map(|name| name.to_string()).collect();
    if io::stdout().is_terminal() {
        return write_out(&format!("{}\n", table(&header, &rows)));
    }
    write_out(&std::iter::once(&header).chain(&rows).map(|cells| cells.join("\t") + "\n").collect::<String>())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").to_string()
}
