//! One subtask's writer of part files.

use rheos_core::element::Epoch;
use rheos_core::sink::{CommitToken, Sink};
use rheos_core::{Batch, Result};

use super::committer::{PendingFile, sync_folder};
use super::part::{Content, Part, Place, remove};
use crate::format::Encoder;

/// How much text is gathered before it is written.
const WRITE_BYTES: usize = 64 << 10;
/// So many rows go into a Parquet file before its size is looked at again.
const WRITE_ROWS: usize = 1024;

/// Writes rows to part files; each snapshot closes what is open.
pub(super) struct PartWriter {
    /// The uid of the sink.
    pub(super) sink: String,
    /// Absent where files are Parquet.
    pub(super) encoder: Option<Encoder>,
    pub(super) files: Files,
    /// What has been encoded and not written.
    pub(super) text: String,
}

/// The files of a writer.
pub(super) struct Files {
    pub(super) place: Place,
    pub(super) content: Content,
    /// A file is closed when it has this size.
    pub(super) file_bytes: u64,
    pub(super) open: Option<Part>,
    /// Files that are whole, and durable, but not yet named in a token.
    pub(super) closed: Vec<PendingFile>,
}

impl Files {
    /// Writes to the open file, or to a new one; a file that has reached its size is closed.
    fn write(&mut self, write: impl FnOnce(&mut Part) -> Result<()>) -> Result<()> {
        let part = match &mut self.open {
            Some(part) => part,
            None => self.open.insert(Part::create(&mut self.place, &self.content)?),
        };
        write(part)?;
        if part.bytes() >= self.file_bytes { self.close() } else { Ok(()) }
    }

    fn write_text(&mut self, text: &mut String) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.write(|part| part.write_text(text))?;
        text.clear();
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.open.take().map_or(Ok(()), |part| part.close(&mut self.closed))
    }
}

impl Sink for PartWriter {
    fn write(&mut self, batch: Batch) -> Result<()> {
        let batch = batch.into_columns()?;
        let PartWriter { encoder, files, text, .. } = self;
        let Some(encoder) = encoder else {
            let records = batch.records();
            let starts = (0..records.num_rows()).step_by(WRITE_ROWS);
            let slices = starts.map(|at| records.slice(at, WRITE_ROWS.min(records.num_rows() - at)));
            return slices.into_iter().try_for_each(|rows| files.write(|part| part.write_rows(&rows)));
        };
        let chunk = WRITE_BYTES.min(usize::try_from(files.file_bytes).unwrap_or(WRITE_BYTES));
        encoder.encode_batch(&batch, text, |text| if text.len() < chunk { Ok(()) } else { files.write_text(text) })
    }

    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>> {
        let PartWriter { files, text, .. } = self;
        files.write_text(text)?;
        files.close()?;
        if files.closed.is_empty() {
            return Ok(Vec::new());
        }
        sync_folder(&files.place.folder)?;
        let token = |file: PendingFile| Ok(CommitToken { sink: self.sink.clone(), epoch, payload: serde_json::to_value(file)? });
        std::mem::take(&mut files.closed).into_iter().map(token).collect()
    }

    fn close(&mut self) {
        let files = &mut self.files;
        let unprepared = files.open.take().map(|part| part.names).into_iter().chain(files.closed.drain(..));
        unprepared.for_each(|names| remove(&names));
    }
}
