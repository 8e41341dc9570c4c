//! What came of a job under torture, before its output is looked at.

use super::fault::Kind;
use super::recovery::Recovery;

/// What came of a job under torture.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How many faults were to come.
    pub(super) planned: usize,
    /// The kinds of those that came before the job had ended.
    pub(super) begun: Vec<Kind>,
    /// How many kills did not meet their moment.
    pub(super) missed: u64,
    /// How often the job started again.
    pub(super) restarts: u64,
    /// How many snapshots it completed.
    pub(super) snapshots: u64,
    /// What came after each kill.
    pub(super) recoveries: Vec<Recovery>,
    /// How often a process ended by itself.
    pub(super) fallen: u64,
    /// Those of them that panicked or were ended by a signal.
    pub(super) crashes: Vec<String>,
    /// How long the job took.
    pub(super) ms: u64,
    /// Why it did not finish.
    pub(super) failure: Option<String>,
}

/// A count that begins anew with every coordinator.
#[derive(Debug, Default)]
pub(super) struct Counter {
    before: u64,
    last: u64,
}

impl Counter {
    /// The count was seen.
    pub(super) fn count(&mut self, seen: u64) {
        if seen < self.last {
            self.before += self.last;
        }
        self.last = seen;
    }

    /// Over all coordinators, as far as was seen.
    pub(super) fn total(&self) -> u64 {
        self.before + self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_goes_on_with_the_next_coordinator() {
        let mut counter = Counter::default();
        [0, 2, 5, 0, 1, 1, 3].into_iter().for_each(|seen| counter.count(seen));
        assert_eq!(counter.total(), 8);
    }
}
