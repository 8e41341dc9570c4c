//! The states of a match that is being made, and how a row moves them on.
//!
//! A pattern is a list of elements, and a match is a run of rows: so a state is where the run begins and how many rows each element
//! has. A greedy element takes every row that it can, and never gives one back (as Apache Flink has it, not the standard): so it
//! has one successor. A reluctant one may both go on to the next element and take the row: these are two states.

use crate::spec::PatternElement;

/// A run of rows that may become a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The number of the first row.
    pub(super) start: u64,
    /// How many rows each element has.
    pub(super) counts: Vec<u32>,
}

impl Run {
    /// A run without rows that begins at row `start`.
    pub(super) fn begin(start: u64, elements: usize) -> Self {
        Run { start, counts: vec![0; elements] }
    }

    /// How many rows it has.
    pub(super) fn len(&self) -> u64 {
        self.counts.iter().map(|c| u64::from(*c)).sum()
    }

    /// The number of the row after its last.
    pub(super) fn end(&self) -> u64 {
        self.start + self.len()
    }

    /// The element of its last row.
    fn at(&self) -> Option<usize> {
        self.counts.iter().rposition(|c| *c > 0)
    }

    fn take(&self, element: usize) -> Run {
        let mut next = self.clone();
        next.counts[element] += 1;
        next
    }
}

/// The elements of a pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern(pub(super) Vec<PatternElement>);

impl Pattern {
    fn has_room(&self, run: &Run, element: usize) -> bool {
        self.0[element].max.is_none_or(|max| run.counts[element] < max)
    }

    /// The elements that the next row of a run could belong to, in the order of the pattern.
    pub(super) fn candidates(&self, run: &Run) -> Vec<usize> {
        let mut candidates = Vec::new();
        let mut next = 0;
        if let Some(at) = run.at() {
            if self.has_room(run, at) {
                candidates.push(at);
            }
            if run.counts[at] < self.0[at].min {
                return candidates;
            }
            next = at + 1;
        }
        while next < self.0.len() {
            candidates.push(next);
            if self.0[next].min > 0 {
                break;
            }
            next += 1;
        }
        candidates
    }

    /// The runs that a row makes of a run, those preferred first; `fits` says to which candidates the row may belong.
    pub(super) fn successors(&self, run: &Run, candidates: &[usize], fits: &[bool]) -> Vec<Run> {
        let mut successors = Vec::new();
        // What stands before in the pattern is preferred where it is greedy, else what stands behind.
        for (element, fits) in candidates.iter().zip(fits) {
            if !fits {
                continue;
            }
            let next = run.take(*element);
            if self.0[*element].greedy {
                successors.push(next);
                break;
            }
            successors.push(next);
        }
        successors.reverse();
        successors
    }

    /// Whether a run is a match.
    pub(super) fn accepts(&self, run: &Run) -> bool {
        let Some(at) = run.at() else { return false };
        run.counts[at] >= self.0[at].min && self.0[at + 1..].iter().all(|e| e.min == 0)
    }

    /// Whether a run is a match that a row ends, given to which candidates it may belong: no greedy element takes the row, and a reluctant
    /// one would rather not.
    pub(super) fn ends(&self, run: &Run, candidates: &[usize], fits: &[bool]) -> bool {
        self.accepts(run) && !candidates.iter().zip(fits).any(|(element, fits)| *fits && self.0[*element].greedy)
    }

    /// Whether a run that is a match waits for more rows: something at its end is greedy.
    pub(super) fn wants_more(&self, run: &Run) -> bool {
        let Some(at) = run.at() else { return true };
        (self.0[at].greedy && self.has_room(run, at)) || self.0[at + 1..].iter().any(|e| e.greedy)
    }

    /// The numbers of the rows of a variable, or of all, as ranges in order.
    pub(super) fn rows_of<'a>(&'a self, run: &'a Run, variable: Option<usize>) -> impl Iterator<Item = std::ops::Range<u64>> + 'a {
        let mut next = run.start;
        self.0.iter().zip(&run.counts).filter_map(move |(element, count)| {
            let range = next..next + u64::from(*count);
            next = range.end;
            (variable.is_none_or(|v| v == element.variable) && !range.is_empty()).then_some(range)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(variable: usize, min: u32, max: Option<u32>, greedy: bool) -> PatternElement {
        PatternElement { variable, min, max, greedy }
    }

    /// The first match of a run from row 0, each row as the variables that it fits.
    fn first_match(pattern: &Pattern, rows: &[&[usize]]) -> Option<Vec<u32>> {
        let mut runs = vec![Run::begin(0, pattern.0.len())];
        for row in rows {
            let mut next = Vec::new();
            for run in &runs {
                let candidates = pattern.candidates(run);
                let fits: Vec<bool> = candidates.iter().map(|e| row.contains(&pattern.0[*e].variable)).collect();
                if pattern.ends(run, &candidates, &fits) {
                    return Some(run.counts.clone());
                }
                for run in pattern.successors(run, &candidates, &fits) {
                    if pattern.accepts(&run) && !pattern.wants_more(&run) {
                        return Some(run.counts);
                    }
                    next.push(run);
                }
            }
            runs = next;
        }
        runs.into_iter().find(|run| pattern.accepts(run)).map(|run| run.counts)
    }

    #[test]
    fn a_greedy_element_never_gives_a_row_back() {
        let pattern = Pattern(vec![element(0, 1, Some(1), true), element(1, 0, None, true), element(2, 1, Some(1), true)]);
        assert_eq!(first_match(&pattern, &[&[0], &[1], &[1, 2], &[2]]), Some(vec![1, 2, 1]));
        assert_eq!(first_match(&pattern, &[&[0], &[1, 2]]), None);
        assert_eq!(first_match(&pattern, &[&[0], &[2]]), Some(vec![1, 0, 1]));
    }

    #[test]
    fn a_reluctant_element_ends_as_soon_as_it_can() {
        let pattern = Pattern(vec![element(0, 1, Some(1), true), element(1, 0, None, false), element(2, 1, Some(1), true)]);
        assert_eq!(first_match(&pattern, &[&[0], &[1], &[1, 2], &[2]]), Some(vec![1, 1, 1]));
    }

    #[test]
    fn bounds_count() {
        let pattern = Pattern(vec![element(0, 2, Some(3), true), element(1, 1, Some(1), true)]);
        assert_eq!(first_match(&pattern, &[&[0], &[1]]), None);
        assert_eq!(first_match(&pattern, &[&[0], &[0], &[0], &[1]]), Some(vec![3, 1]));
        assert_eq!(first_match(&pattern, &[&[0], &[0], &[0], &[0], &[1]]), None);
    }

    #[test]
    fn a_greedy_end_takes_what_it_can() {
        let pattern = Pattern(vec![element(0, 1, Some(1), true), element(1, 1, None, true)]);
        assert_eq!(first_match(&pattern, &[&[0], &[1], &[1], &[0]]), Some(vec![1, 2]));
        assert_eq!(first_match(&pattern, &[&[0], &[1], &[1]]), Some(vec![1, 2]));
    }

    #[test]
    fn a_variable_may_stand_twice() {
        let pattern = Pattern(vec![element(0, 1, Some(1), true), element(1, 1, Some(1), true), element(0, 1, Some(1), true)]);
        let run = Run { start: 7, counts: vec![1, 1, 1] };
        assert_eq!(pattern.rows_of(&run, Some(0)).collect::<Vec<_>>(), [7..8, 9..10]);
        assert_eq!(pattern.rows_of(&run, None).flatten().collect::<Vec<_>>(), [7, 8, 9]);
    }
}
