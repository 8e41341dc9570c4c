//! Rows of any column types as bytes, and back.
//!
//! ```text
//! row     := bitmap of NULLs (a bit for each column, from the lowest)  then the values that are not NULL, in order
//! value   := fixed-width types: their bytes; BOOLEAN: a byte; text, bytes: length as LEB128, then the bytes;
//!            nested types: length, then the row format of the arrow-row crate
//! ```
//!
//! Equal rows have equal bytes. The form lives in memory only: snapshots hold columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray, NullArray, StringArray};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{BinaryType, ByteArrayType, DataType, Utf8Type};
use arrow::row::{RowConverter, Rows, SortField};

use rheos_core::error::{Error, Result};

use crate::fixed::{self, FixedBytes};

/// Encodes and decodes rows of given column types. Works column by column, without a call per value for flat types.
#[derive(Debug)]
pub struct RowCodec {
    columns: Vec<Column>,
    bitmap_bytes: usize,
}

#[derive(Debug)]
struct Column {
    ty: DataType,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Fixed(usize),
    Boolean,
    Bytes,
    Nested(RowConverter),
    Nothing,
}

/// The rows of one batch, encoded one after the other. Kept between batches so that its memory is used again.
#[derive(Debug, Default)]
pub struct EncodedRows {
    bytes: Vec<u8>,
    /// Where each row ends; row `i` starts where row `i - 1` ends.
    ends: Vec<usize>,
    cursors: Vec<usize>,
}

impl EncodedRows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    /// The bytes of each row.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.row(i))
    }
}

/// One column of a batch, made ready to be written row by row.
enum Source<'a> {
    Fixed(FixedBytes, usize),
    Boolean(&'a BooleanArray),
    Bytes { offsets: &'a [i32], values: &'a [u8] },
    Nested(Rows),
    Nothing,
}

impl RowCodec {
    /// A codec for rows of these columns.
    pub fn new(types: &[DataType]) -> Result<Self> {
        let columns = types
            .iter()
            .map(|ty| {
                let form = match ty {
                    DataType::Boolean => Form::Boolean,
                    DataType::Null => Form::Nothing,
                    DataType::Utf8 | DataType::Binary => Form::Bytes,
                    ty => match fixed::width(ty) {
                        Some(width) => Form::Fixed(width),
                        None => Form::Nested(RowConverter::new(vec![SortField::new(ty.clone())])?),
                    },
                };
                Ok(Column { ty: ty.clone(), form })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(RowCodec { bitmap_bytes: columns.len().div_ceil(8), columns })
    }

    /// The types of the columns.
    pub fn types(&self) -> impl Iterator<Item = &DataType> {
        self.columns.iter().map(|c| &c.ty)
    }

    /// Encodes the rows of `columns`, which are of the codec's types, into `out`, which is cleared first.
    pub fn encode(&self, columns: &[&ArrayRef], rows: usize, out: &mut EncodedRows) -> Result<()> {
        if columns.len() != self.columns.len() || columns.iter().zip(&self.columns).any(|(a, c)| *a.data_type() != c.ty) {
            let given: Vec<String> = columns.iter().map(|a| a.data_type().to_string()).collect();
            return Err(Error::bug(format!("rows of {} given to a codec of other types", given.join(", "))));
        }
        let sources = columns.iter().zip(&self.columns).map(|(array, column)| column.source(array)).collect::<Result<Vec<_>>>()?;
        out.ends.clear();
        out.ends.resize(rows, self.bitmap_bytes);
        for (source, array) in sources.iter().zip(columns) {
            source.add_lengths(array.logical_nulls().as_ref(), &mut out.ends);
        }
        out.cursors.clear();
        let mut total = 0;
        for end in &mut out.ends {
            out.cursors.push(total + self.bitmap_bytes);
            total += *end;
            *end = total;
        }
        out.bytes.clear();
        out.bytes.resize(total, 0);
        for (c, (source, array)) in sources.iter().zip(columns).enumerate() {
            let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
            if let Some(nulls) = &nulls {
                for i in (0..rows).filter(|i| nulls.is_null(*i)) {
                    let start = if i == 0 { 0 } else { out.ends[i - 1] };
                    out.bytes[start + c / 8] |= 1 << (c % 8);
                }
            }
            source.write(nulls.as_ref(), &mut out.bytes, &mut out.cursors);
        }
        Ok(())
    }

    /// The columns of encoded rows.
    pub fn decode(&self, rows: &[&[u8]]) -> Result<Vec<ArrayRef>> {
        let mut cursors = vec![self.bitmap_bytes; rows.len()];
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (c, column) in self.columns.iter().enumerate() {
            let valid = BooleanBuffer::collect_bool(rows.len(), |i| rows[i][c / 8] & (1 << (c % 8)) == 0);
            let nulls = Some(NullBuffer::new(valid)).filter(|n| n.null_count() > 0);
            arrays.push(column.decode(rows, nulls, &mut cursors)?);
        }
        Ok(arrays)
    }
}

impl Column {
    fn source<'a>(&self, array: &'a ArrayRef) -> Result<Source<'a>> {
        Ok(match &self.form {
            Form::Fixed(width) => Source::Fixed(FixedBytes::of(array, *width), *width),
            Form::Boolean => Source::Boolean(array.as_boolean()),
            Form::Bytes if self.ty == DataType::Utf8 => Source::bytes::<Utf8Type>(array),
            Form::Bytes => Source::bytes::<BinaryType>(array),
            Form::Nested(converter) => Source::Nested(converter.convert_columns(std::slice::from_ref(array))?),
            Form::Nothing => Source::Nothing,
        })
    }

