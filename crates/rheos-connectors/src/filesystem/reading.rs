//! Reads one file at a time, from any position on.

use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::TableSpec;
use rheos_core::metrics::OperatorMetrics;
use serde::{Deserialize, Serialize};

use super::format::FileFormat;
use super::input::Input;
use super::partitions::{Assembly, Partitions};
use crate::format::{Decoder, parquet};

/// A batch is handed over when it was made of so many bytes, however few rows it has.
const MAX_BATCH_BYTES: u64 = 8 << 20;
/// After so many bytes without a row the reader lets others run, and hears of a cancellation.
pub(super) const YIELD_BYTES: u64 = 8 << 20;

/// Where to go on in a file: after the last row that was handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// In bytes of the unpacked file.
    pub(super) offset: u64,
    /// The lines before it, by which errors name theirs.
    pub(super) line: u64,
    /// Parquet: the rows of the file before it; the others are 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) row: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Position {
    /// Behind all that a file has now.
    pub(super) fn end_of(path: &str, table: &TableSpec) -> Result<Position> {
        match FileFormat::of(table)? {
            // Lines are not counted: that would be to read it all.
            FileFormat::Text(_) => Ok(Position { offset: Input::length(path)?, ..Position::default() }),
            FileFormat::Parquet(_) => {
                let row = parquet::rows_of(Path::new(path)).map_err(|e| e.context(place(table, path)))?;
                Ok(Position { row, ..Position::default() })
            }
        }
    }
}

/// What reading on has given.
pub(super) enum Step {
    Rows(ColumnBatch),
    /// Much was read that held no row: others may run before the next call.
    Again,
    /// The file has no more rows; the next call may name another.
    End,
}

/// Reads the files of a table.
pub(super) struct Reading {
    /// What is in the files: without partition columns.
    table: TableSpec,
    kind: Kind,
    partitions: Partitions,
    assembly: Assembly,
    /// The values of the partition columns in the file that is being read.
    values: Option<Vec<ArrayRef>>,
}

enum Kind {
    Text { decoder: Box<Decoder>, open: Option<Input> },
    Parquet { open: Option<Box<parquet::FileReader>> },
}

impl Reading {
    pub(super) fn new(table: &TableSpec, metrics: Arc<OperatorMetrics>) -> Result<Reading> {
        let partitions = Partitions::of(table)?;
        let assembly = Assembly::new(table, &partitions);
        let table = partitions.of_files(table);
        let kind = match FileFormat::of(&table)? {
            FileFormat::Text(format) => Kind::Text { decoder: Box::new(format.decoder(&table, metrics)), open: None },
            FileFormat::Parquet(_) => Kind::Parquet { open: None },
        };
        Ok(Reading { table, kind, partitions, assembly, values: None })
    }

    /// Reads on in the file at `path`, which stays the same until it has ended, and advances its position.
    pub(super) fn read(&mut self, path: &str, position: &mut Position, max_rows: usize) -> Result<Step> {
        if self.partitions.is_empty() {
            return self.read_file(path, position, max_rows.max(1));
        }
        if self.values.is_none() {
            // A file of a snapshot may be one that the conditions of now exclude.
            if !self.partitions.is_wanted(path)? {
                return Ok(Step::End);
            }
            self.values = Some(self.partitions.values_of(path)?);
        }
        Ok(match self.read_file(path, position, max_rows.max(1))? {
            Step::Rows(batch) => Step::Rows(self.assembly.complete(batch, self.values.as_deref().unwrap_or_default())?),
            Step::End => {
                self.values = None;
                Step::End
            }
            Step::Again => Step::Again,
        })
    }

    /// Reads on the columns that are in the file.
    fn read_file(&mut self, path: &str, position: &mut Position, max_rows: usize) -> Result<Step> {
        let table = &self.table;
        match &mut self.kind {
            Kind::Text { decoder, open } => {
                let step = read_text(table, decoder, open, path, position, max_rows)?;
                if matches!(step, Step::End) {
                    *open = None;
                }
                Ok(step)
            }
            Kind::Parquet { open } => {
                let next = match open {
                    Some(file) => file.next(max_rows),
                    None => parquet::FileReader::open(Path::new(path), table, position.row, max_rows)
                        .and_then(|file| open.insert(Box::new(file)).next(max_rows)),
                };
                let Some(next) = next.map_err(|e| e.context(place(table, path)))? else {
                    *open = None;
                    return Ok(Step::End);
                };
                position.row = next.row;
                Ok(next.batch.map_or(Step::Again, Step::Rows))
            }
        }
    }
}

fn place(table: &TableSpec, path: &str) -> String {
    format!("table '{}', file '{path}'", table.name)
}

fn read_text(
    table: &TableSpec,
    decoder: &mut Decoder,
    open: &mut Option<Input>,
    path: &str,
    position: &mut Position,
    max_rows: usize,
) -> Result<Step> {
    let input = match open {
        Some(input) => input,
        None => {
            decoder.begin(position.line, position.offset == 0);
            open.insert(Input::open(path, position.offset)?)
        }
    };
    loop {
        let ended = input.ended();
        let read = decoder.decode(input.buffered(), ended, max_rows).map_err(|e| e.context(place(table, path)))?;
        input.consume(read);
        let bytes = input.offset() - position.offset;
        let is_full = decoder.rows() >= max_rows || (decoder.rows() > 0 && bytes >= MAX_BATCH_BYTES);
        let here = Position { offset: input.offset(), line: decoder.line(), row: 0 };
        if !is_full && !ended {
            if decoder.rows() == 0 && bytes >= YIELD_BYTES {
                // What was skipped need not be read again after a restart.
                *position = here;
                return Ok(Step::Again);
            }
            input.fill()?;
            continue;
        }
        return Ok(match decoder.finish()? {
            Some(batch) => {
                *position = here;
                Step::Rows(batch)
            }
            None => Step::End,
        });
    }
}
