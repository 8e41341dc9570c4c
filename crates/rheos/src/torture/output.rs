//! What a job has written: the visible part files of a folder as changes, and what is hidden.

use std::fs;
use std::path::Path;

use rheos_core::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What rows a job writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// Rows that are only added, as `json`.
    Added,
    /// Changes of rows, as `debezium-json`.
    Changes {
        /// The columns by which changes replace rows; all of them where that is not known.
        key: Option<Vec<usize>>,
    },
}

/// A change of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Whether the row is added, or else removed.
    pub added: bool,
    /// The row as JSON, as it was written.
    pub row: String,
}

/// What became visible of a job's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The changes, in order for each writer.
    pub changes: Vec<Change>,
    /// The names of files that are hidden: of a job that has finished there should be none.
    pub hidden: Vec<String>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    before: Option<&'a RawValue>,
    #[serde(borrow)]
    after: Option<&'a RawValue>,
}

impl Output {
    /// Reads the part files of a folder.
    pub fn read(folder: &Path, rows: &Rows) -> Result<Output> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let name = name.into_string().map_err(|name| Error::corrupt(format!("a part file's name is not UTF-8: {}", name.display())))?;
            names.push(name);
        }
        let (mut hidden, mut parts): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.starts_with('.'));
        hidden.sort();
        parts.sort_by(|a, b| place(a).cmp(&place(b)));
        let mut changes = Vec::new();
        for name in parts {
            let text = fs::read_to_string(folder.join(&name))?;
            for (number, line) in text.lines().enumerate() {
                let wrong = |e: &dyn std::fmt::Display| Error::corrupt(format!("'{name}', line {}: {e}", number + 1));
                add_changes(line, rows, &mut changes).map_err(|e| wrong(&e))?;
            }
        }
        Ok(Output { changes, hidden })
    }
}

/// Writer and number of a part file, so that a writer's files come in their order.
fn place(name: &str) -> (&str, u64) {
    let stem = name.split('.').next().unwrap_or(name);
    match stem.rsplit_once('-') {
        Some((writer, number)) => (writer, number.parse().unwrap_or(u64::MAX)),
        None => (stem, 0),
    }
}

fn add_changes(line: &str, rows: &Rows, changes: &mut Vec<Change>) -> serde_json::Result<()> {
    if *rows == Rows::Added {
        // A line that was cut off is no JSON.
        let row: &RawValue = serde_json::from_str(line)?;
        changes.push(Change { added: true, row: row.get().to_string() });
        return Ok(());
    }
    let event: Event<'_> = serde_json::from_str(line)?;
    changes.extend(event.before.map(|row| Change { added: false, row: row.get().to_string() }));
    changes.extend(event.after.map(|row| Change { added: true, row: row.get().to_string() }));
    Ok(())
}
