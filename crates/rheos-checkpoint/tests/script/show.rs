//! How actions are written down.

use rheos_checkpoint::Manifest;
use rheos_checkpoint::coordinator::{Action, JobEnd, Note, Restore, StorageOp};
use rheos_checkpoint::log::{Record, record_position};
use rheos_core::sink::CommitToken;

pub(super) fn action(action: &Action) -> String {
    match action {
        Action::Storage { request, .. } => self::request(request),
        Action::Deploy { attempt, region, generation, restore } => {
            let from = match restore {
                Restore::Fresh => "fresh".to_string(),
                Restore::From(m) => format!("from epoch {}{}", m.epoch, finished(m)),
                Restore::EndOfInput => "at the end of input".to_string(),
            };
            let region = if *region == 0 { String::new() } else { format!(" of region {region}") };
            format!("deploy {attempt}{region} {from}, generation {generation}")
        }
        Action::Trigger { attempt, barrier, stop } => {
            let overtake = barrier.overtake_from_ms.map_or(String::new(), |ms| format!(" overtaking from {ms}"));
            let flags = format!("{}{}", if barrier.full { " full" } else { "" }, if *stop { " stop" } else { "" });
            format!("trigger {attempt} epoch {} {:?}{flags}{overtake}", barrier.epoch, barrier.kind)
        }
        Action::Completed { attempt, epoch } => format!("completed {attempt} epoch {epoch}"),
        Action::Aborted { attempt, epoch } => format!("aborted {attempt} epoch {epoch}"),
        Action::Cancel { attempt } => format!("cancel {attempt}"),
        Action::Commit { commit, tokens } => format!("commit {commit}{}", self::tokens(tokens)),
        Action::Abort { tokens } => format!("abort{}", self::tokens(tokens)),
        Action::Ended(JobEnd::Failed { message }) => format!("ENDED failed: {message}"),
        Action::Ended(JobEnd::Stopped { savepoint }) => format!("ENDED stopped with savepoint {savepoint}"),
        Action::Ended(end) => format!("ENDED {}", format!("{end:?}").to_lowercase()),
        Action::Note(note) => self::note(note),
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::Running { .. } => "running".into(),
        Note::Restarting { reason, delay_ms, from, region } => {
            let from = from.map_or("the start".into(), |e| format!("epoch {e}"));
            let region = region.map_or(String::new(), |r| format!(" region {r}"));
            format!("restarting{region} in {delay_ms} ms from {from}: {reason}")
        }
        Note::CheckpointDone { epoch, stats } => format!("done {:?} {epoch} in {} ms", stats.kind, stats.duration_ms),
        Note::CheckpointFailed { epoch, reason } => format!("failed checkpoint {epoch}: {reason}"),
    }
}

pub(super) fn request(request: &StorageOp) -> String {
    match request {
        StorageOp::List(prefix) => format!("list {prefix}"),
        StorageOp::Get(name) => format!("get {}", short(name)),
        StorageOp::PutIfAbsent(name, bytes) => format!("put {}", stored(name, bytes)),
        StorageOp::Replace(name, bytes) => format!("replace {}", stored(name, bytes)),
        StorageOp::Delete(name) => format!("delete {}", short(name)),
    }
}

pub(super) fn stored(name: &str, bytes: &[u8]) -> String {
    let what = match record_position(name).map(|_| Record::decode(name, bytes)) {
        None => return name.to_string(),
        Some(Err(e)) => e.to_string(),
        Some(Ok(Record::Claim(c))) => format!("claim {:?}", c.start).to_lowercase(),
        Some(Ok(Record::Retired { epoch, .. })) => format!("retired epoch {epoch}"),
        Some(Ok(Record::Manifest(m))) => format!("{:?} epoch {}{}{}", m.kind, m.epoch, finished(&m), tokens(&m.tokens)),
    };
    format!("{}: {what}", short(name))
}

fn short(name: &str) -> String {
    record_position(name).map_or(name.to_string(), |p| format!("log/{p}"))
}

fn finished(manifest: &Manifest) -> String {
    let all = manifest.operators.iter().flat_map(|(uid, o)| o.subtasks.iter().map(move |(i, s)| (uid, i, s.finished)));
    let finished: Vec<String> = all.filter(|(.., finished)| *finished).map(|(uid, i, _)| format!("{uid}/{i}")).collect();
    if finished.is_empty() { String::new() } else { format!(" finished {}", finished.join(" ")) }
}

fn tokens(tokens: &[CommitToken]) -> String {
    tokens.iter().map(|t| format!(" {}@{}", t.sink, t.epoch)).collect()
}
