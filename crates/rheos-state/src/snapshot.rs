//! Rows of state as bytes that outlive the process: cut by key group, an Arrow IPC stream each.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use rheos_core::error::{Error, Result};
use rheos_core::key_group::{KeyGroup, hash_columns, key_group};

/// How many rows go into one message of a stream at most.
const MESSAGE_ROWS: usize = 16 * 1024;

/// The rows of each key group of a job that has `group_count` of them, where `keys` are the rows' key columns. Row numbers
/// are ascending; groups without rows are left out.
pub fn by_key_group(keys: &[ArrayRef], rows: usize, group_count: u32) -> Result<BTreeMap<KeyGroup, Vec<u32>>> {
    let mut hashes = Vec::new();
    hash_columns(&keys.iter().collect::<Vec<_>>(), rows, &mut hashes)?;
    let mut groups: BTreeMap<KeyGroup, Vec<u32>> = BTreeMap::new();
    for (row, hash) in hashes.iter().enumerate() {
        groups.entry(key_group(*hash, group_count)).or_default().push(row as u32);
    }
    Ok(groups)
}

/// Columns of `rows` rows as bytes.
pub fn encode(columns: &[ArrayRef], rows: usize) -> Result<Vec<u8>> {
    let fields: Vec<Field> = columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns.to_vec(), &options)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    for start in (0..rows).step_by(MESSAGE_ROWS) {
        writer.write(&batch.slice(start, MESSAGE_ROWS.min(rows - start)))?;
    }
    Ok(writer.into_inner()?)
}

/// The batches of what [`encode`] gave. Columns of other types than `types` are an error: the state is of another query.
pub fn decode(bytes: &[u8], types: &[DataType]) -> Result<Vec<RecordBatch>> {
    let reader = StreamReader::try_new(bytes, None).map_err(|e| Error::corrupt(e.to_string()).caused_by(e))?;
    let schema = reader.schema();
    let found: Vec<&DataType> = schema.fields().iter().map(|f| f.data_type()).collect();
    if !found.iter().copied().eq(types) {
        let list = |types: Vec<String>| types.join(", ");
        let found = list(found.iter().map(|t| t.to_string()).collect());
        let wanted = list(types.iter().map(|t| t.to_string()).collect());
        return Err(Error::config(format!("state of columns ({found}) cannot become state of columns ({wanted})")));
    }
    reader.map(|batch| batch.map_err(|e| Error::corrupt(e.to_string()).caused_by(e))).collect()
}
