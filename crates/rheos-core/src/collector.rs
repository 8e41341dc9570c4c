//! Where an operator puts what it emits: bounded, so that no call produces without limit.

use std::collections::VecDeque;

use crate::batch::Batch;

/// How many rows an operator may emit in one call before it should return [`crate::operator::Progress::More`].
pub const DEFAULT_COLLECTOR_ROWS: usize = 16 * 1024;

/// The output of one operator call. An operator that finds it full returns `More` and is resumed after it was drained.
/// The bound is soft by one batch: what is being emitted is always taken.
#[derive(Debug)]
pub struct Collector {
    batches: VecDeque<Batch>,
    rows: usize,
    max_rows: usize,
}

impl Default for Collector {
    fn default() -> Self {
        Self::new(DEFAULT_COLLECTOR_ROWS)
    }
}

impl Collector {
    /// A collector that counts as full at `max_rows`.
    pub fn new(max_rows: usize) -> Self {
        Collector { batches: VecDeque::new(), rows: 0, max_rows }
    }

    /// Takes a batch; an empty one vanishes.
    pub fn emit(&mut self, batch: impl Into<Batch>) {
        let batch = batch.into();
        if batch.num_rows() > 0 {
            self.rows += batch.num_rows();
            self.batches.push_back(batch);
        }
    }

    /// Whether the operator should stop and ask to be resumed.
    pub fn is_full(&self) -> bool {
        self.rows >= self.max_rows
    }

    /// How many more rows fit before it is full.
    pub fn room(&self) -> usize {
        self.max_rows.saturating_sub(self.rows)
    }

    /// The oldest batch in it.
    pub fn pop(&mut self) -> Option<Batch> {
        let batch = self.batches.pop_front()?;
        self.rows -= batch.num_rows();
        Some(batch)
    }
}
