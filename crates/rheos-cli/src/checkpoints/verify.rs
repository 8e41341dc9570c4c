//! `rheos checkpoints verify`: whether everything that snapshots need is there and is what was written.

use rheos::snapshots::Verification;
use rheos::{Error, ErrorKind};

use super::{Form, storage_options};
use crate::args::PlaceArgs;
use crate::failure::Failure;
use crate::figures::count;
use crate::run::write_out;

pub(super) fn verify(args: &PlaceArgs, form: Form) -> Result<(), Failure> {
    let verified = rheos::snapshots::verify(&args.path, &storage_options(args)?).map_err(Failure::of_start)?;
    write_out(&text(&verified, form))?;
    let broken = verified.iter().map(|v| v.problems.len()).sum::<usize>() as u64;
    if broken == 0 {
        return Ok(());
    }
    Err(Failure::Job(Error::new(ErrorKind::Corrupt, format!("{} found in '{}'", count(broken, "problem"), args.path))))
}

fn text(verified: &[Verification], form: Form) -> String {
    let problems: Vec<Vec<String>> = verified
        .iter()
        .flat_map(|v| &v.problems)
        .flat_map(|p| p.needed_by.iter().map(|by| vec![p.path.clone(), p.what.clone(), by.clone()]))
        .collect();
    let mut text = String::new();
    if !problems.is_empty() {
        text.push_str(&format!("{}\n", form.table(&["file", "what is wrong", "what needs it"], &problems)));
    }
    for v in verified {
        let found = if v.problems.is_empty() { "all is well".into() } else { count(v.problems.len() as u64, "problem") };
        let of = format!(
            "{}, {} of the log, {} of {}",
            count(v.snapshots as u64, "snapshot"),
            count(v.records as u64, "record"),
            count(v.files as u64, "file"),
            count(v.bytes, "byte")
        );
        text.push_str(&format!("{}: {found}: {of}\n", v.path));
        match &v.orphans {
            Some(orphans) if !orphans.is_empty() => {
                let bytes = orphans.iter().map(|o| o.bytes).sum();
                let files = format!("{} of {}", count(orphans.len() as u64, "file"), count(bytes, "byte"));
                text.push_str(&format!("{files} that no snapshot names, left over or of one that is being taken:\n"));
                text.extend(orphans.iter().map(|o| format!("  {}\n", o.path)));
            }
            _ => {}
        }
    }
    text
}
