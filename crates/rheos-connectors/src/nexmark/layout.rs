//! Which event number is what kind of event, which splits own it, and which ids were the last before it.
//!
//! Numbers come in epochs of `person + auction + bid` proportions: first the persons, then the auctions, then the bids.
//! The events of each kind are dealt to the splits in turn, so that every split has its share of each kind, close in time.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;

/// The kinds of events, in the order in which an epoch has them; their numbers are `event_type`'s values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A new person.
    Person = 0,
    /// A new auction.
    Auction = 1,
    /// A bid.
    Bid = 2,
}

impl Kind {
    /// All kinds, by number.
    pub(super) const ALL: [Kind; 3] = [Kind::Person, Kind::Auction, Kind::Bid];
}

/// How event numbers are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// How many events of each kind an epoch has; their sum is not 0.
    pub(super) proportions: [u64; 3],
}

impl Layout {
    /// How many events an epoch has.
    pub(super) fn epoch_events(&self) -> u64 {
        self.proportions.iter().sum()
    }

    /// Where within an epoch a kind's events start.
    fn kind_start(&self, kind: Kind) -> u64 {
        self.proportions[..kind as usize].iter().sum()
    }

    /// The last person of an epoch, counted from 0; -1 before any.
    pub(super) fn last_person(&self, epoch: u64) -> i64 {
        ((epoch + 1) * self.proportions[Kind::Person as usize]) as i64 - 1
    }

    /// The last auction of an epoch, counted from 0; -1 before any.
    pub(super) fn last_auction(&self, epoch: u64) -> i64 {
        ((epoch + 1) * self.proportions[Kind::Auction as usize]) as i64 - 1
    }
}

/// Events of one kind and one epoch that stand together in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// What they are.
    pub(super) kind: Kind,
    /// Whose events they are.
    pub(super) epoch: u64,
    /// The first one's place among all events of the kind, counted from 0.
    pub(super) ordinal: u64,
    /// The first one's number.
    pub(super) first: u64,
    /// From one to the next, of numbers and ordinals alike.
    pub(super) step: u64,
    /// How many.
    pub(super) rows: usize,
}

impl Run {
    /// The number of its `k`-th event.
    #[inline(always)]
    pub(super) fn number(&self, k: u64) -> u64 {
        self.first + k * self.step
    }

    /// The numbers of its events.
    #[inline(always)]
    pub(super) fn numbers(&self) -> impl ExactSizeIterator<Item = u64> + use<> {
        let (first, step) = (self.first, self.step);
        (0..self.rows).map(move |k| first + k as u64 * step)
    }
}

/// What a batch consists of.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order of their numbers.
    pub(super) runs: Vec<Run>,
    /// All their rows.
    pub(super) rows: usize,
}

impl Plan {
    /// The runs of one kind, in order, `Err` with their rows for those of the others.
    pub(super) fn runs_of(&self, kind: Kind) -> impl Iterator<Item = Result<&Run, usize>> {
        self.runs.iter().map(move |run| if run.kind == kind { Ok(run) } else { Err(run.rows) })
    }

    /// Which rows are of `kind`; `None` where all are.
    pub(super) fn nulls(&self, kind: Kind) -> Option<NullBuffer> {
        if self.runs.iter().all(|run| run.kind == kind) {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(self.rows);
        for run in &self.runs {
            valid.append_n(run.rows, run.kind == kind);
        }
        Some(NullBuffer::new(valid.finish()))
    }
}

/// The part of one split of the kinds of events that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Which split, from 0.
    pub(super) index: u64,
    /// How many splits there are, at least one.
    pub(super) of: u64,
    /// The kinds that are wanted.
    pub(super) kinds: [bool; 3],
}

impl Share {
    /// Its first events that are not before `next` and before `limit`, at most `max_rows`.
    pub(super) fn plan(&self, layout: &Layout, next: u64, limit: u64, max_rows: usize) -> Plan {
        let mut plan = Plan::default();
        let wanted: Vec<Kind> = Kind::ALL.into_iter().filter(|k| self.kinds[*k as usize] && layout.proportions[*k as usize] > 0).collect();
        if wanted.is_empty() {
            return plan;
        }
        let epoch_events = layout.epoch_events();
        let mut epoch = next / epoch_events;
        while plan.rows < max_rows && epoch * epoch_events < limit {
            for kind in &wanted {
                if let Some(run) = self.run(layout, *kind, epoch, next, limit, max_rows - plan.rows) {
                    plan.rows += run.rows;
                    plan.runs.push(run);
                }
            }
            epoch += 1;
        }
        plan
    }

    fn run(&self, layout: &Layout, kind: Kind, epoch: u64, next: u64, limit: u64, max_rows: usize) -> Option<Run> {
        let share = layout.proportions[kind as usize];
        let start = epoch * layout.epoch_events() + layout.kind_start(kind);
        let before = epoch * share;
        // The first of the epoch whose ordinal is this split's.
        let mut offset = (self.index + self.of - before % self.of) % self.of;
        if start + offset < next {
            offset += (next - start - offset).div_ceil(self.of) * self.of;
        }
        let end = share.min(limit.saturating_sub(start));
        if offset >= end || max_rows == 0 {
            return None;
        }
        let rows = (end - offset).div_ceil(self.of).min(max_rows as u64) as usize;
        Some(Run { kind, epoch, ordinal: before + offset, first: start + offset, step: self.of, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { proportions: [1, 3, 46] };

    fn numbers(share: Share, next: u64, limit: u64) -> Vec<u64> {
        share.plan(&LAYOUT, next, limit, usize::MAX).runs.iter().flat_map(Run::numbers).collect()
    }

    #[test]
    fn every_number_belongs_to_one_split_and_is_found_from_any_place_on() {
        for of in [1, 2, 3, 7, 64] {
            for next in [0, 1, 3, 50, 77, 149] {
                let mut all: Vec<u64> = (0..of).flat_map(|index| numbers(Share { index, of, kinds: [true; 3] }, next, 1234)).collect();
                all.sort_unstable();
                assert_eq!(all, (next..1234).collect::<Vec<_>>(), "{of} splits from {next}");
            }
        }
    }

    #[test]
    fn kinds_are_found_by_arithmetic_and_dealt_evenly() {
        let persons = Share { index: 1, of: 2, kinds: [true, false, false] };
        assert_eq!(numbers(persons, 0, 400), [50, 150, 250, 350]);
        let auctions = Share { index: 0, of: 2, kinds: [false, true, false] };
        assert_eq!(numbers(auctions, 0, 100), [1, 3, 52]);
        assert!(numbers(Share { index: 0, of: 1, kinds: [false; 3] }, 0, u64::MAX).is_empty());
    }

    #[test]
    fn a_plan_stops_at_its_rows() {
        let plan = Share { index: 0, of: 1, kinds: [true; 3] }.plan(&LAYOUT, 2, u64::MAX, 60);
        assert_eq!(plan.rows, 60);
        assert_eq!(plan.runs.iter().map(|r| (r.kind, r.rows)).collect::<Vec<_>>()[..2], [(Kind::Auction, 2), (Kind::Bid, 46)]);
        assert_eq!(plan.runs[1].ordinal, 0);
    }
}
