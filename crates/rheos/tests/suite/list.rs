//! A checked-in list of what agrees with Apache Flink: it may only grow.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::is_update;

/// Fails where something on the list does not agree any more, and where something that does is not on the list. `what` names them,
/// `test` the program that adds to the list.
pub(crate) fn compare(path: &Path, what: &str, test: &str, agreeing: &BTreeSet<&str>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let listed: BTreeSet<&str> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let lost: Vec<&str> = listed.difference(agreeing).copied().collect();
    assert!(lost.is_empty(), "{} {what} of the list ({}) do not agree any more:\n  {}", lost.len(), path.display(), lost.join("\n  "));
    let new: Vec<&str> = agreeing.difference(&listed).copied().collect();
    if new.is_empty() {
        return;
    }
    if is_update() {
        let header: String = text.lines().take_while(|l| l.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let lines: String = agreeing.iter().map(|id| format!("{id}\n")).collect();
        fs::write(path, format!("{header}{lines}")).expect("the list is written");
        return;
    }
    panic!(
        "{} {what} agree that are not on the list. Add them with\n  \
         RHEOS_UPDATE=1 cargo nextest run -p rheos --test {test}\n  {}",
        new.len(),
        new.join("\n  ")
    );
}
