//! Which rows of an output are lost, duplicated or changed, against those of a run without failure.

use std::collections::{BTreeMap, HashMap};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::output::{Change, Output, Rows};
use crate::Recovery;

/// How many rows are kept as examples.
const EXAMPLES: usize = 10;

/// Rows that differ in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub examples: Vec<String>,
}

impl Tally {
    fn add(&mut self, count: u64, example: impl FnOnce() -> String) {
        self.count += count;
        if count > 0 && self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// All differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Rows that are missing.
    pub lost: Tally,
    /// Rows that are there too often.
    pub duplicated: Tally,
    /// Rows that are missing, with another row in their place.
    pub changed: Tally,
    /// Rows that the run without failure never gave, in nobody's place.
    pub added: Tally,
}

impl Differences {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Differences::default()
    }

    /// Each way to differ, by name.
    pub fn named(&self) -> [(&'static str, &Tally); 4] {
        [("lost", &self.lost), ("duplicated", &self.duplicated), ("changed", &self.changed), ("added", &self.added)]
    }
}

/// How output repeats itself after failures, by the names of the literature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// It does not.
    None,
    /// The same rows come again.
    Repeating,
    /// Other rows come first, then the same.
    Convergent,
    /// The same rows never come again.
    Divergent,
}

/// What a comparison has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The differences of the rows; where rows are updated, of the final tables.
    pub differences: Differences,
    /// How the output repeats itself, where it may.
    pub repetition: Repetition,
    /// Where folding by key hides them: how many changes more than once, by counting.
    pub repeated_changes: u64,
}

/// Compares an output with that of a run without failure.
///
/// Rows that are only added are compared as multisets. Changes are folded to the final table first: by counting additions and
/// removals, which forgives nothing; where rows may come again ([`Recovery::Rollback`]), by key: the last change counts.
pub fn compare(reference: &Output, output: &Output, rows: &Rows, recovery: Recovery) -> Comparison {
    let (expected, found) = (counts(&reference.changes), counts(&output.changes));
    let key = match rows {
        Rows::Changes { key } if recovery == Recovery::Rollback => key.as_deref(),
        Rows::Changes { key } => return exact(differences(&expected, &found, key.as_deref())),
        Rows::Added if recovery == Recovery::Rollback => {
            let differences = differences(&expected, &found, None);
            let repetition = repetition(&differences);
            return Comparison { differences, repetition, repeated_changes: 0 };
        }
        Rows::Added => return exact(differences(&expected, &found, None)),
    };
    let repeated_changes = found.iter().map(|(row, count)| (count - expected.get(row).copied().unwrap_or(0)).unsigned_abs()).sum::<u64>();
    let differences = differences(&last(&reference.changes, key), &last(&output.changes, key), key);
    let repetition = match (differences.is_empty(), repeated_changes) {
        (true, 0) => Repetition::None,
        (true, _) => Repetition::Convergent,
        (false, _) => Repetition::Divergent,
    };
    Comparison { differences, repetition, repeated_changes }
}

fn exact(differences: Differences) -> Comparison {
    Comparison { differences, repetition: Repetition::None, repeated_changes: 0 }
}

fn repetition(differences: &Differences) -> Repetition {
    if differences.changed.count > 0 {
        Repetition::Divergent
    } else if differences.added.count > 0 {
        Repetition::Convergent
    } else if differences.duplicated.count > 0 {
        Repetition::Repeating
    } else {
        Repetition::None
    }
}

/// How often each row is there: additions less removals.
fn counts(changes: &[Change]) -> HashMap<&str, i64> {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for change in changes {
        *counts.entry(&change.row).or_default() += if change.added { 1 } else { -1 };
    }
    counts
}

/// The rows that the last change of their key added.
fn last<'a>(changes: &'a [Change], key: Option<&[usize]>) -> HashMap<&'a str, i64> {
    let mut rows: HashMap<String, &'a Change> = HashMap::new();
    for change in changes {
        rows.insert(key_of(&change.row, key), change);
    }
    rows.into_values().filter(|change| change.added).map(|change| (change.row.as_str(), 1)).collect()
}

fn differences(expected: &HashMap<&str, i64>, found: &HashMap<&str, i64>, key: Option<&[usize]>) -> Differences {
    let mut differences = Differences::default();
    let mut missing: BTreeMap<&str, u64> = BTreeMap::new();
    let mut foreign: BTreeMap<&str, u64> = BTreeMap::new();
    let mut again: BTreeMap<&str, u64> = BTreeMap::new();
    for (row, count) in expected {
        let surplus = found.get(row).copied().unwrap_or(0) - count;
        if surplus != 0 {
            let of = if surplus < 0 {
                &mut missing
            } else if *count > 0 {
                &mut again
            } else {
                &mut foreign
            };
            of.insert(row, surplus.unsigned_abs());
        }
    }
    for (row, count) in found.iter().filter(|(row, count)| !expected.contains_key(*row) && **count != 0) {
        // One that is removed and was never there takes the place of nothing, but its addition is missing.
        let of = if *count < 0 { &mut missing } else { &mut foreign };
        of.insert(row, count.unsigned_abs());
    }
    for (row, count) in &again {
        differences.duplicated.add(*count, || row.to_string());
    }
    // A foreign row stands for a missing one of its key; without a key, for any.
    let place = |row: &str| key.map_or_else(String::new, |key| key_of(row, Some(key)));
    let mut foreign_by_place: BTreeMap<String, Vec<(&str, u64)>> = BTreeMap::new();
    for (row, count) in foreign.into_iter().rev() {
        foreign_by_place.entry(place(row)).or_default().push((row, count));
    }
    for (row, mut count) in missing {
        let mut others = foreign_by_place.get_mut(&place(row));
        while count > 0
            && let Some((other, available)) = others.as_mut().and_then(|others| others.pop())
        {
            let pairs = count.min(available);
            differences.changed.add(pairs, || format!("{row} -> {other}"));
            count -= pairs;
            if let Some(others) = others.as_mut().filter(|_| available > pairs) {
                others.push((other, available - pairs));
            }
        }
        differences.lost.add(count, || row.to_string());
    }
    for (row, count) in foreign_by_place.into_values().flat_map(|rows| rows.into_iter().rev()) {
        differences.added.add(count, || row.to_string());
    }
    differences
}

/// The values of the key's columns as they are written; the whole row where they are not known.
fn key_of(row: &str, key: Option<&[usize]>) -> String {
    let (Some(key), Ok(Cells(cells))) = (key, serde_json::from_str::<Cells<'_>>(row)) else { return row.to_string() };
    key.iter().map(|column| cells.get(*column).map_or("", |cell| cell.get())).collect::<Vec<_>>().join(",")
}

/// The values of an object in their order; a name may be there twice.
struct Cells<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Cells<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut cells = Vec::new();
                while map.next_key::<IgnoredAny>()?.is_some() {
                    cells.push(map.next_value()?);
                }
                Ok(cells)
            }
        }
        deserializer.deserialize_map(InOrder).map(Cells)
    }
}
