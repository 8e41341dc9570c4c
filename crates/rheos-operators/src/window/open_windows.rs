//! Which slices have groups, and which windows are to close next.

use std::collections::{BTreeMap, BTreeSet};

use rheos_core::metrics::OperatorMetrics;
use rheos_core::time::TimestampMs;
use rheos_state::Slot;

use super::slicing::{Slicing, Window};

/// The groups of each slice, and the windows that close next. A window is listed when the first of its slices comes up; the
/// windows after it are listed one by one as they close, as long as they have slices.
#[derive(Debug)]
pub(crate) struct OpenWindows {
    /// `None`: rows carry their windows, and each window is its own slice.
    slicing: Option<Slicing>,
    slices: BTreeMap<Window, Vec<Slot>>,
    closing: BTreeSet<Window>,
}

/// Slices of aligned windows are named by their end alone.
fn slice(end: TimestampMs) -> Window {
    Window { end, start: 0 }
}

impl OpenWindows {
    pub(crate) fn new(slicing: Option<Slicing>) -> Self {
        OpenWindows { slicing, slices: BTreeMap::new(), closing: BTreeSet::new() }
    }

    /// Adds new groups, each with its slice.
    pub(crate) fn add(&mut self, groups: impl Iterator<Item = (Window, Slot)>, watermark: TimestampMs) {
        let mut groups = groups.peekable();
        while let Some((slice, slot)) = groups.next() {
            let slots = self.slices.entry(slice).or_default();
            let is_new = slots.is_empty();
            slots.push(slot);
            while let Some((_, slot)) = groups.next_if(|(s, _)| *s == slice) {
                slots.push(slot);
            }
            if is_new {
                self.schedule(slice, watermark);
            }
        }
    }

    /// Lists the first open window of a slice.
    fn schedule(&mut self, slice: Window, watermark: TimestampMs) {
        match &self.slicing {
            None => {
                self.closing.insert(slice);
            }
            Some(slicing) => {
                if let Some(end) = slicing.windows_of(slice.end).first_open(watermark) {
                    self.closing.insert(slicing.window(end));
                }
            }
        }
    }

    /// Takes the next window that the watermark closes off the list.
    pub(crate) fn next_closed(&mut self, watermark: TimestampMs) -> Option<Window> {
        let first = *self.closing.first()?;
        if !first.is_closed(watermark) {
            return None;
        }
        self.closing.pop_first()
    }

    /// Lists a window.
    pub(crate) fn list(&mut self, window: Window) {
        self.closing.insert(window);
    }

    /// Adds new groups to the slice by which a window that grows ends, and lists it.
    pub(crate) fn carry(&mut self, window: Window, groups: impl Iterator<Item = Slot>) {
        self.slices.entry(slice(window.end)).or_default().extend(groups);
        self.closing.insert(window);
    }

    /// The groups of the slice that is a window, or by which it ends; the slice is gone.
    pub(crate) fn take(&mut self, window: Window) -> Vec<Slot> {
        let name = if self.slicing.is_some() { slice(window.end) } else { window };
        self.slices.remove(&name).unwrap_or_default()
    }

    /// The groups of each slice of a hopping window, in order of time.
    pub(crate) fn panes(&self, window: Window) -> impl Iterator<Item = &Vec<Slot>> {
        self.slices.range(slice(window.start.saturating_add(1))..=slice(window.end)).map(|(_, slots)| slots)
    }

    /// Whether any slice of a hopping window has groups.
    pub(crate) fn has_panes(&self, window: Window) -> bool {
        self.panes(window).next().is_some()
    }

    /// The groups of all slices that end at or before a time; the slices are gone.
    pub(crate) fn take_until(&mut self, end: TimestampMs) -> Vec<Slot> {
        let rest = self.slices.split_off(&slice(end.saturating_add(1)));
        std::mem::replace(&mut self.slices, rest).into_values().flatten().collect()
    }

    /// Says how many windows are open and when the next closes.
    pub(crate) fn report(&self, watermark: TimestampMs, metrics: &OperatorMetrics) {
        let open = match &self.slicing {
            Some(slicing) if slicing.hops() || slicing.cumulates() => self.count(slicing, watermark),
            _ => self.closing.len() as i64,
        };
        metrics.open_windows.set(open);
        metrics.next_close_ms.set(self.closing.first().map_or(TimestampMs::MAX, |w| w.end.saturating_sub(1)));
    }

    /// The number of open windows that have slices, each counted once.
    fn count(&self, slicing: &Slicing, watermark: TimestampMs) -> i64 {
        let (mut count, mut counted_until) = (0, TimestampMs::MIN);
        for slice in self.slices.keys() {
            let ends = slicing.windows_of(slice.end);
            let Some(first) = ends.first_open(watermark.max(counted_until.saturating_sub(1))) else { continue };
            count += ends.last.saturating_sub(first) / ends.step_ms + 1;
            counted_until = ends.last;
        }
        count
    }
}
