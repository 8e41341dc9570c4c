//! Many cases, one after the other, and what came of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use anyhow::Result;

use crate::answer::Oracle;
use crate::case::Case;
use crate::difference::{Outcome, compare};
use crate::{file, minimise};

/// What came of many cases.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many cases there were.
    pub cases: usize,
    /// How many agree on rows.
    pub agree: usize,
    /// How many agree that there are none.
    pub agree_on_nothing: usize,
    /// What Rheos refused, with the seeds.
    pub refused: BTreeMap<String, Vec<u64>>,
    /// What DataFusion refused or failed at, with the seeds.
    pub no_oracle: BTreeMap<String, Vec<u64>>,
    /// What queries had, how often.
    pub shapes: BTreeMap<&'static str, usize>,
    /// The cases that differ: their seeds, and the smallest that still differs as a file.
    pub differ: Vec<(u64, String)>,
}

/// Runs the cases of some seeds; `told` as in [`compare`].
pub fn run(seeds: Range<u64>, told: impl Fn(String) -> String + Copy) -> Result<Summary> {
    let oracle = Oracle::new()?;
    let mut summary = Summary::default();
    for seed in seeds {
        let (case, shapes) = Case::random(seed);
        summary.cases += 1;
        shapes.into_iter().for_each(|shape| *summary.shapes.entry(shape).or_default() += 1);
        match compare(&case, &oracle, told) {
            Outcome::Agrees(0) => summary.agree_on_nothing += 1,
            Outcome::Agrees(_) => summary.agree += 1,
            Outcome::Refused(reason) => summary.refused.entry(first_line(&reason)).or_default().push(seed),
            Outcome::NoOracle(reason) => summary.no_oracle.entry(first_line(&reason)).or_default().push(seed),
            Outcome::Differs { .. } => {
                let smallest = minimise(case, |case| compare(case, &oracle, told).is_wrong());
                if let Outcome::Differs { rheos, datafusion } = compare(&smallest, &oracle, told) {
                    summary.differ.push((seed, file::write(&smallest, &datafusion, &rheos)?));
                }
            }
        }
    }
    Ok(summary)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: &BTreeMap<String, Vec<u64>>| of.values().map(Vec::len).sum::<usize>();
        writeln!(f, "{} queries: {} agree on rows, {} on none", self.cases, self.agree, self.agree_on_nothing)?;
        writeln!(f, "{} differ, {} refused, {} without an oracle", self.differ.len(), count(&self.refused), count(&self.no_oracle))?;
        let shapes: Vec<String> = self.shapes.iter().map(|(shape, count)| format!("{shape} {count}")).collect();
        writeln!(f, "{}", shapes.join(", "))?;
        for (what, of) in [("refused", &self.refused), ("no oracle", &self.no_oracle)] {
            for (reason, seeds) in of {
                writeln!(f, "{what}, {} times, first with seed {}: {reason}", seeds.len(), seeds[0])?;
            }
        }
        for (seed, text) in &self.differ {
            writeln!(f, "\nseed {seed} differs; the smallest case that does:\n{text}")?;
        }
        Ok(())
    }
}
