//! The order of rows within a partition, as keys that compare byte by byte.

use std::cmp::Ordering;
use std::fmt::Debug;

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows, SortField};
use rheos_core::error::{Error, Result};

use crate::spec::SortKey;

/// Turns the columns of an ORDER BY into keys (the row format of Arrow).
#[derive(Debug)]
pub(crate) struct RowOrder {
    converter: RowConverter,
    columns: Vec<usize>,
    key_bytes: Option<usize>,
}

impl RowOrder {
    /// The order `order` over the columns of `input`.
    pub(crate) fn new(order: &[SortKey], input: &SchemaRef) -> Result<Self> {
        let mut fields = Vec::with_capacity(order.len());
        // A value of fixed width takes one byte more in a key.
        let mut key_bytes = Some(0);
        for key in order {
            let ty = input.field(key.column).data_type().clone();
            key_bytes = key_bytes.zip(ty.primitive_width()).map(|(sum, width)| sum + width + 1);
            fields.push(SortField::new_with_options(ty, SortOptions::new(key.descending, key.nulls_first)));
        }
        let converter = RowConverter::new(fields).map_err(|e| Error::config("rows cannot be ordered by this type").caused_by(e))?;
        Ok(RowOrder { converter, columns: order.iter().map(|k| k.column).collect(), key_bytes })
    }

    /// Whether every key fits a [`ShortKey`].
    pub(crate) fn is_short(&self) -> bool {
        self.key_bytes.is_some_and(|bytes| bytes <= SHORT_BYTES)
    }

    /// The key of each row.
    pub(crate) fn keys(&self, columns: &[ArrayRef]) -> Result<RowKeys> {
        if self.columns.is_empty() {
            return Ok(RowKeys { rows: None });
        }
        let columns: Vec<ArrayRef> = self.columns.iter().map(|c| columns[*c].clone()).collect();
        Ok(RowKeys { rows: Some(self.converter.convert_columns(&columns)?) })
    }
}

/// The keys of a batch.
#[derive(Debug)]
pub(crate) struct RowKeys {
    rows: Option<Rows>,
}

impl RowKeys {
    /// The bytes of one.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        self.rows.as_ref().map_or(&[], |rows| rows.row(row).data())
    }
}

/// A key that is kept.
pub(crate) trait OrderKey: Ord + Clone + Debug + Send + 'static {
    /// The key of these bytes.
    fn of(bytes: &[u8]) -> Self;
    /// How it compares to the key of these bytes.
    fn compare(&self, bytes: &[u8]) -> Ordering;
}

const SHORT_BYTES: usize = 24;

/// A key of at most 24 bytes; all keys of one order are of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShortKey([u64; SHORT_BYTES / 8]);

impl OrderKey for ShortKey {
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let mut padded = [0; SHORT_BYTES];
        padded[..bytes.len()].copy_from_slice(bytes);
        let word = |i: usize| u64::from_be_bytes(std::array::from_fn(|b| padded[i * 8 + b]));
        ShortKey([word(0), word(1), word(2)])
    }

    #[inline]
    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.cmp(&Self::of(bytes))
    }
}

/// A key of any length.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LongKey(Box<[u8]>);

impl OrderKey for LongKey {
    fn of(bytes: &[u8]) -> Self {
        LongKey(bytes.into())
    }

    fn compare(&self, bytes: &[u8]) -> Ordering {
        self.0.as_ref().cmp(bytes)
    }
}
