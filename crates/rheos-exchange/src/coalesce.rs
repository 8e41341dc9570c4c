//! Joins the small pieces that a split leaves for one channel, keeping their order.

use rheos_core::Batch;
use rheos_core::error::Result;

use crate::limits::CoalesceLimits;

/// The pieces that wait to be joined.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    pieces: Vec<Batch>,
    rows: usize,
    bytes: usize,
}

impl Coalescer {
    /// Takes rows in and gives to `send` what is large enough to be sent.
    pub(crate) fn add(&mut self, batch: Batch, limits: CoalesceLimits, mut send: impl FnMut(Batch)) -> Result<()> {
        // A large piece is not copied; what came before it goes first.
        if batch.num_rows() * 2 >= limits.rows {
            if let Some(before) = self.take()? {
                send(before);
            }
            send(batch);
            return Ok(());
        }
        self.rows += batch.num_rows();
        self.bytes += batch.retained_bytes();
        self.pieces.push(batch);
        if (self.rows >= limits.rows || self.bytes >= limits.bytes)
            && let Some(joined) = self.take()?
        {
            send(joined);
        }
        Ok(())
    }

    /// All that waits, as one batch.
    pub(crate) fn take(&mut self) -> Result<Option<Batch>> {
        if self.pieces.is_empty() {
            return Ok(None);
        }
        self.rows = 0;
        self.bytes = 0;
        Batch::concat(std::mem::take(&mut self.pieces)).map(Some)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}
