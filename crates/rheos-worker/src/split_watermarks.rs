//! Watermarks of a source subtask: one generator for each split, merged by minimum, none held back by an idle split.

use rheos_core::source::WatermarkGenerator;
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs, Watermark, WatermarkMerger};
use rheos_core::{Batch, Result};

/// Knows how far event time is on each split.
///
/// Idleness counts only while a split is polled: one that waits for its turn holds the watermark back. It is measured on a clock of the caller's (`active_ns`) that stands still while the task waits for its output: a
/// split that is not polled for that reason is not idle.
pub(crate) struct SplitWatermarks {
    /// Empty where the table declares no watermark.
    generators: Vec<Box<dyn WatermarkGenerator>>,
    merger: WatermarkMerger,
    splits: Vec<SplitState>,
    idle_timeout_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct SplitState {
    /// When it last had rows or began to be polled.
    rows_at_ns: u64,
    polled: bool,
    idle: bool,
    /// It is idle since nothing waits in it while another split leads.
    aside: bool,
    ended: bool,
}

impl SplitState {
    fn may_become_idle(&self) -> bool {
        self.polled && !self.idle && !self.ended
    }
}

/// The rows up to `end` are followed by these watermarks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowMark {
    pub(crate) end: usize,
    pub(crate) said: Vec<Watermark>,
}

impl SplitWatermarks {
    /// For `splits` splits that have been polled since `active_ns`. There is a generator for each, or none at all.
    pub(crate) fn new(generators: Vec<Box<dyn WatermarkGenerator>>, splits: usize, idle_timeout_ms: Option<u64>, active_ns: u64) -> Self {
        let idle_timeout_ns = idle_timeout_ms.map(|ms| ms.saturating_mul(1_000_000));
        let state = SplitState { rows_at_ns: active_ns, polled: true, idle: false, aside: false, ended: false };
        SplitWatermarks { generators, merger: WatermarkMerger::new(splits), splits: vec![state; splits], idle_timeout_ns }
    }

    /// A split goes on from a snapshot in which its watermark was `at`.
    pub(crate) fn restore(&mut self, split: usize, at: TimestampMs) {
        self.merger.update(split, Watermark::At(at));
    }

    /// What is known before the first row: to be said when the splits go on from a snapshot.
    pub(crate) fn current(&self) -> Vec<Watermark> {
        Some(self.merger.current()).filter(|at| *at > MIN_WATERMARK).map(Watermark::At).into_iter().collect()
    }

    /// The watermark of one split.
    pub(crate) fn of_split(&self, split: usize) -> TimestampMs {
        self.merger.of_input(split)
    }

    /// Whether a split has no more rows.
    pub(crate) fn has_ended(&self, split: usize) -> bool {
        self.splits[split].ended
    }

    /// The reader polls these splits from now on.
    pub(crate) fn polled(&mut self, is_polled: impl Fn(usize) -> bool, active_ns: u64) {
        if self.idle_timeout_ns.is_none() {
            return;
        }
        for (i, split) in self.splits.iter_mut().enumerate() {
            let was_polled = std::mem::replace(&mut split.polled, is_polled(i));
            if split.polled && !was_polled {
                split.rows_at_ns = active_ns;
            }
        }
    }

    /// In these splits nothing waits to be read: what is to be said. They are idle, all but the furthest where nothing waits in any.
    pub(crate) fn drained(&mut self, drained: &[bool], active_ns: u64) -> Vec<Watermark> {
        let all = (0..self.splits.len()).filter(|i| !self.splits[*i].ended);
        let (empty, waiting): (Vec<usize>, Vec<usize>) = all.partition(|i| drained[*i]);
        let leader = if waiting.is_empty() { empty.iter().copied().max_by_key(|i| self.merger.of_input(*i)) } else { None };
        let mut said = Vec::new();
        // One that leads, and has become idle, stays so.
        for i in waiting.into_iter().chain(leader.filter(|i| self.splits[*i].aside)) {
            let split = &mut self.splits[i];
            split.aside = false;
            if std::mem::take(&mut split.idle) {
                split.rows_at_ns = active_ns;
                said.extend(self.merger.update(i, Watermark::Active));
            }
        }
        for i in empty.into_iter().filter(|i| Some(*i) != leader) {
            let split = &mut self.splits[i];
            split.aside = true;
            if !std::mem::replace(&mut split.idle, true) {
                said.extend(self.merger.update(i, Watermark::Idle));
            }
        }
        said
    }

