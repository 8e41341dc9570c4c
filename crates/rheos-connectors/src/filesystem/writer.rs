//! One subtask's writer of part files.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;
use rheos_core::batch::ColumnBatch;
use rheos_core::element::Epoch;
use rheos_core::sink::{CommitToken, Sink};
use rheos_core::{Batch, Result};

use super::committer::{PendingFile, sync_folder};
use super::part::{Content, Part, Place, remove};
use super::partitions::Partitions;
use crate::format::Encoder;

/// How much text is gathered before it is written.
const WRITE_BYTES: usize = 64 << 10;
/// So many rows go into a Parquet file before its size is looked at again.
const WRITE_ROWS: usize = 1024;
/// Of so many partitions files are open at a time; before another is opened, that is closed which has had no rows for longest.
pub(super) const MAX_OPEN_FILES: usize = 128;
/// What rows may take that wait in all open files together for their row groups to be full.
const MAX_GATHERED_BYTES: usize = 256 << 20;

/// Writes rows to part files; each snapshot closes what is open.
pub(super) struct PartWriter {
    /// The uid of the sink.
    pub(super) sink: String,
    /// Absent where files are Parquet.
    pub(super) encoder: Option<Encoder>,
    pub(super) partitions: Partitions,
    /// The columns of the files.
    pub(super) columns: SchemaRef,
    pub(super) files: Files,
    /// What is being written, by the folder of its partition; a table without partitions has one, without a name.
    pub(super) open: BTreeMap<String, Open>,
    /// How many batches have been written.
    pub(super) batches: u64,
}

/// Where finished files go.
pub(super) struct Files {
    pub(super) place: Place,
    pub(super) content: Content,
    /// A file is closed when it has this size.
    pub(super) file_bytes: u64,
    /// Files that are whole, and durable, but not yet named in a token.
    pub(super) closed: Vec<PendingFile>,
}

/// One partition's file, and what has been encoded for it and not written.
#[derive(Default)]
pub(super) struct Open {
    text: String,
    part: Option<Part>,
    /// The last batch that had rows for it.
    batch: u64,
}

impl Open {
    /// Writes to the open file, or to a new one; a file that has reached its size is closed.
    fn write(&mut self, folder: &str, files: &mut Files, write: impl FnOnce(&mut Part, &str) -> Result<()>) -> Result<()> {
        let part = match &mut self.part {
            Some(part) => part,
            None => self.part.insert(Part::create(&mut files.place, folder, &files.content)?),
        };
        write(part, &self.text)?;
        self.text.clear();
        if part.bytes() >= files.file_bytes { self.close_part(files) } else { Ok(()) }
    }

    fn close_part(&mut self, files: &mut Files) -> Result<()> {
        self.part.take().map_or(Ok(()), |part| part.close(&mut files.closed))
    }

    /// Writes what is left, and closes the file.
    fn close(&mut self, folder: &str, files: &mut Files) -> Result<()> {
        if !self.text.is_empty() {
            self.write(folder, files, |part, text| part.write_text(text))?;
        }
        self.close_part(files)
    }
}

impl PartWriter {
    /// Writes the rows of one partition.
    fn write_share(&mut self, folder: String, rows: &ColumnBatch) -> Result<()> {
        if self.open.len() >= MAX_OPEN_FILES && !self.open.contains_key(&folder) {
            self.close_oldest()?;
        }
        let PartWriter { encoder, files, open, batches, .. } = self;
        let open = open.entry(folder.clone()).or_default();
        open.batch = *batches;
        let Some(encoder) = encoder else {
            let records = rows.records();
            let starts = (0..records.num_rows()).step_by(WRITE_ROWS);
            let mut slices = starts.map(|at| records.slice(at, WRITE_ROWS.min(records.num_rows() - at)));
            return slices.try_for_each(|rows| open.write(&folder, files, |part, _| part.write_rows(&rows)));
        };
        let chunk = WRITE_BYTES.min(usize::try_from(files.file_bytes).unwrap_or(WRITE_BYTES));
        let mut text = std::mem::take(&mut open.text);
        let encoded = encoder.encode_batch(rows, &mut text, |text| {
            if text.len() < chunk {
                return Ok(());
            }
            std::mem::swap(&mut open.text, text);
            let written = open.write(&folder, files, |part, text| part.write_text(text));
            std::mem::swap(&mut open.text, text);
            written
        });
        open.text = text;
        encoded
    }

    fn close_oldest(&mut self) -> Result<()> {
        let oldest = self.open.iter().min_by_key(|(_, open)| open.batch).map(|(folder, _)| folder.clone());
        match oldest.and_then(|folder| self.open.remove_entry(&folder)) {
            Some((folder, mut open)) => {
                let closed = open.close(&folder, &mut self.files);
                if closed.is_err() {
                    // Whoever throws it away must find it.
                    self.open.insert(folder, open);
                }
                closed
            }
            None => Ok(()),
        }
    }

    /// Makes row groups of what waits in memory, the largest first, until little enough does.
    fn limit_memory(&mut self) -> Result<()> {
        let gathered = |open: &Open| open.part.as_ref().map_or(0, Part::gathered_bytes);
        while self.open.values().map(gathered).sum::<usize>() > MAX_GATHERED_BYTES {
            let largest = self.open.values_mut().max_by_key(|open| gathered(open));
            match largest.filter(|open| gathered(open) > 0).and_then(|open| open.part.as_mut()) {
                Some(part) => part.flush()?,
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

impl Sink for PartWriter {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        self.batches += 1;
        if self.partitions.is_empty() {
            return self.write_share(String::new(), &batch);
        }
        for (folder, rows) in self.partitions.share_out(&batch, &self.columns)? {
            self.write_share(folder, &rows)?;
        }
        if self.encoder.is_none() { self.limit_memory() } else { Ok(()) }
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        let PartWriter { files, open, .. } = self;
        open.iter_mut().try_for_each(|(folder, open)| open.close(folder, files))?;
        open.retain(|folder, _| folder.is_empty());
        if files.closed.is_empty() {
            return Ok(Vec::new());
        }
        sync_folder(&files.place.folder)?;
        let token = |file: PendingFile| Ok(CommitToken { sink: self.sink.clone(), epoch, payload: serde_json::to_value(file)? });
        std::mem::take(&mut files.closed).into_iter().map(token).collect()
    }

    fn close(&mut self) {
        let parts = std::mem::take(&mut self.open).into_values().filter_map(|open| open.part);
        parts.map(|part| part.names).chain(self.files.closed.drain(..)).for_each(|names| remove(&names));
    }
}