    fn decode(&self, rows: &[&[u8]], nulls: Option<NullBuffer>, cursors: &mut [usize]) -> Result<ArrayRef> {
        let valid = |i: usize| nulls.as_ref().is_none_or(|n| n.is_valid(i));
        Ok(match &self.form {
            Form::Fixed(width) => {
                let mut bytes = MutableBuffer::with_capacity(rows.len() * width);
                for (i, (row, cursor)) in rows.iter().zip(cursors).enumerate() {
                    if valid(i) {
                        bytes.extend_from_slice(&row[*cursor..*cursor + width]);
                        *cursor += width;
                    } else {
                        bytes.extend_zeros(*width);
                    }
                }
                fixed::from_bytes(&self.ty, bytes, rows.len(), nulls)?
            }
            Form::Boolean => {
                let values = BooleanBuffer::collect_bool(rows.len(), |i| {
                    let value = valid(i) && rows[i][cursors[i]] == 1;
                    cursors[i] += usize::from(valid(i));
                    value
                });
                Arc::new(BooleanArray::new(values, nulls))
            }
            Form::Bytes => {
                let mut offsets = Vec::with_capacity(rows.len() + 1);
                offsets.push(0i32);
                let mut values: Vec<u8> = Vec::new();
                for (i, (row, cursor)) in rows.iter().zip(cursors).enumerate() {
                    if valid(i) {
                        values.extend_from_slice(read_bytes(row, cursor));
                    }
                    offsets.push(i32::try_from(values.len()).map_err(|_| too_much_text())?);
                }
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                match self.ty {
                    DataType::Utf8 => Arc::new(StringArray::try_new(offsets, Buffer::from_vec(values), nulls)?),
                    _ => Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(values), nulls)?),
                }
            }
            Form::Nested(converter) => {
                let parser = converter.parser();
                let null = converter.convert_columns(&[arrow::array::new_null_array(&self.ty, 1)])?;
                let parsed = rows.iter().zip(cursors).enumerate().map(|(i, (row, cursor))| {
                    if valid(i) { parser.parse(read_bytes(row, cursor)) } else { parser.parse(null.row(0).data()) }
                });
                converter.convert_rows(parsed)?.swap_remove(0)
            }
            Form::Nothing => Arc::new(NullArray::new(rows.len())),
        })
    }
}

