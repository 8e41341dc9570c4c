//! What every task measures of itself from its first version: where its time goes, what passes through, what it keeps.
//!
//! Counters are written by one task and read by anyone, so relaxed atomics suffice. Times are in nanoseconds.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::time::{MIN_WATERMARK, TimestampMs};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that is set.
#[derive(Debug)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// A gauge that starts at `value`.
    pub const fn new(value: i64) -> Self {
        Gauge(AtomicI64::new(value))
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds to it, or takes away.
    #[inline]
    pub fn add(&self, n: i64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Gauge::new(0)
    }
}

/// What one task (a chain of operators) does with its time.
#[derive(Debug)]
pub struct TaskMetrics {
    /// Useful time: turning bytes into rows.
    pub deserialize_ns: Counter,
    /// Useful time: in the operators.
    pub process_ns: Counter,
    /// Useful time: turning rows into bytes, splitting them by key.
    pub serialize_ns: Counter,
    /// Time without input.
    pub wait_input_ns: Counter,
    /// Time with output that nobody takes.
    pub wait_output_ns: Counter,
    /// Rows taken in.
    pub rows_in: Counter,
    /// Rows put out, each channel counted.
    pub rows_out: Counter,
    /// Bytes taken in, as retained.
    pub bytes_in: Counter,
    /// Bytes put out, as retained.
    pub bytes_out: Counter,
    /// Bytes that wait in the inbox.
    pub queued_bytes: Gauge,
    /// Bytes that fit in the inbox.
    pub queue_capacity_bytes: Gauge,
    /// The watermark of the inputs together, in milliseconds.
    pub watermark_ms: Gauge,
}

impl Default for TaskMetrics {
    fn default() -> Self {
        TaskMetrics {
            deserialize_ns: Counter::default(),
            process_ns: Counter::default(),
            serialize_ns: Counter::default(),
            wait_input_ns: Counter::default(),
            wait_output_ns: Counter::default(),
            rows_in: Counter::default(),
            rows_out: Counter::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            queued_bytes: Gauge::default(),
            queue_capacity_bytes: Gauge::default(),
            watermark_ms: Gauge::new(MIN_WATERMARK),
        }
    }
}

impl TaskMetrics {
    /// Deserialising, processing and serialising together.
    pub fn useful_ns(&self) -> u64 {
        self.deserialize_ns.get() + self.process_ns.get() + self.serialize_ns.get()
    }
}

/// What one operator instance does and keeps. Cost is `process_ns / rows_in`, selectivity is `rows_out / rows_in`.
#[derive(Debug)]
pub struct OperatorMetrics {
    /// Time in this operator alone.
    pub process_ns: Counter,
    /// Rows taken in.
    pub rows_in: Counter,
    /// Rows put out.
    pub rows_out: Counter,
    /// Rows that came after their window had closed, and were dropped.
    pub late_rows: Counter,
    /// Records that could not be read, and were skipped.
    pub bad_records: Counter,
    /// Rows (or entries) in state.
    pub state_rows: Gauge,
    /// Windows that have rows and have not closed.
    pub open_windows: Gauge,
    /// When event time must reach for the next window to close; [`i64::MAX`] where none is open.
    pub next_close_ms: Gauge,
}

impl Default for OperatorMetrics {
    fn default() -> Self {
        OperatorMetrics {
            process_ns: Counter::default(),
            rows_in: Counter::default(),
            rows_out: Counter::default(),
            late_rows: Counter::default(),
            bad_records: Counter::default(),
            state_rows: Gauge::default(),
            open_windows: Gauge::default(),
            next_close_ms: Gauge::new(TimestampMs::MAX),
        }
    }
}
