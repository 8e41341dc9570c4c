//! Rows kept as columns, each under a slot number that stays the same while it lives.
//!
//! A batch that is kept becomes a piece: its arrays as they are, nothing is copied. Small pieces are merged, eight of like
//! size at a time, so that rows that come one by one do not stay arrays of one; a piece of which most rows are gone is packed.
//! A slot's place (piece, offset) is looked up, so pieces move freely below the slots.

mod equality;
mod row_index;
mod snapshot;
#[cfg(test)]
mod tests;

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array, new_null_array};
use arrow::compute::{concat, interleave, take};
use arrow::datatypes::DataType;
use rheos_core::error::{Error, Result};
use rheos_state::ChangedSlots;

pub(crate) use row_index::RowIndex;

/// The slot of no row: where it is asked for, NULLs are given.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// Slots are below this: users may put other numbers beside them.
pub(crate) const MAX_SLOTS: usize = 1 << 31;
/// Pieces below this many rows are merged, so many of like size at once: a row is copied a few times at most.
const SMALL_PIECE_ROWS: usize = 2048;
const MERGED_PIECES: usize = 8;
/// Pieces are not merged beyond this many bytes: 32-bit offsets of text must hold.
const MAX_MERGED_BYTES: usize = 256 << 20;

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    piece: u32,
    offset: u32,
}

/// The place of a slot that was given out before its row is known.
const RESERVED: Place = Place { piece: NO_ROW, offset: NO_ROW };
/// The place of such a slot whose row was given up before it came.
const CANCELLED: Place = Place { piece: NO_ROW, offset: 0 };

#[derive(Debug, Default)]
struct Piece {
    columns: Vec<ArrayRef>,
    /// The slot of each row; [`NO_ROW`] once it is removed.
    owners: Vec<u32>,
    live: usize,
}

impl Piece {
    fn len(&self) -> usize {
        self.owners.len()
    }
}

/// Rows of one schema. A removed row can be read until [`RowStore::settle`].
#[derive(Debug)]
pub(crate) struct RowStore {
    types: Vec<DataType>,
    pieces: Vec<Piece>,
    free_pieces: Vec<u32>,
    /// The small pieces, in order of coming.
    small: Vec<u32>,
    places: Vec<Place>,
    free_slots: Vec<u32>,
    /// Removed since the last settling.
    removed: Vec<u32>,
    live: usize,
    /// For gathering: each piece's position among those in use; all [`NO_ROW`] between calls.
    positions: Vec<u32>,
    /// The slots whose rows came or went since the last snapshot.
    changed: ChangedSlots,
}

impl RowStore {
    /// A store of rows with columns of these types.
    pub(crate) fn new(types: Vec<DataType>) -> Self {
        RowStore {
            types,
            pieces: Vec::new(),
            free_pieces: Vec::new(),
            small: Vec::new(),
            places: Vec::new(),
            free_slots: Vec::new(),
            removed: Vec::new(),
            live: 0,
            positions: Vec::new(),
            changed: ChangedSlots::default(),
        }
    }

    /// How many columns a row has.
    pub(crate) fn width(&self) -> usize {
        self.types.len()
    }

    /// How many rows it holds.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// One more than the greatest slot that was ever given.
    pub(crate) fn slot_bound(&self) -> usize {
        self.places.len()
    }

    /// Keeps `rows` rows, and adds their slots to `slots` in order.
    pub(crate) fn append(&mut self, columns: &[ArrayRef], rows: usize, slots: &mut Vec<u32>) -> Result<()> {
        debug_assert!(columns.len() == self.types.len() && columns.iter().all(|c| c.len() == rows));
        if rows == 0 {
            return Ok(());
        }
        self.check_room(rows)?;
        let first = slots.len();
        let reused = rows.min(self.free_slots.len());
        slots.extend(self.free_slots.drain(self.free_slots.len() - reused..).rev());
        let fresh = self.places.len() as u32;
        slots.extend(fresh..fresh + (rows - reused) as u32);
        self.places.resize(self.places.len() + rows - reused, RESERVED);
        self.live += rows;
        self.changed.add(&slots[first..]);
        self.add_piece(Piece { columns: columns.to_vec(), owners: slots[first..].to_vec(), live: rows });
        Ok(())
    }

    /// Gives a slot to a row that [`RowStore::fill`] brings, or that is removed before.
    pub(crate) fn reserve(&mut self) -> Result<u32> {
        if let Some(slot) = self.free_slots.pop() {
            self.places[slot as usize] = RESERVED;
            return Ok(slot);
        }
        self.check_room(1)?;
        self.places.push(RESERVED);
        Ok(self.places.len() as u32 - 1)
    }

