//! What is told of a tortured cluster.

use std::collections::BTreeMap;
use std::fmt;

use rheos::torture::{Comparison, Rows};

use super::fault::Kind;
use super::outcome::Outcome;
use super::recovery::{Recovery, Victim};

/// What came of one script.
pub(super) struct Report {
    /// What the script is called.
    pub(super) name: String,
    /// From which the faults followed.
    pub(super) seed: u64,
    /// What the job writes.
    pub(super) rows: Rows,
    /// Rows, or changes, of the run without faults.
    pub(super) reference_rows: u64,
    /// How long that took.
    pub(super) reference_ms: u64,
    /// Rows, or changes, of the cluster.
    pub(super) cluster_rows: u64,
    /// What the outputs differ in.
    pub(super) comparison: Comparison,
    /// Files that are still hidden.
    pub(super) hidden: Vec<String>,
    /// What befell the job, and what it did.
    pub(super) outcome: Outcome,
}

impl Report {
    /// Whether each row is there once, the job has finished, nothing is left behind, and no process has crashed.
    pub(super) fn held(&self) -> bool {
        let outcome = &self.outcome;
        self.comparison.differences.is_empty() && self.hidden.is_empty() && outcome.failure.is_none() && outcome.crashes.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, of) = if self.rows == Rows::Added { ("rows", "rows") } else { ("changes", "final table") };
        let outcome = &self.outcome;
        writeln!(f, "script           {}", self.name)?;
        writeln!(f, "without faults   {} {what} in {}", self.reference_rows, seconds(self.reference_ms))?;
        writeln!(f, "cluster          {} {what} in {}", self.cluster_rows, seconds(outcome.ms))?;
        write!(f, "faults           {} of {} while the job ran", outcome.begun.len(), outcome.planned)?;
        writeln!(f, ", {} restarts, {} snapshots", outcome.restarts, outcome.snapshots)?;
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        outcome.begun.iter().for_each(|kind| *counts.entry(*kind).or_default() += 1);
        for (kind, count) in counts {
            writeln!(f, "  {count:>5}  {}", kind.name())?;
        }
        if outcome.missed > 0 {
            writeln!(f, "missed moments   {} coordinators were killed at another moment than meant", outcome.missed)?;
        }
        for (victim, name) in [(Victim::Worker, "worker killed"), (Victim::Coordinator, "coordinator kill")] {
            recoveries(f, name, outcome.recoveries.iter().filter(|one| one.victim == victim).collect())?;
        }
        if outcome.fallen > 0 {
            writeln!(f, "fallen           {} times a process ended by itself", outcome.fallen)?;
        }
        for crash in &outcome.crashes {
            writeln!(f, "crashed          {crash}")?;
        }
        let differences = self.comparison.differences.named();
        let counts: Vec<String> = differences.iter().map(|(name, tally)| format!("{} {name}", tally.count)).collect();
        writeln!(f, "{of:<17}{}", counts.join(", "))?;
        for (name, tally) in differences {
            for row in &tally.examples {
                writeln!(f, "  {name}: {row}")?;
            }
        }
        if !self.hidden.is_empty() {
            writeln!(f, "left behind      {} hidden files, such as {}", self.hidden.len(), self.hidden[0])?;
        }
        if let Some(failure) = &outcome.failure {
            writeln!(f, "not finished     {failure}")?;
        }
        if outcome.begun.len() < outcome.planned && outcome.failure.is_none() {
            writeln!(f, "hint             the input ended before all faults had come: it is too short, or not paced")?;
        }
        writeln!(f, "{:<17}exactly once, seed {}", if self.held() { "held" } else { "BROKEN" }, self.seed)
    }
}

/// The times until the job was well again, of all kills and of those that no other fault came upon.
fn recoveries(f: &mut fmt::Formatter<'_>, name: &str, all: Vec<&Recovery>) -> fmt::Result {
    type Time = fn(&Recovery) -> Option<u64>;
    let times: [(&str, Time); 3] =
        [("running again", |one| one.running_ms), ("reading rows", |one| one.rows_ms), ("new output", |one| one.output_ms)];
    for (what, time) in times.into_iter().filter(|_| !all.is_empty()) {
        let any = spread(all.iter().filter_map(|one| time(one)).collect());
        let alone = spread(all.iter().filter(|one| !one.disturbed).filter_map(|one| time(one)).collect());
        writeln!(f, "{name:<17}{what:<15}{any}; undisturbed {alone}")?;
    }
    Ok(())
}

/// Median and maximum.
fn spread(mut times_ms: Vec<u64>) -> String {
    times_ms.sort_unstable();
    match (times_ms.get(times_ms.len() / 2), times_ms.last()) {
        (Some(median), Some(max)) => format!("p50 {} max {} of {}", seconds(*median), seconds(*max), times_ms.len()),
        _ => "never".into(),
    }
}

fn seconds(ms: u64) -> String {
    format!("{:.2} s", ms as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use rheos::Recovery as Promise;
    use rheos::torture::{Change, Output, compare};

    use super::*;

    fn report(cluster: &[&str], outcome: Outcome) -> Report {
        let output = |rows: &[&str]| Output {
            changes: rows.iter().map(|row| Change { added: true, row: row.to_string() }).collect(),
            hidden: vec![],
        };
        let comparison = compare(&output(&["1", "2"]), &output(cluster), &Rows::Added, Promise::Precise);
        Report {
            name: "q5".into(),
            seed: 7,
            rows: Rows::Added,
            reference_rows: 2,
            reference_ms: 10,
            cluster_rows: 2,
            comparison,
            hidden: vec![],
            outcome,
        }
    }

    #[test]
    fn only_the_same_rows_of_a_job_that_finished_hold() {
        assert!(report(&["2", "1"], Outcome::default()).held());
        assert!(!report(&["2", "1", "1"], Outcome::default()).held());
        assert!(!report(&["2", "1"], Outcome { failure: Some("no".into()), ..Outcome::default() }).held());
        assert!(!report(&["2", "1"], Outcome { crashes: vec!["worker-1".into()], ..Outcome::default() }).held());
    }

    #[test]
    fn faults_are_told_by_kind_and_rows_by_what_happened_to_them() {
        let begun = vec![Kind::KillWorker, Kind::PauseLong, Kind::KillWorker];
        let told = report(&["1"], Outcome { planned: 4, begun, ..Outcome::default() }).to_string();
        assert!(told.contains("3 of 4 while the job ran") && told.contains("      2  worker killed\n"), "{told}");
        assert!(told.contains("1 lost, 0 duplicated") && told.contains("  lost: 2\n") && told.contains("BROKEN"), "{told}");
        assert!(told.contains("hint"), "{told}");
    }

    #[test]
    fn times_are_told_by_median_and_maximum() {
        assert_eq!(spread(vec![3000, 1000, 2000]), "p50 2.00 s max 3.00 s of 3");
        assert_eq!(spread(vec![]), "never");
    }
}
