//! How windows of [`WindowAggregate`] close: in order of time, a part of a window at a time where it is large.
//!
//! - A window that is one slice is put out as it is, and its groups are forgotten.
//! - A hopping window's panes are merged, key by key, into groups of a namespace of their own, which are forgotten
//!   afterwards; so are the panes that belong to no later window.
//! - A window that grows carries its groups over into the slice by which the next one ends, so that a slice always holds the
//!   totals from the start on.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};

use rheos_core::batch::ColumnBatch;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::Progress;
use rheos_core::time::TimestampMs;
use rheos_state::Slot;

use super::aggregate::WindowAggregate;
use super::slicing::Window;
use crate::records;

/// How many rows a batch of results has at most.
const MAX_BATCH_ROWS: usize = 8 * 1024;

/// The namespace of merged panes: no slice ends there, since its first millisecond would be before the first of all.
const MERGED: TimestampMs = TimestampMs::MIN;

/// A window that is being put out.
pub(super) struct Closing {
    window: Window,
    /// Its groups, and how many of them are out.
    groups: Vec<Slot>,
    done: usize,
    /// Groups without rows, and others that are to be forgotten with the window.
    rest: Vec<Slot>,
    /// Whether the groups go over into the next window.
    carry_to: Option<TimestampMs>,
    /// Whether the groups belong to this window alone.
    forget: bool,
}

impl WindowAggregate {
    /// Puts out what the watermark closes, until all is out or the collector is full.
    pub(super) fn close_windows(&mut self, out: &mut Collector) -> Result<Progress> {
        loop {
            if let Some(closing) = self.closing.take()
                && let Some(unfinished) = self.put_out(closing, out)?
            {
                self.closing = Some(unfinished);
                return Ok(Progress::More);
            }
            match self.open.next_closed(self.watermark) {
                Some(window) => self.closing = Some(self.begin(window)?),
                None => return Ok(Progress::Done),
            }
        }
    }

    /// Puts a window together.
    fn begin(&mut self, window: Window) -> Result<Closing> {
        let mut closing = match &self.slicing {
            Some(slicing) if slicing.hops() => self.begin_hop(window)?,
            Some(slicing) if slicing.cumulates() => {
                let carry_to = slicing.next_window(window.end);
                Closing { window, groups: self.open.take(window), done: 0, rest: Vec::new(), carry_to, forget: true }
            }
            _ => Closing { window, groups: self.open.take(window), done: 0, rest: Vec::new(), carry_to: None, forget: true },
        };
        if self.spec.input_retracts {
            let (groups, empty) = closing.groups.into_iter().partition(|s| self.groups.values.has_rows(*s));
            closing.groups = groups;
            if closing.forget {
                closing.rest.extend::<Vec<Slot>>(empty);
            }
        }
        Ok(closing)
    }

    fn begin_hop(&mut self, window: Window) -> Result<Closing> {
        let panes: Vec<Vec<Slot>> = self.open.panes(window).cloned().collect();
        let (groups, forget) = match panes.as_slice() {
            [only] => (only.clone(), false),
            panes => (self.merge_panes(panes)?, true),
        };
        let mut rest = Vec::new();
        if let Some(next) = self.slicing.and_then(|s| s.next_window(window.end).map(|end| s.window(end))) {
            rest = self.open.take_until(next.start);
            if self.open.has_panes(next) {
                self.open.list(next);
            }
        }
        Ok(Closing { window, groups, done: 0, rest, carry_to: None, forget })
    }

    /// Merges the groups of several slices by key. The merged groups are new.
    fn merge_panes(&mut self, panes: &[Vec<Slot>]) -> Result<Vec<Slot>> {
        let mut merged = Vec::new();
        let (mut into, mut new_rows) = (Vec::new(), Vec::new());
        for pane in panes {
            self.resolve_in(MERGED, pane, &mut into, &mut new_rows)?;
            merged.extend(new_rows.iter().map(|row| into[*row as usize]));
            self.groups.values.merge(pane, &into)?;
        }
        Ok(merged)
    }

    /// The groups of the same keys in another slice.
    fn resolve_in(&mut self, slice_end: TimestampMs, groups: &[Slot], into: &mut Vec<Slot>, new_rows: &mut Vec<u32>) -> Result<()> {
        let mut keys = self.groups.index().keys(groups)?;
        keys[0] = Arc::new(Int64Array::from(vec![slice_end; groups.len()]));
        self.groups.resolve(&keys.iter().collect::<Vec<_>>(), groups.len(), into, new_rows)
    }

    /// Puts out the rest of a window, or as much as fits; returns what is unfinished.
    fn put_out(&mut self, mut closing: Closing, out: &mut Collector) -> Result<Option<Closing>> {
        while closing.done < closing.groups.len() {
            if out.is_full() {
                return Ok(Some(closing));
            }
            let count = (closing.groups.len() - closing.done).min(MAX_BATCH_ROWS).min(out.room().max(1));
            let part = &closing.groups[closing.done..closing.done + count];
            out.emit(self.results(part, closing.window)?);
            closing.done += count;
        }
        if let Some(end) = closing.carry_to.filter(|_| !closing.groups.is_empty()) {
            let (mut into, mut new_rows) = (Vec::new(), Vec::new());
            self.resolve_in(end, &closing.groups, &mut into, &mut new_rows)?;
            self.groups.values.merge(&closing.groups, &into)?;
            let next = Window { end, start: closing.window.start };
            self.open.carry(next, new_rows.iter().map(|row| into[*row as usize]));
        }
        if closing.forget {
            self.groups.remove(&closing.groups);
        }
        self.groups.remove(&closing.rest);
        Ok(None)
    }

    fn results(&self, groups: &[Slot], window: Window) -> Result<ColumnBatch> {
        let namespace = if self.slicing.is_some() { 1 } else { 2 };
        let mut columns: Vec<ArrayRef> = self.groups.index().keys(groups)?;
        columns.drain(..namespace);
        columns.extend(self.groups.values.aggregates.evaluate(groups)?);
        columns.extend(self.properties.columns(std::iter::repeat_n(window, groups.len()))?);
        Ok(ColumnBatch::inserts(records(&self.output, columns, groups.len())?))
    }
}
