//! `rheos checkpoints list`: the jobs and their snapshots.

use rheos::snapshots::{JobFolder, StartKind};

use super::{Form, kind_name, storage_options};
use crate::args::PlaceArgs;
use crate::failure::Failure;
use crate::figures::moment;
use crate::run::write_out;

/// The columns of each job's table; elsewhere than on a terminal the job comes first.
const HEADER: [&str; 8] = ["epoch", "kind", "taken (UTC)", "took (ms)", "bytes", "operators", "generation", "path"];

pub(super) fn list(args: &PlaceArgs, all: bool, form: Form) -> Result<(), Failure> {
    let folders = rheos::snapshots::list(&args.path, &storage_options(args)?).map_err(Failure::of_start)?;
    for (path, error) in folders.iter().flat_map(|folder| &folder.unreadable) {
        eprintln!("warning: the record '{path}' cannot be read: {error}");
    }
    if form.terminal {
        let texts: Vec<String> = folders.iter().map(|folder| of_job(folder, all, form)).collect();
        return write_out(&texts.join("\n"));
    }
    let with_job = |folder: &JobFolder| {
        let job = [folder.name.clone(), folder.id.clone()];
        rows(folder, all, form).into_iter().map(move |row| job.iter().cloned().chain(row).collect()).collect::<Vec<Vec<String>>>()
    };
    let rows: Vec<Vec<String>> = folders.iter().flat_map(with_job).collect();
    write_out(&form.table(&[["job", "id"].as_slice(), &HEADER].concat(), &rows))
}

fn of_job(folder: &JobFolder, all: bool, form: Form) -> String {
    let rows = rows(folder, all, form);
    let heading = format!("job '{}' ({}) in {}\n", folder.name, folder.id, folder.path);
    if rows.is_empty() { heading + "no snapshot was completed\n" } else { heading + &form.table(&HEADER, &rows) }
}

fn rows(folder: &JobFolder, all: bool, form: Form) -> Vec<Vec<String>> {
    let snapshot = |s: &rheos::snapshots::Snapshot| {
        let superseded = if s.superseded { ", superseded" } else { "" };
        let row = vec![
            s.epoch.to_string(),
            format!("{}{superseded}", kind_name(s.kind)),
            moment(s.started_ms),
            form.number(u64::try_from(s.completed_ms - s.started_ms).unwrap_or(0)),
            form.number(s.bytes),
            s.operators.to_string(),
            s.generation.to_string(),
            s.path.clone(),
        ];
        (s.path.clone(), row)
    };
    let mut rows: Vec<(String, Vec<String>)> = folder.snapshots.iter().map(snapshot).collect();
    if all {
        rows.extend(folder.claims.iter().map(|claim| {
            let start = match claim.start {
                StartKind::Fresh => "fresh",
                StartKind::Latest => "latest",
                StartKind::From => "from a snapshot",
            };
            let path = rheos::snapshots::record_path(&folder.path, claim.generation);
            let none = || "-".to_string();
            let kind = format!("claim, {start}");
            let row = vec![none(), kind, moment(claim.at_ms), none(), none(), none(), claim.generation.to_string(), path.clone()];
            (path, row)
        }));
    }
    // Of one folder, so that paths are in the order of the log.
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows.into_iter().map(|(_, row)| row).collect()
}
