//! Rows of state as the columns of a segment.
//!
//! ```text
//! hash UINT64, key, (map key,) value BINARY with 64-bit offsets, (time of last use INT64)
//! ```
//!
//! A state of several gigabytes is one segment: 32-bit offsets would not do.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Builder, LargeBinaryBuilder, UInt64Builder};
use arrow::datatypes::UInt64Type;
use rheos_core::Result;
use rheos_core::key_group::{KeyGroup, key_group};
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use serde::Serialize;

use super::codec;
use super::header::{Header, Shape};
use super::rows::Rows;
use super::scope::Scope;
use crate::slots::Slot;
use crate::snapshot::{Slotted, segment};

/// Where a row's parts are written.
pub(super) struct PartWriter<'a> {
    parts: std::slice::IterMut<'a, LargeBinaryBuilder>,
    scratch: &'a mut Vec<u8>,
}

impl PartWriter<'_> {
    /// Writes the next part of the row.
    pub(super) fn put<T: Serialize>(&mut self, part: &T) -> Result<()> {
        codec::encode(part, self.scratch)?;
        if let Some(column) = self.parts.next() {
            column.append_value(self.scratch.as_slice());
        }
        Ok(())
    }
}

/// What a snapshot sees of rows.
struct Content<'a, E, H, W> {
    rows: &'a Rows<E>,
    shape: Shape,
    hash: H,
    write: W,
}

impl<E, H: Fn(&E) -> u64, W: Fn(&E, &mut PartWriter<'_>) -> Result<()>> Slotted for Content<'_, E, H, W> {
    fn live(&self) -> Vec<Slot> {
        self.rows.slab.iter().map(|(slot, _)| slot).filter(|slot| !self.rows.expiry.is_expired(*slot)).collect()
    }

    fn is_live(&self, slot: Slot) -> bool {
        self.rows.get(slot).is_some() && !self.rows.expiry.is_expired(slot)
    }

    fn key_groups(&self, columns: &[ArrayRef], _: usize, group_count: u32) -> Result<Vec<KeyGroup>> {
        let hashes = columns[0].as_primitive::<UInt64Type>().values();
        Ok(hashes.iter().map(|hash| key_group(*hash, group_count)).collect())
    }

    fn columns(&mut self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut hashes = UInt64Builder::with_capacity(slots.len());
        let mut parts: Vec<_> = (0..self.shape.parts()).map(|_| LargeBinaryBuilder::with_capacity(slots.len(), slots.len() * 8)).collect();
        let mut times = Int64Builder::new();
        let mut scratch = Vec::new();
        for slot in slots {
            let Some(entry) = self.rows.get(*slot) else { continue };
            hashes.append_value((self.hash)(entry));
            (self.write)(entry, &mut PartWriter { parts: parts.iter_mut(), scratch: &mut scratch })?;
            if self.rows.expiry.is_on() {
                times.append_value(self.rows.expiry.used_ms(*slot));
            }
        }
        let mut columns: Vec<ArrayRef> = vec![Arc::new(hashes.finish())];
        columns.extend(parts.iter_mut().map(|part| Arc::new(part.finish()) as ArrayRef));
        if self.rows.expiry.is_on() {
            columns.push(Arc::new(times.finish()));
        }
        Ok(columns)
    }
}

/// Puts rows, or those that changed, with a header. `write` gives the parts of an entry in order.
pub(super) fn put<E>(
    rows: &mut Rows<E>,
    scope: &Scope,
    shape: Shape,
    mode: SnapshotMode,
    into: &mut OperatorSnapshot,
    hash: impl Fn(&E) -> u64,
    write: impl Fn(&E, &mut PartWriter<'_>) -> Result<()>,
) -> Result<()> {
    // Where this fails, it is not known any more what has changed: the next snapshot is of everything.
    let mut changed = std::mem::take(&mut rows.changed);
    let mut content = Content { rows, shape, hash, write };
    let segment = segment(&mut content, &mut changed, mode, scope.group_count()).map_err(|e| scope.tell(e))?;
    rows.changed = changed;
    into.put_keyed(scope.name(), segment);
    let (now_ms, first_ms) = (rows.expiry.now_ms(), rows.expiry.first_ms());
    let type_name = shape.type_name.to_string();
    Header { kind: shape.kind, clock: rows.expiry.clock(), now_ms, first_ms, type_name }.put(scope, into)
}
