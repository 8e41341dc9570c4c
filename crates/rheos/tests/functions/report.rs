//! How many cases of each file agree.

use std::collections::BTreeMap;

use super::verdict::Verdict;

#[derive(Default)]
struct Counts {
    cases: usize,
    agree: usize,
    differ: usize,
    refused: usize,
    not_applicable: usize,
    types_agree: usize,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        self.cases += 1;
        match verdict {
            Verdict::Agrees { other_type } => {
                self.agree += 1;
                self.types_agree += usize::from(other_type.is_none());
            }
            Verdict::Differs(_) => self.differ += 1,
            Verdict::Refused(_) => self.refused += 1,
            Verdict::NotApplicable(_) => self.not_applicable += 1,
        }
    }

    fn row(&self, name: &str) -> String {
        let applicable = self.cases - self.not_applicable;
        let percent = if applicable == 0 { String::new() } else { format!("{:.1} %", 100.0 * self.agree as f64 / applicable as f64) };
        format!(
            "{name:<34}{:>7}{:>7}{:>8}{:>9}{:>9}{:>9}{percent:>10}\n",
            self.cases, self.agree, self.differ, self.refused, self.not_applicable, self.types_agree
        )
    }
}

/// A table of counts by file; the last column is how many of the applicable cases agree, the one before how many of those have
/// Flink's type too.
pub(crate) fn table<'a>(verdicts: impl Iterator<Item = (&'a str, &'a Verdict)>) -> String {
    let (mut by_file, mut all) = (BTreeMap::<&str, Counts>::new(), Counts::default());
    let mut reasons = BTreeMap::<&str, usize>::new();
    for (file, verdict) in verdicts {
        by_file.entry(file).or_default().add(verdict);
        all.add(verdict);
        if let Verdict::NotApplicable(reason) = verdict {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let mut text = format!("{:<34}{:>7}{:>7}{:>8}{:>9}{:>9}{:>9}\n", "file", "cases", "agree", "differ", "refused", "n/a", "types");
    by_file.iter().for_each(|(file, counts)| text.push_str(&counts.row(file)));
    text.push_str(&all.row("all"));
    reasons.iter().for_each(|(reason, count)| text.push_str(&format!("not applicable: {count} for {reason}\n")));
    text
}