    /// A split has rows: what is to be said before them.
    pub(crate) fn before_rows(&mut self, split: usize, active_ns: u64) -> Vec<Watermark> {
        let state = &mut self.splits[split];
        state.rows_at_ns = active_ns;
        if std::mem::take(&mut state.idle) { self.merger.update(split, Watermark::Active) } else { Vec::new() }
    }

    /// What is to be said after the rows of a batch.
    pub(crate) fn after_rows(&mut self, split: usize, batch: &Batch) -> Result<Vec<Watermark>> {
        let Some(generator) = self.generators.get_mut(split) else { return Ok(Vec::new()) };
        Ok(match generator.watermark(batch)? {
            Some(at) => self.advance(split, at),
            None => Vec::new(),
        })
    }

    /// What is to be said within a batch, after which rows.
    pub(crate) fn after_each_row(&mut self, split: usize, batch: &Batch) -> Result<Vec<RowMark>> {
        let Some(generator) = self.generators.get_mut(split) else { return Ok(Vec::new()) };
        let by_row = generator.watermarks(batch)?;
        let mut marks = Vec::new();
        for (row, at) in by_row.into_iter().enumerate() {
            if let Some(at) = at {
                let said = self.advance(split, at);
                if !said.is_empty() {
                    marks.push(RowMark { end: row + 1, said });
                }
            }
        }
        Ok(marks)
    }

    /// A split has no more rows: what is to be said.
    pub(crate) fn split_end(&mut self, split: usize) -> Vec<Watermark> {
        self.splits[split].ended = true;
        self.merger.update(split, Watermark::At(MAX_WATERMARK))
    }

    /// All splits have ended: what is to be said, at least once the end of time.
    pub(crate) fn end(&mut self) -> Vec<Watermark> {
        let mut said: Vec<Watermark> = (0..self.splits.len())
            .filter(|s| !self.splits[*s].ended)
            .collect::<Vec<_>>()
            .into_iter()
            .flat_map(|s| self.split_end(s))
            .collect();
        if self.splits.is_empty() {
            said.push(Watermark::At(MAX_WATERMARK));
        }
        said
    }

    /// When the next split becomes idle if no rows come.
    pub(crate) fn next_idle_ns(&self) -> Option<u64> {
        let timeout_ns = self.idle_timeout_ns?;
        self.splits.iter().filter(|s| s.may_become_idle()).map(|s| s.rows_at_ns.saturating_add(timeout_ns)).min()
    }

    /// Finds splits that have become idle: what is to be said.
    pub(crate) fn idle(&mut self, active_ns: u64) -> Vec<Watermark> {
        let Some(timeout_ns) = self.idle_timeout_ns else { return Vec::new() };
        let mut said = Vec::new();
        for (i, split) in self.splits.iter_mut().enumerate() {
            if split.may_become_idle() && active_ns >= split.rows_at_ns.saturating_add(timeout_ns) {
                split.idle = true;
                said.extend(self.merger.update(i, Watermark::Idle));
            }
        }
        said
    }

