//! The texts of events: random words, and the padding that brings an event to its average size.

use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use rheos_core::Result;

use super::random::{Draws, high_below, low_below};

/// The length of the text that padding is cut from.
const PADDING_BYTES: usize = 1 << 20;
/// No padding is longer: the text must offer many places to cut it from.
pub(super) const MAX_AVERAGE_BYTES: usize = PADDING_BYTES / 4;
/// Short padding is copied in one block of this size and cut, which is faster than a copy of just its length.
const BLOCK_BYTES: usize = 96;

/// One text for all padding, as the Java generator has it: six characters at a time from `a` upwards, or from `a` downwards.
static PADDING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut draws = Draws::new(0x706164);
    let mut text = Vec::with_capacity(PADDING_BYTES + BLOCK_BYTES);
    while text.len() < PADDING_BYTES + BLOCK_BYTES {
        let mut bits = draws.next() as i32;
        for _ in 0..6 {
            text.push((i32::from(b'a') + bits % 26) as u8);
            bits /= 26;
        }
    }
    text
});

/// A text column in the making: the bytes of all rows, and where each ends.
#[derive(Debug)]
pub(super) struct StringColumn {
    /// The bytes so far; [`StringColumn::end_row`] closes a row.
    pub(super) bytes: Vec<u8>,
    offsets: Vec<i32>,
}

impl StringColumn {
    /// A column of `rows` texts of on average less than `row_bytes`.
    pub(super) fn new(rows: usize, row_bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        StringColumn { bytes: Vec::with_capacity(rows * row_bytes + BLOCK_BYTES), offsets }
    }

    /// All bytes since the last call are the next row. A batch's texts fit 31 bits: the reader sees to that.
    #[inline(always)]
    pub(super) fn end_row(&mut self) {
        self.offsets.push(self.bytes.len() as i32);
    }

    /// Adds one row.
    #[inline(always)]
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.end_row();
    }

    /// Adds a row of the first `length` bytes of `block`; all of it is copied, so its size should be a constant.
    #[inline(always)]
    fn push_block(&mut self, block: &[u8], length: usize) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(block);
        self.bytes.truncate(start + length);
        self.end_row();
    }

    /// Adds rows of no text, for events of other kinds.
    pub(super) fn skip(&mut self, rows: usize) {
        self.offsets.resize(self.offsets.len() + rows, self.bytes.len() as i32);
    }

    /// The column.
    pub(super) fn finish(self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(self.bytes), nulls)?))
    }
}

/// Rows of a table of short texts, each in a block of its own that is copied whole: `N` bytes, the last one is the length.
#[derive(Debug)]
pub(super) struct BlockTable<const N: usize>(Vec<[u8; N]>);

impl<const N: usize> BlockTable<N> {
    /// An empty table.
    pub(super) fn new() -> Self {
        BlockTable(Vec::new())
    }

    /// Adds a text of less than `N` bytes.
    pub(super) fn add(&mut self, text: &[u8]) {
        let mut block = [0; N];
        block[..text.len()].copy_from_slice(text);
        block[N - 1] = text.len() as u8;
        self.0.push(block);
    }

    /// Adds a row with the text at `index` to a column.
    #[inline(always)]
    pub(super) fn push_to(&self, column: &mut StringColumn, index: usize) {
        let block = &self.0[index];
        column.push_block(block, block[N - 1] as usize);
    }
}

/// How padding is sized: what is missing to the average, give or take a fifth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PaddingSize {
    least: usize,
    spread: usize,
}

impl PaddingSize {
    /// For an event that has `current` bytes and should have `average`.
    pub(super) fn new(current: usize, average: usize) -> Self {
        let missing = average.saturating_sub(current);
        let delta = (missing as f64 * 0.2).round() as usize;
        PaddingSize { least: missing - delta, spread: 2 * delta }
    }

    /// Adds a row of padding.
    pub(super) fn push_to(self, column: &mut StringColumn, bits: u64) {
        self.push_all(column, std::iter::once(bits));
    }

    /// Adds a row of padding for each of `bits`.
    pub(super) fn push_all(self, column: &mut StringColumn, bits: impl Iterator<Item = u64>) {
        let padding = PADDING.as_slice();
        let place = |bits: u64| {
            let length = self.least + high_below(bits, self.spread as u64) as usize;
            (low_below(bits, (PADDING_BYTES - length) as u64) as usize, length)
        };
        if self.least + self.spread <= BLOCK_BYTES {
            for (start, length) in bits.map(place) {
                column.push_block(&padding[start..start + BLOCK_BYTES], length);
            }
        } else {
            for (start, length) in bits.map(place) {
                column.push(&padding[start..start + length]);
            }
        }
    }
}

/// The characters of words, each as often as it is likely: of 13 * 26 equal chances, 26 are `special` and 12 are each letter.
const fn word_characters(special: u8) -> [u8; 13 * 26] {
    let mut characters = [special; 13 * 26];
    let mut i = 26;
    while i < characters.len() {
        characters[i] = b'a' + (i % 26) as u8;
        i += 1;
    }
    characters
}

/// Characters of words with spaces in them.
pub(super) static SPACED: [u8; 13 * 26] = word_characters(b' ');
/// Characters of words for urls.
pub(super) static UNDERSCORED: [u8; 13 * 26] = word_characters(b'_');

/// Adds a word of 3 to `max - 1` of `characters`, at most 99; spaces at its ends are cut off.
pub(super) fn push_word(bytes: &mut Vec<u8>, draws: &mut Draws, max: usize, characters: &[u8; 13 * 26]) {
    let mut block = [0; 100];
    let length = (3 + draws.below(max as u64 - 3) as usize).min(block.len());
    for four in block[..length.next_multiple_of(4)].chunks_exact_mut(4) {
        let bits = draws.next();
        for (i, character) in four.iter_mut().enumerate() {
            let chance = ((bits >> (16 * i)) & 0xFFFF) * characters.len() as u64;
            *character = characters[(chance >> 16) as usize];
        }
    }
    bytes.extend_from_slice(block[..length].trim_ascii());
}
