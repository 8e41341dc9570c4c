//! The outside world behind the sinks: what was prepared, what is visible, what was thrown away.

use std::collections::{BTreeMap, BTreeSet};

use rheos_core::sink::CommitToken;

use crate::invariant::{Invariant, Violation};
use crate::job::Row;

#[derive(Debug, Default)]
pub(crate) struct Outside {
    prepared: BTreeMap<String, Vec<Row>>,
    committed: BTreeSet<String>,
    aborted: BTreeSet<String>,
    /// How often each row is visible.
    visible: BTreeMap<Row, u32>,
    /// Whether a row may be visible more than once.
    duplicates_allowed: bool,
    /// Whether commits are not idempotent (a planted error).
    repeats: bool,
}

impl Outside {
    pub(crate) fn new(duplicates_allowed: bool, repeats: bool) -> Self {
        Outside { duplicates_allowed, repeats, ..Outside::default() }
    }

    pub(crate) fn prepare(&mut self, id: String, rows: Vec<Row>) {
        self.prepared.insert(id, rows);
    }

    /// Makes what a token names visible. True if it was not before.
    pub(crate) fn commit(&mut self, token: &CommitToken, expected: &BTreeSet<Row>) -> Result<bool, Violation> {
        let id = id(token);
        if self.aborted.contains(&id) {
            return Err(Violation::new(Invariant::ExactlyOnce, format!("output {id} is committed after it was thrown away")));
        }
        if !self.committed.insert(id.clone()) && !self.repeats {
            return Ok(false);
        }
        for row in self.prepared.get(&id).into_iter().flatten() {
            let times = self.visible.entry(*row).or_default();
            *times += 1;
            if !expected.contains(row) {
                return Err(Violation::new(Invariant::ExactlyOnce, format!("row {row:?} of {id} is wrong")));
            }
            if *times > 1 && !self.duplicates_allowed {
                return Err(Violation::new(Invariant::ExactlyOnce, format!("row {row:?} of {id} is visible {times} times")));
            }
        }
        Ok(true)
    }

    pub(crate) fn abort(&mut self, token: &CommitToken) -> Result<(), Violation> {
        let id = id(token);
        if self.committed.contains(&id) {
            return Err(Violation::new(Invariant::ExactlyOnce, format!("output {id} is thrown away after it was committed")));
        }
        self.aborted.insert(id);
        Ok(())
    }

    /// At the end all rows must be there.
    pub(crate) fn check_all(&self, expected: &BTreeSet<Row>) -> Result<(), Violation> {
        let Some(missing) = expected.iter().find(|row| !self.visible.contains_key(row)) else { return Ok(()) };
        let invariant = if self.duplicates_allowed { Invariant::NothingLost } else { Invariant::ExactlyOnce };
        let count = expected.iter().filter(|row| !self.visible.contains_key(row)).count();
        Err(Violation::new(invariant, format!("{count} rows are missing at the end, {missing:?} among them")))
    }
}

fn id(token: &CommitToken) -> String {
    token.payload.as_str().unwrap_or_default().to_string()
}
