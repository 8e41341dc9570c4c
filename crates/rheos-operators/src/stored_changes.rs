//! Stored rows that wait to be put out as changes, in pieces that fit the collector.

use std::ops::Range;

use arrow::array::{ArrayRef, UInt8Array};
use arrow::datatypes::SchemaRef;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::Progress;

use crate::records;
use crate::row_store::{NO_ROW, RowStore};

/// Stored rows to put out, with their kinds.
#[derive(Debug, Default)]
pub(crate) struct StoredChanges {
    rows: Vec<u32>,
    kinds: Vec<u8>,
    /// How many were put out.
    done: usize,
}

impl StoredChanges {
    /// Adds a row.
    pub(crate) fn push(&mut self, row: u32, kind: RowKind) {
        self.rows.push(row);
        self.kinds.push(kind as u8);
    }

    /// Adds what there is to say of a key that had row `before` and has row `after`; [`NO_ROW`] is none.
    pub(crate) fn replace(&mut self, before: u32, after: u32, emit_update_before: bool) {
        match (before, after) {
            (NO_ROW, NO_ROW) => {}
            (NO_ROW, new) => self.push(new, RowKind::Insert),
            (old, NO_ROW) => self.push(old, RowKind::Delete),
            (old, new) => {
                if emit_update_before {
                    self.push(old, RowKind::UpdateBefore);
                }
                self.push(new, RowKind::UpdateAfter);
            }
        }
    }

    /// Puts out as much as fits.
    pub(crate) fn emit(&mut self, store: &mut RowStore, schema: &SchemaRef, out: &mut Collector) -> Result<Progress> {
        self.emit_with(store, schema, out, |_| None)
    }

    /// Puts out as much as fits, with a further column: the values of `beside` for the changes of these numbers.
    pub(crate) fn emit_with(
        &mut self,
        store: &mut RowStore,
        schema: &SchemaRef,
        out: &mut Collector,
        beside: impl Fn(Range<usize>) -> Option<ArrayRef>,
    ) -> Result<Progress> {
        while self.done < self.rows.len() {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let part = self.done..self.rows.len().min(self.done + out.room());
            let mut columns = store.gather_all(&self.rows[part.clone()])?;
            columns.extend(beside(part.clone()));
            let kinds = UInt8Array::from(self.kinds[part.clone()].to_vec());
            out.emit(ColumnBatch::changes(records(schema, columns, part.len())?, kinds)?);
            self.done = part.end;
        }
        *self = StoredChanges::default();
        Ok(Progress::Done)
    }
}
