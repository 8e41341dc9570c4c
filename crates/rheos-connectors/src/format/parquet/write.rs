//! Writes a file.

use std::fs::File;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use rheos_core::schema::Schema;
use rheos_core::{Error, Result};

use super::Options;

/// A file that is being written. Rows gather in memory until they make a row group.
pub(crate) struct FileWriter {
    schema: SchemaRef,
    rows: ArrowWriter<File>,
}

impl FileWriter {
    /// Begins a file with these columns.
    pub(crate) fn new(file: File, schema: &Schema, options: &Options) -> Result<Self> {
        let schema = schema.to_arrow();
        let properties = WriterProperties::builder()
            .set_compression(options.compression)
            .set_max_row_group_bytes(Some(options.block_bytes))
            .set_created_by(concat!("rheos version ", env!("CARGO_PKG_VERSION")).to_string())
            // Lists and maps are named as the format's definition wants it.
            .set_coerce_types(true)
            .build();
        // What readers see is what the format's own types say, nothing of Arrow's.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let rows = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options).map_err(failed)?;
        Ok(FileWriter { schema, rows })
    }

    /// Adds rows, whose columns have the schema's types, in its order.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut columns = batch.columns().to_vec();
        for (column, field) in columns.iter_mut().zip(self.schema.fields()) {
            // Fields of rows may have other names.
            if column.data_type() != field.data_type() {
                *column = cast(column, field.data_type())?;
            }
        }
        self.rows.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?).map_err(failed)
    }

    /// What the file has grown to, about.
    pub(crate) fn bytes(&self) -> u64 {
        (self.rows.bytes_written() + self.rows.in_progress_size()) as u64
    }

    /// The memory that rows take which wait for their row group to be full.
    pub(crate) fn gathered_bytes(&self) -> usize {
        self.rows.memory_size()
    }

    /// Makes a row group of what waits.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.rows.flush().map_err(failed)
    }

    /// Completes the file; whoever calls makes it durable.
    pub(crate) fn finish(self) -> Result<File> {
        self.rows.into_inner().map_err(failed)
    }
}

fn failed(e: ParquetError) -> Error {
    Error::restart(format!("Parquet cannot be written: {e}")).caused_by(e)
}
