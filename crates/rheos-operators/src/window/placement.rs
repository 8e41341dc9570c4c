//! From rows to slices, a batch at once.

use arrow::array::ArrayRef;

use rheos_core::error::{Error, Result};
use rheos_core::time::TimestampMs;

use super::slicing::{Slicing, Window};
use crate::row_time::{RowTimes, units_per_ms};

/// The slice of each row that is not late.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// The ends of the slices (or of the windows that rows carry), without those of late rows.
    pub(crate) ends: Vec<TimestampMs>,
    /// The starts of the windows that rows carry; empty where rows carry none.
    pub(crate) starts: Vec<TimestampMs>,
    /// The rows that are not late; empty where none is late.
    pub(crate) kept: Vec<u32>,
    /// How many rows are late.
    pub(crate) late: usize,
}

impl Placement {
    /// Places rows by their time. Neighbours in time are mostly in one slice, so that the last one found is tried first.
    pub(crate) fn by_time(&mut self, times: &ArrayRef, rows: usize, slicing: &Slicing, watermark: TimestampMs) -> Result<()> {
        self.clear();
        let column = RowTimes::of(times)?;
        let units = units_per_ms(times.data_type())?;
        // The bounds of the last slice in the column's unit, and where its rows go.
        let (mut start, mut end, mut place) = (1, 0, None);
        for row in 0..rows {
            let time = column.get(row).ok_or_else(null_time)?;
            if time < start || time >= end {
                let slice = slicing.slice_of(time.div_euclid(units));
                (start, end) = (slice.start.saturating_mul(units), slice.end.saturating_mul(units));
                place = slicing.place(slice.end, watermark);
            }
            match place {
                Some(end) => {
                    self.ends.push(end);
                    self.keep(row);
                }
                None => self.drop_late(row),
            }
        }
        Ok(())
    }

    /// Places rows by the windows that they carry.
    pub(crate) fn by_window(&mut self, starts: &ArrayRef, ends: &ArrayRef, rows: usize, watermark: TimestampMs) -> Result<()> {
        self.clear();
        let (starts, ends) = (RowTimes::of(starts)?, RowTimes::of(ends)?);
        for row in 0..rows {
            let start = starts.get_ms(row).ok_or_else(null_time)?;
            let window = Window { start, end: ends.get_ms(row).ok_or_else(null_time)? };
            if window.is_closed(watermark) {
                self.drop_late(row);
            } else {
                self.ends.push(window.end);
                self.starts.push(window.start);
                self.keep(row);
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.starts.clear();
        self.kept.clear();
        self.late = 0;
    }

    #[inline]
    fn keep(&mut self, row: usize) {
        if self.late > 0 {
            self.kept.push(row as u32);
        }
    }

    fn drop_late(&mut self, row: usize) {
        if self.late == 0 {
            self.kept.extend(0..row as u32);
        }
        self.late += 1;
    }
}

/// The error for a row without a time.
pub(crate) fn null_time() -> Error {
    Error::input("the row time of a row is NULL, so that it is in no window: leave such rows out by WHERE ... IS NOT NULL")
}
