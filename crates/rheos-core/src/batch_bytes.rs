//! Rows in columns as bytes: how rows on their way become part of a snapshot.
//!
//! ```text
//! bytes := "RHCB" version 0 0 0      4 bytes, then one each
//!          u64 checksum              XXH3-64, seed 0, little-endian, of all that follows
//!          Arrow IPC stream          the columns, then UINT8 kinds of changes
//! ```

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema, UInt8Type};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::batch::ColumnBatch;
use crate::changelog::RowKind;
use crate::error::{Error, Result};

const HEAD: [u8; 8] = *b"RHCB\x01\0\0\0";
const KINDS: &str = "$kinds";

/// Batches of one schema as bytes; there is at least one.
pub fn encode(batches: &[ColumnBatch]) -> Result<Bytes> {
    let first = batches.first().ok_or_else(|| Error::bug("no rows to encode"))?;
    let mut fields: Vec<Arc<Field>> = first.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(KINDS, DataType::UInt8, false)));
    let schema = Arc::new(Schema::new(fields));
    let mut out = HEAD.to_vec();
    out.extend_from_slice(&[0; 8]);
    let mut writer = StreamWriter::try_new(out, &schema)?;
    for batch in batches {
        let mut columns = batch.columns().to_vec();
        let all_inserts = || UInt8Array::from(vec![RowKind::Insert as u8; batch.num_rows()]);
        columns.push(Arc::new(batch.kinds().cloned().unwrap_or_else(all_inserts)));
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
    }
    let mut out = writer.into_inner()?;
    let checksum = xxh3_64(&out[16..]);
    out[8..16].copy_from_slice(&checksum.to_le_bytes());
    Ok(out.into())
}

/// The batches of what [`encode`] gave.
pub fn decode(bytes: &[u8]) -> Result<Vec<ColumnBatch>> {
    if bytes.get(..4) != Some(&HEAD[..4]) {
        return Err(Error::corrupt("these bytes are no rows"));
    }
    if bytes[4..].first() != Some(&HEAD[4]) {
        return Err(Error::config("these rows were written by another version of Rheos"));
    }
    let stored = bytes.get(8..16).and_then(|b| <[u8; 8]>::try_from(b).ok()).map(u64::from_le_bytes);
    if stored.is_none() || stored != bytes.get(16..).map(xxh3_64) {
        return Err(Error::corrupt("rows are not what was written: their checksum differs"));
    }
    let corrupt = |e: arrow::error::ArrowError| Error::corrupt(e.to_string()).caused_by(e);
    let reader = StreamReader::try_new(&bytes[16..], None).map_err(corrupt)?;
    reader.map(|batch| columns_and_kinds(batch.map_err(corrupt)?)).collect()
}

fn columns_and_kinds(mut batch: RecordBatch) -> Result<ColumnBatch> {
    let is_kinds = batch.schema().fields().last().is_some_and(|f| f.name() == KINDS && *f.data_type() == DataType::UInt8);
    if !is_kinds {
        return Err(Error::corrupt("rows without their kinds of changes"));
    }
    let kinds = batch.remove_column(batch.num_columns() - 1);
    ColumnBatch::changes(batch, kinds.as_primitive::<UInt8Type>().clone())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn batch(kinds: Option<Vec<u8>>) -> ColumnBatch {
        let fields = vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, false)];
        let columns: Vec<arrow::array::ArrayRef> =
            vec![Arc::new(Int64Array::from(vec![Some(1), None])), Arc::new(StringArray::from(vec!["x", "y"]))];
        let records = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        match kinds {
            Some(kinds) => ColumnBatch::changes(records, kinds.into()).unwrap(),
            None => ColumnBatch::inserts(records),
        }
    }

    #[test]
    fn rows_and_their_kinds_come_back() {
        let batches = [batch(None), batch(Some(vec![RowKind::UpdateBefore as u8, RowKind::UpdateAfter as u8]))];
        let back = decode(&encode(&batches).unwrap()).unwrap();
        assert_eq!(back.len(), 2);
        for (a, b) in batches.iter().zip(&back) {
            assert_eq!((a.records(), a.kinds()), (b.records(), b.kinds()));
        }
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let bytes = encode(&[batch(None)]).unwrap();
        assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_err()));
        let mut changed = bytes.to_vec();
        *changed.last_mut().unwrap() ^= 1;
        assert!(decode(&changed).unwrap_err().to_string().contains("checksum differs"));
    }
}
