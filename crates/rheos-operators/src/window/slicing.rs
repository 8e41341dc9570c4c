//! The arithmetic of aligned windows. Time is cut into slices, so that every window is a run of whole slices: a tumbling
//! window is one, hopping windows share panes (Li et al. 2005), cumulating windows grow by steps. All in milliseconds.

use rheos_core::error::{Error, Result};
use rheos_core::time::TimestampMs;

use crate::spec::WindowSpec;

/// `[start, end)`. Ordered by end, which is the order in which windows close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Window {
    pub(crate) end: TimestampMs,
    pub(crate) start: TimestampMs,
}

impl Window {
    /// Whether the watermark has reached the last millisecond.
    pub(crate) fn is_closed(self, watermark: TimestampMs) -> bool {
        self.end.saturating_sub(1) <= watermark
    }
}

/// How time is cut. Slices and windows are named by their ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slicing {
    slice_ms: i64,
    offset_ms: i64,
    shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Tumble,
    Hop { size_ms: i64, slide_ms: i64 },
    Cumulate { max_ms: i64 },
}

/// The ends of the windows that contain a slice: `first`, then every `step_ms` up to `last`; none where first > last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowEnds {
    pub(crate) first: TimestampMs,
    pub(crate) last: TimestampMs,
    pub(crate) step_ms: i64,
}

impl WindowEnds {
    /// The first that the watermark has not closed.
    pub(crate) fn first_open(self, watermark: TimestampMs) -> Option<TimestampMs> {
        if self.first > self.last || self.last.saturating_sub(1) <= watermark {
            return None;
        }
        if self.first.saturating_sub(1) > watermark {
            return Some(self.first);
        }
        // Here watermark + 2 <= last, so nothing overflows upwards; below the first end there is nothing closed.
        let behind = watermark.saturating_add(2).saturating_sub(self.first);
        Some(self.first.saturating_add(round_up(behind, self.step_ms)))
    }
}

fn round_up(value: i64, to: i64) -> i64 {
    floor(value.saturating_add(to - 1), to)
}

