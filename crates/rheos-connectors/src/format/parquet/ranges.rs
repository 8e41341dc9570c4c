//! The rows of a file that are to be read, as ranges in order.

use std::collections::VecDeque;
use std::ops::Range;

use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

/// Ranges of rows, none empty, each behind the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(VecDeque<Range<u64>>);

impl Ranges {
    /// Adds the rows of a range that are not before `from`. Ranges come in order.
    pub(super) fn push(&mut self, range: Range<u64>, from: u64) {
        let start = range.start.max(from);
        if start >= range.end {
            return;
        }
        match self.0.back_mut() {
            Some(last) if last.end == start => last.end = range.end,
            _ => self.0.push_back(start..range.end),
        }
    }

    /// The rows that are in both.
    pub(super) fn intersect(&self, other: &Ranges) -> Ranges {
        let mut both = Ranges::default();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (ours.peek(), theirs.peek()) {
            both.push(a.start.max(b.start)..a.end.min(b.end), 0);
            if a.end <= b.end {
                ours.next()
            } else {
                theirs.next()
            };
        }
        both
    }

    /// The rows that are in one of them.
    pub(super) fn union(&self, other: &Ranges) -> Ranges {
        let mut either = Ranges::default();
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut end = 0;
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) if b.start < a.start => theirs.next(),
                (None, _) => theirs.next(),
                _ => ours.next(),
            };
            let Some(range) = next else { return either };
            either.push(range.clone(), end);
            end = end.max(range.end);
        }
    }

    /// Whether any of these rows is to be read.
    pub(super) fn touches(&self, rows: &Range<u64>) -> bool {
        self.0.iter().any(|range| range.start < rows.end && rows.start < range.end)
    }

    /// What of `groups`, read one after the other, is to be read.
    pub(super) fn selection(&self, groups: &[Range<u64>]) -> RowSelection {
        let mut selectors: Vec<RowSelector> = Vec::new();
        for group in groups {
            let mut at = group.start;
            for range in &self.0 {
                let (start, end) = (range.start.max(group.start), range.end.min(group.end));
                if start < end {
                    selectors.push(RowSelector::skip((start - at) as usize));
                    selectors.push(RowSelector::select((end - start) as usize));
                    at = end;
                }
            }
            selectors.push(RowSelector::skip((group.end - at) as usize));
        }
        selectors.into_iter().filter(|selector| selector.row_count > 0).collect::<Vec<_>>().into()
    }

    /// Takes the next `rows` rows off, and says which row of the file is the next, if there is one.
    pub(super) fn take(&mut self, mut rows: u64) -> Option<u64> {
        while let Some(first) = self.0.front_mut() {
            let taken = rows.min(first.end - first.start);
            first.start += taken;
            rows -= taken;
            if first.start < first.end {
                return Some(first.start);
            }
            self.0.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(of: &[Range<u64>]) -> Ranges {
        let mut ranges = Ranges::default();
        of.iter().for_each(|range| ranges.push(range.clone(), 0));
        ranges
    }

    #[test]
    fn ranges_are_joined_cut_and_taken_from_the_front() {
        let mut r = Ranges::default();
        for range in [0..5, 5..9, 9..9, 12..20] {
            r.push(range, 3);
        }
        assert_eq!(r, ranges(&[3..9, 12..20]));
        assert_eq!(r.intersect(&ranges(&[0..4, 8..13, 19..30])), ranges(&[3..4, 8..9, 12..13, 19..20]));
        assert_eq!(r.union(&ranges(&[0..4, 8..10, 20..21, 30..31])), ranges(&[0..10, 12..21, 30..31]));
        assert_eq!(r.union(&Ranges::default()), r);
        assert!(r.touches(&(8..12)) && !r.touches(&(9..12)));
        assert_eq!(r.take(0), Some(3));
        assert_eq!(r.take(4), Some(7));
        assert_eq!(r.take(2), Some(12), "what lies between is passed over");
        assert_eq!(r.take(8), None);
    }

    #[test]
    fn a_selection_counts_only_the_groups_that_are_read() {
        let picked = ranges(&[2..4, 12..15]).selection(&[0..5, 10..15]);
        let steps: Vec<(bool, usize)> = picked.iter().map(|s| (s.skip, s.row_count)).collect();
        assert_eq!(steps, [(true, 2), (false, 2), (true, 3), (false, 3)]);
    }
}
