//! One piece of keyed state, and its form as bytes.
//!
//! ```text
//! segment := "RHSG" version kind 0 0          4 bytes, then one each; kind 0 is a base, 1 a delta
//!            u64 checksum                     XXH3-64, seed 0, of all that follows
//!            u32 removed                      then so many u32 row numbers: these rows are gone
//!            u32 groups                       then so many (u16 key group, u16 0, u32 rows): how many rows each key group has
//!            Arrow IPC stream                 UINT32 row numbers, UINT16 key groups, then the columns of the state
//! ```
//!
//! All numbers are little-endian.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt16Array, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt16Type, UInt32Type};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::key_group::KeyGroup;

const MAGIC: &[u8; 4] = b"RHSG";
const VERSION: u8 = 1;
/// Where what the checksum is of begins.
const BODY: usize = 16;
/// Where the columns of the state begin.
pub(super) const STATE: usize = 2;
/// How many rows go into one message of a stream at most.
const MESSAGE_ROWS: usize = 16 * 1024;

/// Whether a segment stands for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// All rows of the state.
    Base,
    /// What changed since the segment before.
    Delta,
}

/// Rows of keyed state, in any order: the one in which memory is read fastest.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Whether it stands for itself.
    pub kind: SegmentKind,
    /// The numbers of rows that are gone since the segment before.
    pub removed: Vec<u32>,
    /// The key groups of the rows, ascending, with how many rows each has.
    pub groups: Vec<(KeyGroup, u32)>,
    /// The rows.
    pub rows: SegmentRows,
}

/// The rows of a segment.
#[derive(Debug, Clone)]
pub enum SegmentRows {
    /// Row numbers, key groups, then the columns of the state.
    Columns(RecordBatch),
    /// The whole segment as bytes, as it was stored. Its other fields were read from them.
    Encoded(Bytes),
}

impl Segment {
    /// A segment of rows with their numbers, key groups and columns.
    pub fn new(kind: SegmentKind, removed: Vec<u32>, numbers: Vec<u32>, of_rows: Vec<KeyGroup>, columns: Vec<ArrayRef>) -> Result<Segment> {
        let groups = counted(&of_rows);
        let field = |(i, c): (usize, &ArrayRef)| Field::new(format!("c{i}"), c.data_type().clone(), true);
        let mut fields = vec![Field::new("row", DataType::UInt32, false), Field::new("key_group", DataType::UInt16, false)];
        fields.extend(columns.iter().enumerate().map(field));
        let mut all: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(numbers)), Arc::new(UInt16Array::from(of_rows))];
        all.extend(columns);
        let rows = SegmentRows::Columns(RecordBatch::try_new(Arc::new(Schema::new(fields)), all)?);
        Ok(Segment { kind, removed, groups, rows })
    }

    /// A base of these columns; the rows have these key groups. Their numbers are their positions.
    pub fn base(groups: Vec<KeyGroup>, columns: Vec<ArrayRef>) -> Result<Segment> {
        Segment::new(SegmentKind::Base, Vec::new(), (0..groups.len() as u32).collect(), groups, columns)
    }

    /// How many rows it has.
    pub fn num_rows(&self) -> usize {
        self.groups.iter().map(|(_, rows)| *rows as usize).sum()
    }

    /// The segment as bytes.
    pub fn encode(&self) -> Result<Bytes> {
        let rows = match &self.rows {
            SegmentRows::Encoded(bytes) => return Ok(bytes.clone()),
            SegmentRows::Columns(rows) => rows,
        };
        let mut out = Vec::with_capacity(rows.get_array_memory_size() + 1024);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[VERSION, u8::from(self.kind == SegmentKind::Delta), 0, 0]);
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(self.removed.len() as u32).to_le_bytes());
        self.removed.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        out.extend_from_slice(&(self.groups.len() as u32).to_le_bytes());
        for (group, rows) in &self.groups {
            out.extend_from_slice(&u32::from(*group).to_le_bytes());
            out.extend_from_slice(&rows.to_le_bytes());
        }
        let mut writer = StreamWriter::try_new(out, &rows.schema())?;
        for start in (0..rows.num_rows()).step_by(MESSAGE_ROWS) {
            writer.write(&rows.slice(start, MESSAGE_ROWS.min(rows.num_rows() - start)))?;
        }
        let mut out = writer.into_inner()?;
        let checksum = xxh3_64(&out[BODY..]);
        out[BODY - 8..BODY].copy_from_slice(&checksum.to_le_bytes());
        Ok(out.into())
    }

    /// A segment from its bytes. Its rows are read when they are asked for.
    pub fn decode(bytes: Bytes) -> Result<Segment> {
        let stored = bytes.get(BODY - 8..BODY).and_then(|b| <[u8; 8]>::try_from(b).ok()).map(u64::from_le_bytes);
        let (kind, removed, groups, _) = header(&bytes)?;
        // The reader of Arrow's form trusts what it reads.
        if stored != Some(xxh3_64(&bytes[BODY..])) {
            return Err(Error::corrupt("a segment of state is not what was written: its checksum differs"));
        }
        Ok(Segment { kind, removed, groups, rows: SegmentRows::Encoded(bytes) })
    }

    /// Its rows: row numbers, key groups, then columns of `types`; columns of others are an error, since the state is of another query.
    pub(super) fn batches(&self, types: &[DataType]) -> Result<Vec<RecordBatch>> {
        let (schema, batches) = self.read()?;
        let found: Vec<&DataType> = schema.fields().iter().skip(STATE).map(|f| f.data_type()).collect();
        if !found.iter().copied().eq(types) {
            let list = |types: Vec<String>| types.join(", ");
            let found = list(found.iter().map(|t| t.to_string()).collect());
            let wanted = list(types.iter().map(|t| t.to_string()).collect());
            return Err(Error::config(format!("state of columns ({found}) cannot become state of columns ({wanted})")));
        }
        Ok(batches)
    }

    /// Reads all of it, whatever the types of its columns are, for those who want to know whether that can be done.
    pub fn check(&self) -> Result<()> {
        self.read()?.1.iter().try_for_each(|batch| numbers(batch).and(key_groups(batch)).map(drop))
    }

    fn read(&self) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let (schema, batches) = match &self.rows {
            SegmentRows::Columns(rows) => (rows.schema(), vec![rows.clone()]),
            SegmentRows::Encoded(bytes) => {
                let corrupt = |e: arrow::error::ArrowError| Error::corrupt(e.to_string()).caused_by(e);
                let (.., start) = header(bytes)?;
                let reader = StreamReader::try_new(&bytes[start..], None).map_err(corrupt)?;
                (reader.schema(), reader.collect::<Result<Vec<_>, _>>().map_err(corrupt)?)
            }
        };
        if schema.fields().len() < STATE {
            return Err(Error::corrupt("a segment without row numbers and key groups"));
        }
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if rows != self.num_rows() {
            return Err(Error::corrupt(format!("{rows} rows, where {} were said to be", self.num_rows())));
        }
        Ok((schema, batches))
    }
}