    /// Keeps the rows of a batch whose slots were reserved, but for those removed since. `reserved` has all of them, as slots
    /// with row numbers.
    pub(crate) fn fill(&mut self, columns: &[ArrayRef], reserved: &[(u32, u32)]) -> Result<()> {
        let (mut owners, mut rows) = (Vec::with_capacity(reserved.len()), Vec::with_capacity(reserved.len()));
        for (slot, row) in reserved {
            if self.places[*slot as usize] == RESERVED {
                owners.push(*slot);
                rows.push(*row);
            } else {
                self.free_slots.push(*slot);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let live = rows.len();
        self.live += live;
        self.changed.add(&owners);
        self.add_piece(Piece { columns: take_rows(columns, &rows)?, owners, live });
        Ok(())
    }

    fn check_room(&self, rows: usize) -> Result<()> {
        if self.places.len() + rows > MAX_SLOTS {
            return Err(Error::config(format!("{} rows in the state of one instance: raise the parallelism", self.live)));
        }
        Ok(())
    }

    /// Gives up a row. Its slot is given to another row after the next settling.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Place { piece, offset } = self.places[slot as usize];
        if piece == NO_ROW {
            self.places[slot as usize] = CANCELLED;
            return;
        }
        let piece = &mut self.pieces[piece as usize];
        debug_assert_eq!(piece.owners[offset as usize], slot, "removed twice");
        piece.owners[offset as usize] = NO_ROW;
        piece.live -= 1;
        self.live -= 1;
        self.changed.add_one(slot);
        self.removed.push(slot);
    }

    /// The slots of all rows.
    pub(crate) fn slots(&self) -> Vec<u32> {
        self.pieces.iter().flat_map(|p| &p.owners).copied().filter(|slot| *slot != NO_ROW).collect()
    }

    /// Whether there is a row at `slot`.
    pub(crate) fn is_kept(&self, slot: u32) -> bool {
        let Some(place) = self.places.get(slot as usize) else { return false };
        let piece = self.pieces.get(place.piece as usize);
        piece.and_then(|p| p.owners.get(place.offset as usize)) == Some(&slot)
    }

    /// Whether the row at `slot` equals row `row` of `columns`; NULL equals NULL.
    #[inline]
    pub(crate) fn equals(&self, slot: u32, columns: &[ArrayRef], row: usize) -> bool {
        let Place { piece, offset } = self.places[slot as usize];
        let stored = &self.pieces[piece as usize].columns;
        stored.iter().zip(columns).all(|(a, b)| equality::same(a.as_ref(), offset as usize, b.as_ref(), row))
    }

    /// These columns of the rows at `slots`; NULL for [`NO_ROW`].
    pub(crate) fn gather(&mut self, columns: &[usize], slots: &[u32]) -> Result<Vec<ArrayRef>> {
        if slots.is_empty() {
            return Ok(columns.iter().map(|c| new_empty_array(&self.types[*c])).collect());
        }
        self.positions.resize(self.pieces.len(), NO_ROW);
        let mut used: Vec<u32> = Vec::new();
        let mut nulls = false;
        let mut indices: Vec<(usize, usize)> = Vec::with_capacity(slots.len());
        for slot in slots {
            if *slot == NO_ROW {
                nulls = true;
                indices.push((usize::MAX, 0));
                continue;
            }
            let Place { piece, offset } = self.places[*slot as usize];
            let position = &mut self.positions[piece as usize];
            if *position == NO_ROW {
                *position = used.len() as u32;
                used.push(piece);
            }
            indices.push((*position as usize, offset as usize));
        }
        for piece in &used {
            self.positions[*piece as usize] = NO_ROW;
        }
        if nulls {
            indices.iter_mut().filter(|i| i.0 == usize::MAX).for_each(|i| i.0 = used.len());
        }
        let column = |c: &usize| -> Result<ArrayRef> {
            let null = nulls.then(|| new_null_array(&self.types[*c], 1));
            let arrays = used.iter().map(|p| self.pieces[*p as usize].columns[*c].as_ref());
            Ok(interleave(&arrays.chain(null.as_deref()).collect::<Vec<&dyn Array>>(), &indices)?)
        };
        columns.iter().map(column).collect()
    }

    /// All columns of the rows at `slots`, as [`RowStore::gather`] gives them.
    pub(crate) fn gather_all(&mut self, slots: &[u32]) -> Result<Vec<ArrayRef>> {
        self.gather(&(0..self.width()).collect::<Vec<_>>(), slots)
    }

    /// Ends a batch: removed rows vanish, their slots become free, small and thin pieces are packed.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if !self.removed.is_empty() {
            let mut thin: Vec<u32> = self.removed.iter().map(|slot| self.places[*slot as usize].piece).collect();
            thin.sort_unstable();
            thin.dedup();
            self.free_slots.append(&mut self.removed);
            for id in thin {
                let piece = &self.pieces[id as usize];
                if piece.live * 2 <= piece.len() {
                    self.repack(&[id])?;
                }
            }
        }
        while let Some(first) = self.small.len().checked_sub(MERGED_PIECES)
            && self.are_alike(&self.small[first..])
        {
            let small = self.small[first..].to_vec();
            self.repack(&small)?;
        }
        Ok(())
    }

    /// Whether pieces are of about one size, and not too much text together.
    fn are_alike(&self, ids: &[u32]) -> bool {
        let class = |id: &u32| self.pieces[*id as usize].len().ilog2() / MERGED_PIECES.ilog2();
        let last = ids.last().map_or(0, class);
        ids.iter().all(|id| class(id) <= last) && ids.iter().map(|id| self.bytes(*id)).sum::<usize>() < MAX_MERGED_BYTES
    }

    fn bytes(&self, id: u32) -> usize {
        self.pieces[id as usize].columns.iter().map(|c| c.get_buffer_memory_size()).sum()
    }

    /// Makes one piece, without gaps, of these.
    fn repack(&mut self, ids: &[u32]) -> Result<()> {
        let pieces: Vec<Piece> = ids.iter().map(|id| std::mem::take(&mut self.pieces[*id as usize])).collect();
        self.small.retain(|id| !ids.contains(id));
        self.free_pieces.extend(ids);
        let live: usize = pieces.iter().map(|p| p.live).sum();
        if live == 0 {
            return Ok(());
        }
        let packed: Vec<Vec<ArrayRef>> = pieces.iter().filter(|p| p.live > 0).map(pack).collect::<Result<_>>()?;
        let columns = match packed.as_slice() {
            [only] => only.clone(),
            several => {
                let column = |c: usize| concat(&several.iter().map(|piece| piece[c].as_ref()).collect::<Vec<_>>());
                (0..self.types.len()).map(column).collect::<Result<_, _>>()?
            }
        };
        let owners = pieces.into_iter().flat_map(|p| p.owners).filter(|slot| *slot != NO_ROW).collect();
        self.add_piece(Piece { columns, owners, live });
        Ok(())
    }

    fn add_piece(&mut self, piece: Piece) {
        let id = self.free_pieces.pop().unwrap_or_else(|| {
            self.pieces.push(Piece::default());
            self.pieces.len() as u32 - 1
        });
        for (offset, slot) in piece.owners.iter().enumerate() {
            if *slot != NO_ROW {
                self.places[*slot as usize] = Place { piece: id, offset: offset as u32 };
            }
        }
        if piece.len() < SMALL_PIECE_ROWS {
            self.small.push(id);
        }
        self.pieces[id as usize] = piece;
    }
}

