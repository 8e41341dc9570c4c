//! `rheos checkpoints`: what a folder of snapshots holds. Nothing is written to it.

mod list;
mod show;
mod verify;

use std::io::{self, IsTerminal};

use rheos::Session;
use rheos::snapshots::StorageOptions;
use rheos_core::element::CheckpointKind;

use crate::args::{CheckpointsCommand, PlaceArgs};
use crate::failure::Failure;
use crate::figures::{count, table};
use crate::settings::Settings;

/// Carries the command out.
pub(crate) fn checkpoints(command: &CheckpointsCommand) -> Result<(), Failure> {
    let form = Form { terminal: io::stdout().is_terminal() };
    match command {
        CheckpointsCommand::List(args) => list::list(&args.place, args.all, form),
        CheckpointsCommand::Show(args) => show::show(args, form),
        CheckpointsCommand::Verify(args) => verify::verify(args, form),
    }
}

/// How to reach the storage: from `--set`, the environment and `rheos.toml`, as for jobs.
fn storage_options(args: &PlaceArgs) -> Result<StorageOptions, Failure> {
    let mut session = Session::new();
    Settings::around(&args.set, None)?.apply(&mut session, None)?;
    Ok(session.storage_options())
}

/// Tables for people on a terminal, lines for programs elsewhere.
#[derive(Debug, Clone, Copy)]
struct Form {
    terminal: bool,
}

impl Form {
    fn table(self, header: &[&str], rows: &[Vec<String>]) -> String {
        if self.terminal {
            let header: Vec<String> = header.iter().map(|name| name.to_string()).collect();
            return table(&header, rows) + "\n";
        }
        let rows = rows.iter().map(|row| row.join("\t") + "\n");
        std::iter::once(header.join("\t") + "\n").chain(rows).collect()
    }

    /// Names and values, one pair a line.
    fn pairs(self, pairs: &[(&str, String)]) -> String {
        let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, value): &(&str, String)| {
            if self.terminal { format!("{name:width$}  {value}\n") } else { format!("{name}\t{value}\n") }
        };
        pairs.iter().map(line).collect()
    }

    fn number(self, n: u64) -> String {
        if self.terminal { count(n, "") } else { n.to_string() }
    }
}

/// The name of a kind, as manifests have it.
fn kind_name(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Checkpoint => "checkpoint",
        CheckpointKind::Savepoint => "savepoint",
        CheckpointKind::Final => "final",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_plain_numbers_and_tabs() {
        let rows = |form: Form| [vec!["a".to_string(), form.number(1234)]];
        let (people, programs) = (Form { terminal: true }, Form { terminal: false });
        assert_eq!(programs.table(&["x", "n"], &rows(programs)), "x\tn\na\t1234\n");
        assert_eq!(people.table(&["x", "n"], &rows(people)), " x ┆     n\n═══╪═══════\n a ┆ 1,234\n");
        let pairs = [("job", "q".to_string()), ("format", "1".to_string())];
        assert_eq!((programs.pairs(&pairs).as_str(), people.pairs(&pairs).as_str()), ("job\tq\nformat\t1\n", "job     q\nformat  1\n"));
    }
}