/// The multiple of `to` at or below `value`.
fn floor(value: i64, to: i64) -> i64 {
    value.saturating_sub(value.rem_euclid(to))
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Slicing {
    /// The slices of aligned windows; a length that is not positive, or windows that do not fit together, are an error.
    pub(crate) fn new(window: &WindowSpec) -> Result<Self> {
        let positive = |name: &str, ms: i64| {
            if ms > 0 { Ok(ms) } else { Err(Error::config(format!("a window's {name} must be positive, not {ms} ms"))) }
        };
        Ok(match *window {
            WindowSpec::Tumble { size_ms, offset_ms } => Slicing { slice_ms: positive("size", size_ms)?, offset_ms, shape: Shape::Tumble },
            WindowSpec::Hop { size_ms, slide_ms, offset_ms } => {
                let slice_ms = greatest_common_divisor(positive("size", size_ms)?, positive("slide", slide_ms)?);
                Slicing { slice_ms, offset_ms, shape: Shape::Hop { size_ms, slide_ms } }
            }
            WindowSpec::Cumulate { max_ms, step_ms, offset_ms } => {
                if positive("maximum size", max_ms)? % positive("step", step_ms)? != 0 {
                    return Err(Error::config(format!("a window's maximum size {max_ms} ms must be a multiple of its step {step_ms} ms")));
                }
                Slicing { slice_ms: step_ms, offset_ms, shape: Shape::Cumulate { max_ms } }
            }
            WindowSpec::Session { .. } => return Err(Error::bug("sessions have no slices")),
        })
    }

    /// The slice that contains a time.
    pub(crate) fn slice_of(&self, time: TimestampMs) -> Window {
        let start = floor(time.saturating_sub(self.offset_ms), self.slice_ms).saturating_add(self.offset_ms);
        Window { start, end: start.saturating_add(self.slice_ms) }
    }

    /// The windows that contain the slice with this end.
    pub(crate) fn windows_of(&self, slice_end: TimestampMs) -> WindowEnds {
        match self.shape {
            Shape::Tumble => WindowEnds { first: slice_end, last: slice_end, step_ms: self.slice_ms },
            Shape::Hop { size_ms, slide_ms } => {
                let ends_at = self.offset_ms.saturating_add(size_ms);
                let first = round_up(slice_end.saturating_sub(ends_at), slide_ms).saturating_add(ends_at);
                let latest = slice_end.saturating_sub(self.slice_ms).saturating_add(size_ms);
                WindowEnds { first, last: floor(latest.saturating_sub(ends_at), slide_ms).saturating_add(ends_at), step_ms: slide_ms }
            }
            Shape::Cumulate { max_ms } => {
                let last = self.window(slice_end).start.saturating_add(max_ms);
                WindowEnds { first: slice_end, last, step_ms: self.slice_ms }
            }
        }
    }

    /// The window with this end.
    pub(crate) fn window(&self, end: TimestampMs) -> Window {
        let start = match self.shape {
            Shape::Tumble => end.saturating_sub(self.slice_ms),
            Shape::Hop { size_ms, .. } => end.saturating_sub(size_ms),
            Shape::Cumulate { max_ms } => {
                floor(end.saturating_sub(1).saturating_sub(self.offset_ms), max_ms).saturating_add(self.offset_ms)
            }
        };
        Window { start, end }
    }

    /// The end of the slice into which a row of a time goes: its own, or, where windows grow and the first ones are closed,
    /// the one by which the first open window ends. `None` where every window of the row is closed.
    pub(crate) fn place(&self, slice_end: TimestampMs, watermark: TimestampMs) -> Option<TimestampMs> {
        let open = self.windows_of(slice_end).first_open(watermark)?;
        Some(if self.cumulates() { open } else { slice_end })
    }

    /// Whether windows share slices.
    pub(crate) fn hops(&self) -> bool {
        matches!(self.shape, Shape::Hop { .. })
    }

    /// Whether a window starts where the one before started.
    pub(crate) fn cumulates(&self) -> bool {
        matches!(self.shape, Shape::Cumulate { .. })
    }

    /// The end of the window after this one; for windows that grow, `None` after the greatest.
    pub(crate) fn next_window(&self, end: TimestampMs) -> Option<TimestampMs> {
        match self.shape {
            Shape::Tumble => end.checked_add(self.slice_ms),
            Shape::Hop { slide_ms, .. } => end.checked_add(slide_ms),
            Shape::Cumulate { .. } => end.checked_add(self.slice_ms).filter(|next| *next <= self.windows_of(end).last),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The windows that contain a time, found by trying all.
    fn windows_by_search(window: WindowSpec, time: i64) -> Vec<(i64, i64)> {
        let mut found = Vec::new();
        for start in time - 200..=time {
            let (starts_every, offset, sizes): (i64, i64, Vec<i64>) = match window {
                WindowSpec::Tumble { size_ms, offset_ms } => (size_ms, offset_ms, vec![size_ms]),
                WindowSpec::Hop { size_ms, slide_ms, offset_ms } => (slide_ms, offset_ms, vec![size_ms]),
                WindowSpec::Cumulate { max_ms, step_ms, offset_ms } => {
                    (max_ms, offset_ms, (1..=max_ms / step_ms).map(|i| i * step_ms).collect())
                }
                WindowSpec::Session { .. } => unreachable!(),
            };
            if (start - offset).rem_euclid(starts_every) == 0 {
                found.extend(sizes.iter().map(|size| (start, start + size)).filter(|(_, end)| time < *end));
            }
        }
        found.sort_by_key(|(_, end)| *end);
        found
    }

    fn windows() -> impl Strategy<Value = WindowSpec> {
        prop_oneof![
            (1i64..50, -60i64..60).prop_map(|(size_ms, offset_ms)| WindowSpec::Tumble { size_ms, offset_ms }),
            (1i64..50, 1i64..50, -60i64..60).prop_map(|(size_ms, slide_ms, offset_ms)| WindowSpec::Hop { size_ms, slide_ms, offset_ms }),
            (1i64..6, 1i64..12, -60i64..60).prop_map(|(steps, step_ms, offset_ms)| WindowSpec::Cumulate {
                max_ms: steps * step_ms,
                step_ms,
                offset_ms
            }),
        ]
    }

    proptest! {
        #[test]
        fn slices_make_up_the_windows_that_a_search_finds(window in windows(), time in -300i64..300, watermark in -300i64..300) {
            let slicing = Slicing::new(&window).unwrap();
            let slice = slicing.slice_of(time);
            prop_assert!(slice.start <= time && time < slice.end);
            let ends = slicing.windows_of(slice.end);
            let mut found = Vec::new();
            let mut end = ends.first;
            while end <= ends.last {
                found.push((slicing.window(end).start, end));
                end += ends.step_ms;
            }
            let expected = windows_by_search(window, time);
            prop_assert_eq!(&found, &expected);
            let open = expected.iter().map(|(_, end)| *end).find(|end| end - 1 > watermark);
            prop_assert_eq!(ends.first_open(watermark), open);
            prop_assert_eq!(slicing.place(slice.end, watermark).is_some(), open.is_some());
        }

        #[test]
        fn no_time_overflows(window in windows(), time: i64, watermark: i64) {
            let slicing = Slicing::new(&window).unwrap();
            let slice = slicing.slice_of(time);
            slicing.windows_of(slice.end).first_open(watermark);
            slicing.next_window(slicing.window(slice.end).end);
        }
    }

    #[test]
    fn lengths_that_make_no_windows_are_refused() {
        assert!(Slicing::new(&WindowSpec::Tumble { size_ms: 0, offset_ms: 0 }).is_err());
        assert!(Slicing::new(&WindowSpec::Hop { size_ms: 10, slide_ms: -5, offset_ms: 0 }).is_err());
        assert!(Slicing::new(&WindowSpec::Cumulate { max_ms: 10, step_ms: 4, offset_ms: 0 }).is_err());
    }
}
