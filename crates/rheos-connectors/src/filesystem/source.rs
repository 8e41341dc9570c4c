//! Reads files, one split each, or watches a folder.

use std::task::Poll;

use futures_util::future::{BoxFuture, poll_fn};
use rheos_core::connector::{MetadataInfo, Predicate, TableSpec};
use rheos_core::env::Env;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceDescription, SourceEvent, SourceFactory, SourceReader, Split};
use rheos_core::{Batch, Error, Result};

use super::file_metadata::FileMetadata;
use super::folder::{self, FolderReader};
use super::format::FileFormat;
use super::partitions::Partitions;
use super::path;
use super::reading::{Position, Reading, Step};
use crate::format;
use crate::format::predicates::is_applied;

/// The source.
#[derive(Debug)]
pub(super) struct Files;

impl SourceFactory for Files {
    fn describe(&self, table: &TableSpec) -> Result<SourceDescription> {
        let partitions = Partitions::of(table)?;
        let format = FileFormat::of(&partitions.of_files(table))?;
        let is_watched = folder::interval_ms(table)?.is_some();
        path::check(table, is_watched)?;
        let is_parquet = matches!(format, FileFormat::Parquet(_));
        let is_ours = |p: &Predicate| (is_parquet && is_applied(&table.schema, p)) || partitions.applies(&table.schema, p);
        let predicates_applied = table.predicates.iter().map(is_ours).collect();
        Ok(SourceDescription { changelog: format.changelog(), bounded: !is_watched, predicates_applied })
    }

    fn takes_partitions(&self) -> bool {
        true
    }

    fn metadata(&self, table: &TableSpec) -> Vec<MetadataInfo> {
        FileMetadata::infos().into_iter().chain(format::metadata(table)).collect()
    }

    fn splits(&self, table: &TableSpec, _parallelism: usize) -> Result<Vec<Split>> {
        if folder::interval_ms(table)?.is_some() {
            return folder::buckets(table, false);
        }
        let start = serde_json::to_value(Position::default())?;
        Ok(wanted_files(table)?.into_iter().map(|id| Split { id, position: start.clone() }).collect())
    }

    fn end_splits(&self, table: &TableSpec, parallelism: usize, _env: &Env) -> Result<Vec<Split>> {
        if folder::interval_ms(table)?.is_some() {
            return folder::buckets(table, true);
        }
        let mut splits = self.splits(table, parallelism)?;
        for split in &mut splits {
            split.position = serde_json::to_value(Position::end_of(&split.id, table)?)?;
        }
        Ok(splits)
    }

    fn reader(&self, table: &TableSpec, splits: Vec<Split>, context: &OperatorContext) -> Result<Box<dyn SourceReader>> {
        if let Some(interval_ms) = folder::interval_ms(table)? {
            return Ok(Box::new(FolderReader::new(table, interval_ms, splits, context)?));
        }
        if splits.iter().any(|split| folder::is_bucket(&split.id)) {
            let message = format!("table '{}' goes on from a snapshot in which its folder was watched", table.name);
            return Err(Error::config(format!("{message}: it needs 'source.monitor-interval'")));
        }
        let reading = Reading::new(table, context.metrics.clone())?;
        let position = |split: Split| -> Result<FileSplit> {
            let position =
                serde_json::from_value(split.position).map_err(|e| Error::from(e).context(format!("position in '{}'", split.id)))?;
            Ok(FileSplit { path: split.id, position })
        };
        let splits = splits.into_iter().map(position).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(FileReader { splits, current: 0, reading }))
    }
}

/// The files that a table's path means, sorted, without those that its conditions on partition columns exclude.
pub(super) fn wanted_files(table: &TableSpec) -> Result<Vec<String>> {
    let partitions = Partitions::of(table)?;
    let mut files = Vec::new();
    for file in path::list(table)? {
        let file = file
            .into_os_string()
            .into_string()
            .map_err(|name| Error::config(format!("table '{}' reads a file whose name is not UTF-8: {}", table.name, name.display())))?;
        if partitions.is_wanted(&file)? {
            files.push(file);
        }
    }
    Ok(files)
}

struct FileSplit {
    path: String,
    position: Position,
}

/// Reads files one after the other.
struct FileReader {
    splits: Vec<FileSplit>,
    /// The split that is being read.
    current: usize,
    reading: Reading,
}

impl FileReader {
    /// What comes next, or nothing when much was read that held no row: then it is to be called again.
    fn read(&mut self, max_rows: usize) -> Result<Option<SourceEvent>> {
        let Some(split) = self.splits.get_mut(self.current) else { return Ok(Some(SourceEvent::End)) };
        Ok(match self.reading.read(&split.path, &mut split.position, max_rows)? {
            Step::Rows(batch) => Some(SourceEvent::Rows { split: self.current, batch: Batch::Columns(batch) }),
            Step::Again => None,
            Step::End => {
                self.current += 1;
                Some(SourceEvent::SplitEnd { split: self.current - 1 })
            }
        })
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
