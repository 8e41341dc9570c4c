//! Reads files, one split each.

use std::task::Poll;

use futures_util::future::{BoxFuture, poll_fn};
use rheos_core::connector::TableSpec;
use rheos_core::env::Env;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use rheos_core::{Batch, Error, Result};
use serde::{Deserialize, Serialize};

use super::input::Input;
use super::path;
use crate::format::{Decoder, Format};

/// A batch is handed over when it was made of so many bytes, however few rows it has.
const MAX_BATCH_BYTES: u64 = 8 << 20;
/// After so many bytes without a row the reader lets others run, and hears of a cancellation.
pub(super) const YIELD_BYTES: u64 = 8 << 20;

/// The source.
#[derive(Debug)]
pub(super) struct Files;

impl SourceFactory for Files {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        let format = Format::of(table)?;
        if table.option("source.monitor-interval").is_some() {
            let message = "has 'source.monitor-interval': watching a folder for new files is not supported yet";
            return Err(Error::config(format!("table '{}' {message}", table.name)));
        }
        path::check(table)?;
        Ok(SourceDescription { changelog: format.changelog(), bounded: true, predicates_applied: vec![false; table.predicates.len()] })
    }

    fn splits(&self, table: &TableSpec, _parallelism: usize) -> Result<Vec<Split>> {
        let start = serde_json::to_value(Position::default())?;
        let split = |file: std::path::PathBuf| match file.into_os_string().into_string() {
            Ok(id) => Ok(Split { id, position: start.clone() }),
            Err(name) => Err(Error::config(format!("table '{}' reads a file whose name is not UTF-8: {}", table.name, name.display()))),
        };
        path::list(table)?.into_iter().map(split).collect()
    }

    fn end_splits(&self, table: &TableSpec, parallelism: usize, _env: &Env) -> Result<Vec<Split>> {
        let mut splits = self.splits(table, parallelism)?;
        for split in &mut splits {
            // Lines are not counted: that would be to read it all.
            split.position = serde_json::to_value(Position { offset: Input::length(&split.id)?, line: 0 })?;
        }
        Ok(splits)
    }

    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        let decoder = Format::of(table)?.decoder(table, context.metrics.clone());
        let position = |split: Split| -> Result<FileSplit> {
            let position =
                serde_json::from_value(split.position).map_err(|e| Error::from(e).context(format!("position in '{}'", split.id)))?;
            Ok(FileSplit { path: split.id, position })
        };
        let splits = splits.into_iter().map(position).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(FileReader { table: table.name.clone(), splits, current: 0, input: None, decoder }))
    }
}

/// Where to go on in a file: after the last row that was handed over.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Position {
    /// In bytes of the unpacked file.
    offset: u64,
    /// The lines before it, by which errors name theirs.
    line: u64,
}

struct FileSplit {
    path: String,
    position: Position,
}

/// Reads files one after the other.
struct FileReader {
    table: String,
    splits: Vec<FileSplit>,
    /// The split that is being read.
    current: usize,
    input: Option<Input>,
    decoder: Decoder,
}

impl FileReader {
    /// What comes next, or nothing when many bytes held no row: then it is to be called again.
    fn read(&mut self, max_rows: usize) -> Result<Option<SourceEvent>> {
        let Some(split) = self.splits.get_mut(self.current) else { return Ok(Some(SourceEvent::End)) };
        let input = match &mut self.input {
            Some(input) => input,
            None => {
                self.decoder.begin(split.position.line, split.position.offset == 0);
                self.input.insert(Input::open(&split.path, split.position.offset)?)
            }
        };
        loop {
            let ended = input.ended();
            let read = self.decoder.decode(input.buffered(), ended, max_rows.max(1));
            let read = read.map_err(|e| e.context(format!("table '{}', file '{}'", self.table, split.path)))?;
            input.consume(read);
            let is_full = self.decoder.rows() >= max_rows.max(1)
                || (self.decoder.rows() > 0 && input.offset() - split.position.offset >= MAX_BATCH_BYTES);
            if !is_full && !ended {
                if self.decoder.rows() == 0 && input.offset() - split.position.offset >= YIELD_BYTES {
                    // What was skipped need not be read again after a restart.
                    split.position = Position { offset: input.offset(), line: self.decoder.line() };
                    return Ok(None);
                }
                input.fill()?;
                continue;
            }
            if let Some(batch) = self.decoder.finish()? {
                split.position = Position { offset: input.offset(), line: self.decoder.line() };
                return Ok(Some(SourceEvent::Rows { split: self.current, batch: Batch::Columns(batch) }));
            }
            self.input = None;
            self.current += 1;
            return Ok(Some(SourceEvent::SplitEnd { split: self.current - 1 }));
        }
    }
}

impl SourceReader for FileReader {
    fn next(&mut self, max_rows: usize) -> BoxFuture<'_, Result<SourceEvent>> {
        // Files are read where they are asked for: tasks run on a runtime of their own. The future waits only between whole
        // records, and then it has taken no rows that could be lost with it.
        Box::pin(poll_fn(move |context| match self.read(max_rows) {
            Ok(Some(event)) => Poll::Ready(Ok(event)),
            Ok(None) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(e) => Poll::Ready(Err(e)),
        }))
    }

    fn positions(&self) -> Result<Vec<Split>> {
        self.splits.iter().map(|s| Ok(Split { id: s.path.clone(), position: serde_json::to_value(s.position)? })).collect()
    }

    fn is_polled(&self, split: usize) -> bool {
        split == self.current
    }
}