impl Source<'_> {
    fn bytes<T: ByteArrayType<Offset = i32>>(array: &ArrayRef) -> Source<'_> {
        let array = array.as_bytes::<T>();
        Source::Bytes { offsets: array.value_offsets(), values: array.value_data() }
    }

    fn add_lengths(&self, nulls: Option<&NullBuffer>, lengths: &mut [usize]) {
        match self {
            Source::Fixed(_, width) => add(lengths, nulls, |_| *width),
            Source::Boolean(_) => add(lengths, nulls, |_| 1),
            Source::Bytes { offsets, .. } => add(lengths, nulls, |i| {
                let length = (offsets[i + 1] - offsets[i]) as usize;
                length + varint_bytes(length)
            }),
            Source::Nested(rows) => add(lengths, nulls, |i| {
                let length = rows.row(i).data().len();
                length + varint_bytes(length)
            }),
            Source::Nothing => {}
        }
    }

    fn write(&self, nulls: Option<&NullBuffer>, out: &mut [u8], cursors: &mut [usize]) {
        match self {
            Source::Fixed(values, 8) => write_fixed::<8>(values.as_slice(), nulls, out, cursors),
            Source::Fixed(values, 4) => write_fixed::<4>(values.as_slice(), nulls, out, cursors),
            Source::Fixed(values, width) => each(nulls, cursors, |i, cursor| {
                out[*cursor..*cursor + width].copy_from_slice(&values.as_slice()[i * width..(i + 1) * width]);
                *cursor += width;
            }),
            Source::Boolean(values) => each(nulls, cursors, |i, cursor| {
                out[*cursor] = u8::from(values.value(i));
                *cursor += 1;
            }),
            Source::Bytes { offsets, values } => each(nulls, cursors, |i, cursor| {
                write_bytes(&values[offsets[i] as usize..offsets[i + 1] as usize], out, cursor);
            }),
            Source::Nested(rows) => each(nulls, cursors, |i, cursor| write_bytes(rows.row(i).data(), out, cursor)),
            Source::Nothing => {}
        }
    }
}

#[inline]
fn add(lengths: &mut [usize], nulls: Option<&NullBuffer>, length: impl Fn(usize) -> usize) {
    match nulls.filter(|n| n.null_count() > 0) {
        None => lengths.iter_mut().enumerate().for_each(|(i, l)| *l += length(i)),
        Some(nulls) => lengths.iter_mut().enumerate().filter(|(i, _)| nulls.is_valid(*i)).for_each(|(i, l)| *l += length(i)),
    }
}

#[inline]
fn each(nulls: Option<&NullBuffer>, cursors: &mut [usize], mut f: impl FnMut(usize, &mut usize)) {
    match nulls {
        None => cursors.iter_mut().enumerate().for_each(|(i, c)| f(i, c)),
        Some(nulls) => cursors.iter_mut().enumerate().filter(|(i, _)| nulls.is_valid(*i)).for_each(|(i, c)| f(i, c)),
    }
}

fn write_fixed<const W: usize>(values: &[u8], nulls: Option<&NullBuffer>, out: &mut [u8], cursors: &mut [usize]) {
    let (values, _) = values.as_chunks::<W>();
    each(nulls, cursors, |i, cursor| {
        out[*cursor..*cursor + W].copy_from_slice(&values[i]);
        *cursor += W;
    });
}

#[inline]
fn varint_bytes(mut value: usize) -> usize {
    let mut bytes = 1;
    while value >= 0x80 {
        value >>= 7;
        bytes += 1;
    }
    bytes
}

#[inline]
fn write_bytes(bytes: &[u8], out: &mut [u8], cursor: &mut usize) {
    let mut length = bytes.len();
    while length >= 0x80 {
        out[*cursor] = length as u8 | 0x80;
        *cursor += 1;
        length >>= 7;
    }
    out[*cursor] = length as u8;
    *cursor += 1;
    out[*cursor..*cursor + bytes.len()].copy_from_slice(bytes);
    *cursor += bytes.len();
}

#[inline]
fn read_bytes<'a>(row: &'a [u8], cursor: &mut usize) -> &'a [u8] {
    let (mut length, mut shift) = (0usize, 0);
    loop {
        let byte = row[*cursor];
        *cursor += 1;
        length |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    let bytes = &row[*cursor..*cursor + length];
    *cursor += length;
    bytes
}

fn too_much_text() -> Error {
    Error::restart("more than 2 GiB of text in one column of a batch")
}

#[cfg(test)]
mod tests;
