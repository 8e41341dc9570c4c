//! What came of a torture.

use std::fmt;

use super::compare::{Comparison, Repetition};
use super::lives::{Options, seconds};
use super::output::Rows;
use crate::Recovery;

/// What came of a torture.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it was done.
    pub options: Options,
    /// What the outputs differ in.
    pub comparison: Comparison,
    /// Rows, or changes, of the run without failure.
    pub reference_rows: u64,
    /// Rows, or changes, of the tortured job.
    pub rows: u64,
    /// How long the run without failure took.
    pub reference_ms: u64,
    /// How long all lives took together.
    pub ms: u64,
    /// How often the process was killed.
    pub kills: u64,
    /// How often the job started again within a process.
    pub restarts: u64,
    /// How many snapshots it completed.
    pub snapshots: u64,
    /// How many it began in vain.
    pub failed_snapshots: u64,
    /// Files that it left behind.
    pub hidden: Vec<String>,
    /// Why it did not finish.
    pub failure: Option<String>,
}

impl Report {
    /// Whether the job did what it promises: with precise recovery there are no differences, with rollback recovery nothing is
    /// lost; with gap recovery it goes on. And it leaves nothing behind.
    pub fn held(&self) -> bool {
        let differences = &self.comparison.differences;
        let rows = match self.options.recovery {
            Recovery::Precise => differences.is_empty(),
            Recovery::Rollback => differences.lost.count == 0,
            Recovery::Gap => true,
        };
        rows && self.hidden.is_empty() && self.failure.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.options.rows == Rows::Added { "rows" } else { "changes" };
        writeln!(f, "without failure  {} {what} in {}", self.reference_rows, seconds(self.reference_ms))?;
        writeln!(f, "under torture    {} {what} in {}", self.rows, seconds(self.ms))?;
        let (kills, wanted) = (self.kills, self.options.kills);
        write!(f, "survived         {kills} kills")?;
        if kills < wanted {
            write!(f, " of {wanted}")?;
        }
        writeln!(f, ", {} restarts, {} snapshots, {} failed ones", self.restarts, self.snapshots, self.failed_snapshots)?;
        let of = if self.options.rows == Rows::Added { "rows" } else { "final table" };
        let counts = self.comparison.differences.named().map(|(name, tally)| format!("{} {name}", tally.count)).join(", ");
        writeln!(f, "{of:<17}{counts}")?;
        for (name, tally) in self.comparison.differences.named().into_iter().filter(|_| !self.held()) {
            for row in &tally.examples {
                writeln!(f, "  {name}: {row}")?;
            }
        }
        if self.options.recovery == Recovery::Rollback {
            writeln!(f, "repetition       {}", repetition(&self.comparison))?;
        }
        if !self.hidden.is_empty() {
            writeln!(f, "left behind      {} hidden files, such as {}", self.hidden.len(), self.hidden[0])?;
        }
        if let Some(failure) = &self.failure {
            writeln!(f, "not finished     {failure}")?;
        }
        if self.options.recovery == Recovery::Precise && self.comparison.differences.changed.count * 2 > self.reference_rows {
            writeln!(f, "hint             most rows differ: does the job read the clock (PROCTIME(), NOW(), 'base-time' = 'now')?")?;
        }
        let (verdict, name) = (if self.held() { "held" } else { "BROKEN" }, name(self.options.recovery));
        writeln!(f, "{verdict:<17}{name} recovery, seed {}", self.options.seed)
    }
}

fn repetition(comparison: &Comparison) -> String {
    let kind = match comparison.repetition {
        Repetition::None => "none",
        Repetition::Repeating => "repeating: the same rows came again",
        Repetition::Convergent => "convergent: other rows came first, then the same",
        Repetition::Divergent => "divergent: some rows never came again as they were",
    };
    match comparison.repeated_changes {
        0 => kind.to_string(),
        n => format!("{kind}; folding by key hides it, by counting {n} changes came again"),
    }
}

fn name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Precise => "precise",
        Recovery::Rollback => "rollback",
        Recovery::Gap => "gap",
    }
}
