//! From pairs of row numbers to columns.

use arrow::array::{ArrayRef, UInt8Array};
use arrow::datatypes::SchemaRef;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::error::Result;

use crate::records;
use crate::row_store::{RowStore, take_rows};

/// Rows to put out, each made of a row of the batch at hand and a row of the store of the other side.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// Row numbers in the batch, [`crate::row_store::NO_ROW`] for NULLs.
    pub(crate) own: Vec<u32>,
    /// Slots of the other side, [`crate::row_store::NO_ROW`] for NULLs.
    pub(crate) other: Vec<u32>,
    /// [`RowKind`]s as bytes; empty where all are inserts.
    pub(crate) kinds: Vec<u8>,
}

impl Assembly {
    /// Adds a row.
    #[inline]
    pub(crate) fn push(&mut self, own: u32, other: u32, kind: RowKind) {
        self.own.push(own);
        self.other.push(other);
        self.kinds.push(kind as u8);
    }

    /// Adds a row where all are inserts.
    #[inline]
    pub(crate) fn insert(&mut self, own: u32, other: u32) {
        self.own.push(own);
        self.other.push(other);
    }

    /// How many rows were added.
    pub(crate) fn len(&self) -> usize {
        self.own.len()
    }

    /// The rows as columns: those of the left side, then those of the right. `own_side` is the side of the batch;
    /// `left_only` leaves the right side's out.
    pub(crate) fn build(
        self,
        output: &SchemaRef,
        own_side: usize,
        batch: &[ArrayRef],
        store: &mut RowStore,
        left_only: bool,
    ) -> Result<ColumnBatch> {
        let rows = self.len();
        let mut sides: [Vec<ArrayRef>; 2] = [Vec::new(), Vec::new()];
        if !(left_only && own_side == 1) {
            sides[own_side] = take_rows(batch, &self.own)?;
        }
        if !(left_only && own_side == 0) {
            sides[1 - own_side] = store.gather_all(&self.other)?;
        }
        let records = records(output, sides.concat(), rows)?;
        match self.kinds.is_empty() {
            true => Ok(ColumnBatch::inserts(records)),
            false => ColumnBatch::changes(records, UInt8Array::from(self.kinds)),
        }
    }
}
