//! What a log holds: first by the names alone, then with its records read.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::record::{Claim, Record, StartKind, file_generation, record_position};
use crate::manifest::Manifest;

/// What the names under a job's folder say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The occupied positions of the log.
    pub positions: BTreeSet<u64>,
    /// The data files.
    pub files: BTreeSet<String>,
}

impl Listing {
    /// Reads names; those that belong to neither folder are left out.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut listing = Listing::default();
        for name in names {
            if let Some(position) = record_position(name) {
                listing.positions.insert(position);
            } else if file_generation(name).is_some() {
                listing.files.insert(name.to_string());
            }
        }
        listing
    }

    /// The highest occupied position.
    pub fn highest(&self) -> Option<u64> {
        self.positions.last().copied()
    }

    /// Where the next record goes. Positions start at 1.
    pub fn next_position(&self) -> u64 {
        self.highest().map_or(1, |p| p + 1)
    }

    /// The data files of generations below `generation` that are not in `named`: left over from snapshots that were not
    /// completed.
    pub fn orphans(&self, generation: u64, named: &BTreeSet<String>) -> Vec<String> {
        let lower = |name: &&String| file_generation(name).is_some_and(|g| g < generation) && !named.contains(*name);
        self.files.iter().filter(lower).cloned().collect()
    }
}

/// The records of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogContents {
    records: BTreeMap<u64, Record>,
}

impl LogContents {
    /// Of these records, by position.
    pub fn new(records: BTreeMap<u64, Record>) -> Self {
        LogContents { records }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The manifests with their positions, lowest first; those that a fresh start hides too.
    pub fn manifests(&self) -> impl DoubleEndedIterator<Item = (u64, &Manifest)> {
        self.records.iter().filter_map(|(p, r)| if let Record::Manifest(m) = r { Some((*p, m.as_ref())) } else { None })
    }

    /// The claims with their positions, lowest first.
    pub fn claims(&self) -> impl DoubleEndedIterator<Item = &Claim> {
        self.records.values().filter_map(|r| if let Record::Claim(c) = r { Some(c) } else { None })
    }

    /// The latest snapshot: the highest manifest that no fresh start hides.
    pub fn latest(&self) -> Option<(u64, &Manifest)> {
        self.manifests().next_back().filter(|(position, _)| *position > self.hidden_below())
    }

    /// The position of the last fresh start, which hides what is below; 0 if there is none.
    pub fn hidden_below(&self) -> u64 {
        self.claims().rfind(|c| c.start == StartKind::Fresh).map_or(0, |c| c.generation)
    }

    /// The highest epoch that occurs; 0 if none does.
    pub fn highest_epoch(&self) -> u64 {
        let of = |r: &Record| match r {
            Record::Claim(_) => 0,
            Record::Manifest(m) => m.epoch,
            Record::Retired { epoch, .. } => *epoch,
        };
        self.records.values().map(of).max().unwrap_or(0)
    }

    /// Whether a claim stands right behind `position`.
    pub fn is_before_claim(&self, position: u64) -> bool {
        matches!(self.records.get(&(position + 1)), Some(Record::Claim(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{file_name, record_name};
    use crate::manifest::JobInfo;
    use crate::testing::manifest;

    fn claim(generation: u64, start: StartKind) -> (u64, Record) {
        (generation, Record::Claim(Claim { generation, job: JobInfo::default(), at_ms: 0, nonce: 0, start }))
    }

    fn snapshot(position: u64, epoch: u64) -> (u64, Record) {
        (position, Record::Manifest(Box::new(manifest(1, epoch))))
    }

    #[test]
    fn a_listing_knows_the_next_position_and_the_orphans() {
        let names = [record_name(1), record_name(4), file_name(1, "a"), file_name(1, "b"), file_name(4, "c"), "log/tmp".into()];
        let listing = Listing::of(names.iter().map(String::as_str));
        assert_eq!((listing.highest(), listing.next_position()), (Some(4), 5));
        assert_eq!(listing.orphans(4, &[file_name(1, "b")].into()), [file_name(1, "a")]);
        assert_eq!(Listing::default().next_position(), 1);
    }

    #[test]
    fn the_latest_is_the_highest_manifest_above_the_last_fresh_start() {
        let mut records: BTreeMap<u64, Record> =
            [claim(1, StartKind::Latest), snapshot(2, 1), snapshot(3, 2), claim(4, StartKind::Latest)].into();
        assert_eq!(LogContents::new(records.clone()).latest().map(|(p, m)| (p, m.epoch)), Some((3, 2)));
        records.extend([claim(5, StartKind::Fresh)]);
        let contents = LogContents::new(records.clone());
        assert_eq!((contents.latest(), contents.highest_epoch()), (None, 2));
        records.extend([snapshot(6, 3), claim(7, StartKind::From)]);
        let contents = LogContents::new(records);
        assert_eq!(contents.latest().map(|(p, _)| p), Some(6));
        assert!(contents.is_before_claim(6) && !contents.is_before_claim(2) && contents.is_before_claim(3));
    }
}
