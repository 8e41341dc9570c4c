//! Event time as operators read it from columns, and as they keep it over a restart.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType};
use rheos_core::error::{Error, Result};
use rheos_core::snapshot::{ListKind, OperatorSnapshot};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};

/// A column of TIMESTAMP or TIMESTAMP_LTZ, of whatever precision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTimes<'a> {
    values: &'a [i64],
    nulls: Option<&'a NullBuffer>,
    units_per_ms: i64,
}

impl<'a> RowTimes<'a> {
    /// The times of a column.
    pub(crate) fn of(column: &'a ArrayRef) -> Result<Self> {
        let units_per_ms = units_per_ms(column.data_type())?;
        let values = match column.data_type() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => column.as_primitive::<TimestampMillisecondType>().values(),
            DataType::Timestamp(TimeUnit::Microsecond, _) => column.as_primitive::<TimestampMicrosecondType>().values(),
            _ => column.as_primitive::<TimestampNanosecondType>().values(),
        };
        Ok(RowTimes { values, nulls: column.nulls(), units_per_ms })
    }

    /// The time of a row in the column's unit.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        match self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(self.values[row]),
        }
    }

    /// The time of a row in milliseconds, rounded down.
    #[inline]
    pub(crate) fn get_ms(&self, row: usize) -> Option<TimestampMs> {
        self.get(row).map(|time| time.div_euclid(self.units_per_ms))
    }
}

/// How many units of a timestamp type are a millisecond.
pub(crate) fn units_per_ms(ty: &DataType) -> Result<i64> {
    match ty {
        DataType::Timestamp(TimeUnit::Millisecond, _) => Ok(1),
        DataType::Timestamp(TimeUnit::Microsecond, _) => Ok(1_000),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Ok(1_000_000),
        other => Err(Error::bug(format!("event time in a column of type {other}"))),
    }
}

const WATERMARK: &str = "watermark";

/// Writes the watermark that an operator has seen: what was late before a restart is late after it.
pub(crate) fn save_watermark(watermark: TimestampMs, into: &mut OperatorSnapshot) {
    into.put_list(WATERMARK, ListKind::Union, watermark.to_le_bytes().to_vec());
}

/// The watermark that was saved. Instances see the same watermarks before a barrier; where they do not, the least counts.
pub(crate) fn restore_watermark(from: &OperatorSnapshot) -> Result<TimestampMs> {
    let mut least = None;
    for bytes in from.list(WATERMARK) {
        let bytes = bytes.as_slice().try_into().map_err(|_| Error::corrupt(format!("a watermark of {} bytes", bytes.len())))?;
        let at = TimestampMs::from_le_bytes(bytes);
        least = Some(least.map_or(at, |least: TimestampMs| least.min(at)));
    }
    Ok(least.unwrap_or(MIN_WATERMARK))
}
