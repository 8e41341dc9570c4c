//! The list of the programs that agree: it may only grow.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::suite::is_update;

const HEADER: &str =
    "# Flink's programs whose final tables agree over a savepoint. The list may only grow: RHEOS_UPDATE=1 adds what agrees by now.\n";

/// Fails where a program on the list does not agree any more, and where one that does is not on the list.
pub(crate) fn compare(path: &Path, agreeing: &BTreeSet<&str>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let listed: BTreeSet<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let lost: Vec<&str> = listed.difference(agreeing).copied().collect();
    assert!(lost.is_empty(), "{} programs of the list ({}) do not agree any more:\n  {}", lost.len(), path.display(), lost.join("\n  "));
    let new: Vec<&str> = agreeing.difference(&listed).copied().collect();
    if new.is_empty() {
        return;
    }
    if is_update() {
        let lines: String = agreeing.iter().map(|id| format!("{id}\n")).collect();
        fs::write(path, format!("{HEADER}{lines}")).expect("the list is written");
        return;
    }
    panic!(
        "{} programs agree that are not on the list. Add them with\n  \
         RHEOS_UPDATE=1 cargo nextest run -p rheos --test flink_programs\n  {}",
        new.len(),
        new.join("\n  ")
    );
}
