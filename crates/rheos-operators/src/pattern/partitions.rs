//! What is kept of each partition: its rows by number, the runs that may become matches, and matches that wait.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, LargeBinaryArray};
use arrow::datatypes::DataType;
use rheos_core::error::{Error, Result};
use rheos_core::time::TimestampMs;
use rheos_state::{Slot, SlotColumns};

use super::automaton::{Pattern, Run};
use super::references::Numbered;
use crate::spec::AfterMatch;

/// One partition.
#[derive(Debug, Default)]
pub(super) struct Partition {
    pub(super) rows: Numbered,
    /// In the order in which they began; of one beginning, those preferred first.
    pub(super) runs: Vec<Run>,
    /// Matches that are complete, but wait for runs that began earlier; in order of their beginnings, then of their completion.
    pub(super) held: VecDeque<Run>,
    /// How many rows wait for the watermark.
    pub(super) waiting: u32,
    /// When its runs are to be looked at for their time, where that was arranged.
    pub(super) timeout_ms: Option<TimestampMs>,
}

impl Partition {
    /// Keeps a run that is a match until it may come out.
    pub(super) fn hold(&mut self, run: Run) {
        let at = self.held.partition_point(|held| held.start <= run.start);
        self.held.insert(at, run);
    }

    /// Takes out the matches that no earlier run holds back, in order of their beginnings.
    pub(super) fn release(&mut self, pattern: &Pattern, after: AfterMatch) -> Vec<Run> {
        let mut released = Vec::new();
        // How many runs are gone.
        let mut gone = 0;
        while let Some(first) = self.held.front()
            && self.runs.get(gone).is_none_or(|run| run.start >= first.start)
            && let Some(found) = self.held.pop_front()
        {
            let to = match after {
                AfterMatch::PastLastRow => found.end(),
                AfterMatch::ToNextRow => found.start + 1,
                AfterMatch::ToFirst(variable) => pattern.rows_of(&found, Some(variable)).next().map_or(0, |r| r.start),
                AfterMatch::ToLast(variable) => pattern.rows_of(&found, Some(variable)).last().map_or(0, |r| r.end - 1),
            };
            // Going on at the match's own first row would find it again: the next row is meant then.
            let to = to.max(found.start + 1);
            gone += self.runs[gone..].partition_point(|run| run.start < to);
            while self.held.front().is_some_and(|run| run.start < to) {
                self.held.pop_front();
            }
            released.push(found);
        }
        self.runs.drain(..gone);
        released
    }

    /// Gives up the rows that nothing looks at any more, but for the last `kept_back`; returns their slots.
    pub(super) fn trim(&mut self, kept_back: u64) -> Vec<u32> {
        let next = self.rows.next();
        let earliest = self.runs.first().into_iter().chain(self.held.front()).map(|run| run.start).min();
        let needed = earliest.unwrap_or(next).saturating_sub(kept_back);
        let gone = needed.saturating_sub(self.rows.first).min(self.rows.rows.len() as u64);
        self.rows.first += gone;
        self.rows.rows.drain(..gone as usize).collect()
    }

    /// Whether nothing depends on it any more.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0 && self.runs.is_empty() && self.held.is_empty() && self.rows.rows.is_empty()
    }
}

/// All partitions, by slot. What is saved of each are its runs and matches as numbers: the first row's number; how many runs there
/// are, how many matches; and of each its beginning and the counts of its elements.
#[derive(Debug)]
pub(super) struct Partitions {
    pub(super) all: Vec<Partition>,
    pub(super) elements: usize,
}

impl SlotColumns for Partitions {
    fn types(&self) -> Vec<DataType> {
        vec![DataType::LargeBinary]
    }

    fn grow(&mut self, bound: usize) {
        self.all.resize_with(bound, Partition::default);
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let encode = |slot: &Slot| {
            let partition = &self.all[*slot as usize];
            let mut numbers = vec![partition.rows.first, partition.runs.len() as u64, partition.held.len() as u64];
            for run in partition.runs.iter().chain(&partition.held) {
                numbers.push(run.start);
                numbers.extend(run.counts.iter().map(|c| u64::from(*c)));
            }
            numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>()
        };
        Ok(vec![Arc::new(LargeBinaryArray::from_iter_values(slots.iter().map(encode)))])
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        for (slot, bytes) in slots.iter().zip(columns[0].as_binary::<i64>()) {
            let bytes = bytes.unwrap_or_default();
            let mut numbers = bytes.chunks_exact(8).map(|c| c.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b)));
            let mut next = || numbers.next().ok_or_else(|| Error::corrupt("the state of a pattern ends early"));
            let partition = &mut self.all[*slot as usize];
            partition.rows.first = next()?;
            let (runs, held) = (next()?, next()?);
            for i in 0..runs + held {
                let mut run = Run::begin(next()?, self.elements);
                for count in &mut run.counts {
                    *count = u32::try_from(next()?).map_err(|e| Error::corrupt("a count of rows of a pattern").caused_by(e))?;
                }
                match i < runs {
                    true => partition.runs.push(run),
                    false => partition.held.push_back(run),
                }
            }
        }
        Ok(())
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|slot| self.all[*slot as usize] = Partition::default());
    }
}