/// The columns of a piece without the rows that are gone.
fn pack(piece: &Piece) -> Result<Vec<ArrayRef>> {
    if piece.live == piece.len() {
        return Ok(piece.columns.clone());
    }
    let live = piece.owners.iter().enumerate().filter(|(_, slot)| **slot != NO_ROW).map(|(i, _)| i as u32);
    let indices = UInt32Array::from_iter_values(live);
    piece.columns.iter().map(|c| Ok(take(c.as_ref(), &indices, None)?)).collect()
}

/// Rows of columns by number; NULLs for [`NO_ROW`].
pub(crate) fn take_rows(columns: &[ArrayRef], rows: &[u32]) -> Result<Vec<ArrayRef>> {
    // Each row of the batch once, in order, is the batch itself.
    let in_order = || rows.iter().enumerate().all(|(i, row)| i as u32 == *row);
    if columns.first().is_some_and(|c| c.len() == rows.len()) && in_order() {
        return Ok(columns.to_vec());
    }
    let indices = match rows.contains(&NO_ROW) {
        true => rows.iter().map(|row| (*row != NO_ROW).then_some(*row)).collect::<UInt32Array>(),
        false => UInt32Array::from(rows.to_vec()),
    };
    columns.iter().map(|c| Ok(take(c.as_ref(), &indices, None)?)).collect()
}