    fn advance(&mut self, split: usize, at: TimestampMs) -> Vec<Watermark> {
        // The end of time is said by the end of the split alone.
        let at = at.min(MAX_WATERMARK - 1);
        if at > self.merger.of_input(split) { self.merger.update(split, Watermark::At(at)) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use Watermark::*;
    use rheos_core::rows::RowBatch;

    use super::*;

    /// The rows are the watermarks.
    struct Given;

    impl WatermarkGenerator for Given {
        fn watermarks(&mut self, batch: &Batch) -> Result<Vec<Option<TimestampMs>>> {
            let Batch::Rows(rows) = batch else { return Ok(Vec::new()) };
            Ok(rows.downcast_ref::<i64>().unwrap().iter().map(|v| Some(*v).filter(|v| *v >= 0)).collect())
        }
    }

    fn splits(count: usize, idle_timeout_ms: Option<u64>) -> SplitWatermarks {
        let generators = (0..count).map(|_| Box::new(Given) as Box<dyn WatermarkGenerator>).collect();
        SplitWatermarks::new(generators, count, idle_timeout_ms, 0)
    }

    fn rows(values: &[i64]) -> Batch {
        RowBatch::new(values.to_vec()).into()
    }

    #[test]
    fn the_slowest_split_leads_and_an_ended_one_holds_nobody_back() {
        let mut s = splits(2, None);
        assert_eq!(s.after_rows(0, &rows(&[5, 9, 7])).unwrap(), vec![]);
        assert_eq!(s.after_rows(1, &rows(&[3])).unwrap(), vec![At(3)]);
        assert_eq!(s.after_rows(1, &rows(&[2])).unwrap(), vec![], "it never falls");
        assert_eq!(s.split_end(1), vec![At(9)]);
        assert_eq!(s.end(), vec![At(MAX_WATERMARK)]);
    }

    #[test]
    fn a_row_that_advances_the_watermark_is_followed_by_it() {
        let mut s = splits(1, None);
        let marks = s.after_each_row(0, &rows(&[-1, 4, 2, 4, 6])).unwrap();
        assert_eq!(marks, vec![RowMark { end: 2, said: vec![At(4)] }, RowMark { end: 5, said: vec![At(6)] }]);
    }

    #[test]
    fn a_silent_split_becomes_idle_and_wakes_before_its_rows() {
        let mut s = splits(2, Some(1));
        s.after_rows(0, &rows(&[10])).unwrap();
        s.before_rows(0, 900_000);
        assert_eq!(s.next_idle_ns(), Some(1_000_000));
        assert_eq!(s.idle(999_999), vec![]);
        assert_eq!(s.idle(1_000_000), vec![At(10)], "split 1 is idle");
        assert_eq!(s.next_idle_ns(), Some(1_900_000));
        assert_eq!(s.idle(1_900_000), vec![Idle]);
        assert_eq!(s.next_idle_ns(), None);
        assert_eq!(s.before_rows(1, 2_000_000), vec![Active]);
        assert_eq!(s.after_rows(1, &rows(&[4])).unwrap(), vec![], "behind what was said");
        assert_eq!(s.after_rows(1, &rows(&[12])).unwrap(), vec![At(12)]);
        assert_eq!(s.end(), vec![At(MAX_WATERMARK)]);
    }

    #[test]
    fn a_split_that_waits_for_its_turn_is_not_idle_and_holds_the_watermark_back() {
        let mut s = splits(2, Some(1));
        s.polled(|split| split == 0, 0);
        s.after_rows(0, &rows(&[10])).unwrap();
        assert_eq!(s.next_idle_ns(), Some(1_000_000));
        assert_eq!(s.idle(5_000_000), vec![], "split 0 is idle, split 1 waits");
        assert_eq!(s.next_idle_ns(), None);
        assert_eq!(s.split_end(0), vec![]);
        s.polled(|split| split == 1, 6_000_000);
        s.polled(|split| split == 1, 6_500_000);
        assert_eq!(s.next_idle_ns(), Some(7_000_000), "its clock starts with its turn");
        assert_eq!(s.after_rows(1, &rows(&[4])).unwrap(), vec![At(4)]);
    }

    #[test]
    fn a_split_in_which_nothing_waits_holds_nobody_back_but_the_last_one_keeps_its_place() {
        let mut s = splits(3, Some(1));
        assert_eq!(s.drained(&[true, true, true], 0), vec![], "one of them stays");
        assert_eq!(s.drained(&[true, false, false], 0), vec![], "two have something");
        assert_eq!(s.before_rows(1, 0), vec![]);
        assert_eq!(s.after_rows(1, &rows(&[10])).unwrap(), vec![], "the other waits");
        assert_eq!(s.drained(&[true, true, false], 0), vec![]);
        assert_eq!(s.after_rows(2, &rows(&[7])).unwrap(), vec![At(7)]);
        assert_eq!(s.drained(&[true, true, true], 0), vec![At(10)], "nothing waits: the furthest leads");
        assert_eq!(s.next_idle_ns(), Some(1_000_000));
        assert_eq!(s.idle(1_000_000), vec![Idle], "all of them");
        assert_eq!(s.drained(&[true, true, true], 1_000_000), vec![]);
        assert_eq!(s.drained(&[false, true, true], 2_000_000), vec![Active]);
        assert_eq!(s.after_rows(0, &rows(&[8])).unwrap(), vec![], "behind what was said");
        assert_eq!(s.after_rows(0, &rows(&[12])).unwrap(), vec![At(12)]);
        assert_eq!(s.drained(&[true, true, true], 2_000_000), vec![]);
        assert_eq!(s.next_idle_ns(), Some(3_000_000));
    }

    #[test]
    fn a_source_without_splits_or_watermarks_says_the_end_of_time_once() {
        assert_eq!(SplitWatermarks::new(Vec::new(), 0, None, 0).end(), vec![At(MAX_WATERMARK)]);
        let mut s = SplitWatermarks::new(Vec::new(), 2, None, 0);
        assert_eq!(s.after_rows(0, &rows(&[5])).unwrap(), vec![]);
        assert_eq!(s.split_end(0), vec![]);
        assert_eq!(s.end(), vec![At(MAX_WATERMARK)]);
    }
}