/// The row numbers of a batch of [`Segment::batches`].
pub(super) fn numbers(batch: &RecordBatch) -> Result<&[u32]> {
    let column = batch.column(0).as_primitive_opt::<UInt32Type>();
    Ok(column.ok_or_else(|| Error::corrupt("the first column of a segment has no row numbers"))?.values())
}

/// The key groups of a batch of [`Segment::batches`].
pub(super) fn key_groups(batch: &RecordBatch) -> Result<&[u16]> {
    let column = batch.column(1).as_primitive_opt::<UInt16Type>();
    Ok(column.ok_or_else(|| Error::corrupt("the second column of a segment has no key groups"))?.values())
}

/// How many rows each group has.
fn counted(groups: &[KeyGroup]) -> Vec<(KeyGroup, u32)> {
    let mut counts = vec![0u32; groups.iter().max().map_or(0, |group| usize::from(*group) + 1)];
    groups.iter().for_each(|group| counts[usize::from(*group)] += 1);
    counts.into_iter().enumerate().filter(|(_, rows)| *rows > 0).map(|(group, rows)| (group as KeyGroup, rows)).collect()
}

type Header = (SegmentKind, Vec<u32>, Vec<(KeyGroup, u32)>, usize);

/// All before the rows, and where those begin.
fn header(bytes: &[u8]) -> Result<Header> {
    let short = || Error::corrupt("a segment is cut off");
    let number = |at: usize| -> Result<u32> {
        let bytes = bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
        Ok(u32::from_le_bytes(bytes.ok_or_else(short)?))
    };
    if bytes.get(..4) != Some(MAGIC.as_slice()) {
        return Err(Error::corrupt("these bytes are no segment of state"));
    }
    let kind = match bytes.get(4..6).ok_or_else(short)? {
        [VERSION, 0] => SegmentKind::Base,
        [VERSION, 1] => SegmentKind::Delta,
        [version, _] => {
            return Err(Error::config(format!("a segment of version {version}; this Rheos reads version {VERSION}")));
        }
        _ => return Err(short()),
    };
    let removed = number(BODY)? as usize;
    let removed_end = BODY + 4 + removed * 4;
    // A count that lies is found here, before anything is made of its size.
    let groups = number(removed_end)? as usize;
    let end = removed_end + 4 + groups * 8;
    if bytes.len() < end {
        return Err(short());
    }
    let removed = (0..removed).map(|i| number(BODY + 4 + i * 4)).collect::<Result<_>>()?;
    let group = |i: usize| -> Result<(KeyGroup, u32)> {
        let at = removed_end + 4 + i * 8;
        Ok((KeyGroup::try_from(number(at)?).map_err(|_| short())?, number(at + 4)?))
    };
    let groups = (0..groups).map(group).collect::<Result<_>>()?;
    Ok((kind, removed, groups, end))
}
