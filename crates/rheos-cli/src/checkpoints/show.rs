//! `rheos checkpoints show`: one snapshot in detail.

use rheos::snapshots::{Details, StateInfo};

use super::{Form, kind_name, storage_options};
use crate::args::PlaceArgs;
use crate::failure::Failure;
use crate::figures::{count, moment};
use crate::run::write_out;

/// What the numbers of rows are.
const ROWS: &str = "base rows: in the bases, or items of a list; delta rows: new or replaced since, so that there are at most as many
live rows as both together, and exactly the base rows where there are no deltas; removed: keys that deltas remove";

pub(super) fn show(args: &PlaceArgs, form: Form) -> Result<(), Failure> {
    let details = rheos::snapshots::show(&args.path, &storage_options(args)?).map_err(Failure::of_start)?;
    write_out(&text(&details, form))
}

fn text(details: &Details, form: Form) -> String {
    let mut sections = vec![header(details, form), states(details, form)];
    let mut section = |title: &str, header: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            sections.push(format!("{title}\n{}", form.table(header, &rows)));
        }
    };
    let subtask = |(name, index): &(String, usize)| format!("{name}/{index}");
    section(
        "rows in flight",
        &["from", "to", "input", "rows", "bytes"],
        details
            .in_flight
            .iter()
            .map(|r| vec![subtask(&r.from), subtask(&r.to), r.port.to_string(), form.number(r.rows), form.number(r.bytes)])
            .collect(),
    );
    section(
        "splits of sources",
        &["source", "split", "position", "watermark (UTC)", "ended"],
        details
            .splits
            .iter()
            .map(|s| {
                let watermark = s.watermark_ms.map_or_else(|| "-".into(), moment);
                vec![s.uid.clone(), s.split.id.clone(), s.split.position.to_string(), watermark, s.ended.to_string()]
            })
            .collect(),
    );
    section(
        "to be committed",
        &["sink", "epoch", "what"],
        details.tokens.iter().map(|t| vec![t.sink.clone(), t.epoch.to_string(), t.payload.to_string()]).collect(),
    );
    let mut finished: Vec<&StateInfo> = details.states.iter().filter(|state| state.finished > 0).collect();
    finished.dedup_by(|a, b| a.uid == b.uid);
    section(
        "finished subtasks",
        &["operator", "uid", "finished", "of"],
        finished.iter().map(|s| vec![s.operator.clone(), s.uid.clone(), s.finished.to_string(), s.parallelism.to_string()]).collect(),
    );
    sections.join("\n")
}

fn header(details: &Details, form: Form) -> String {
    let Details { snapshot, job_id, job_name, rheos, format, files, files_in, .. } = details;
    let took_ms = snapshot.completed_ms - snapshot.started_ms;
    let mut pairs = vec![
        ("job", format!("{job_name} ({job_id})")),
        ("snapshot", format!("epoch {}, {}, of generation {}", snapshot.epoch, kind_name(snapshot.kind), snapshot.generation)),
        ("taken", format!("{} UTC, took {took_ms} ms", moment(snapshot.started_ms))),
        ("written by", format!("rheos {rheos}, format {format}")),
        ("state", format!("{}, {}", count(snapshot.bytes, "byte"), count(*files as u64, "file"))),
        ("path", snapshot.path.clone()),
    ];
    if let Some(folder) = files_in {
        pairs.push(("files in", folder.clone()));
    }
    if snapshot.superseded {
        pairs.push(("note", "the job began anew after it: it is restored only by its path".into()));
    }
    form.pairs(&pairs)
}

fn states(details: &Details, form: Form) -> String {
    let header =
        ["operator", "uid", "parallelism", "state", "kind", "base rows", "delta rows", "removed", "segments", "bytes", "key groups"];
    let row = |s: &StateInfo| {
        let number = |n: u64| if s.state.is_some() { form.number(n) } else { "-".into() };
        let keyed = |n: u64| if s.kind == Some("keyed") { form.number(n) } else { "-".into() };
        vec![
            s.operator.clone(),
            s.uid.clone(),
            s.parallelism.to_string(),
            s.state.clone().unwrap_or_else(|| "-".into()),
            s.kind.unwrap_or("-").to_string(),
            number(s.base_rows),
            keyed(s.delta_rows),
            keyed(s.removed),
            keyed(s.segments as u64),
            number(s.bytes),
            keyed(s.key_groups as u64),
        ]
    };
    let table = form.table(&header, &details.states.iter().map(row).collect::<Vec<_>>());
    if form.terminal { format!("{table}{ROWS}\n") } else { table }
}
