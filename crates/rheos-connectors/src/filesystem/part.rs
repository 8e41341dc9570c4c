//! One part file: written under a name that hides it, complete and durable before it is named in a token.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rheos_core::schema::Schema;
use rheos_core::{Error, Result};

use super::committer::PendingFile;
use super::compression::{Compression, Packing};
use super::names::HIDDEN_SUFFIX;
use crate::format::parquet;

/// What is in a file.
pub(super) enum Content {
    Text(Compression),
    Parquet(Schema, parquet::Options),
}

/// Where part files go, and how they are called.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// How names begin: behind it stands a number.
    pub(super) prefix: String,
    /// How names end.
    pub(super) suffix: String,
    /// The number of the next file.
    pub(super) next: u64,
}

impl Place {
    /// Makes a file under a hidden name that nobody has.
    /// The file is to be in a folder below this one, which need not be there.
    fn create(&mut self, below: &str) -> Result<(PendingFile, File)> {
        loop {
            let name = format!("{}{}{}", self.prefix, self.next, self.suffix);
            self.next += 1;
            let names =
                PendingFile { temporary: self.folder.join(format!(".{name}{HIDDEN_SUFFIX}")), name: self.folder.join(below).join(&name) };
            if names.name.exists() {
                continue;
            }
            match OpenOptions::new().write(true).create_new(true).open(&names.temporary) {
                Ok(file) => return Ok((names, file)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(&names.temporary, e)),
            }
        }
    }
}

/// A file that is being written.
pub(super) struct Part {
    pub(super) names: PendingFile,
    out: Out,
    bytes: u64,
}

enum Out {
    Text(Packing),
    Parquet(Box<parquet::FileWriter>),
}

impl Part {
    pub(super) fn create(place: &mut Place, below: &str, content: &Content) -> Result<Part> {
        let (names, file) = place.create(below)?;
        let out = match content {
            Content::Text(compression) => Packing::new(file, *compression).map(Out::Text).map_err(|e| failed(&names.temporary, e)),
            Content::Parquet(schema, options) => parquet::FileWriter::new(file, schema, options)
                .map(|writer| Out::Parquet(Box::new(writer)))
                .map_err(|e| e.context(format!("file '{}'", names.temporary.display()))),
        };
        match out {
            Ok(out) => Ok(Part { names, out, bytes: 0 }),
            Err(e) => {
                remove(&names);
                Err(e)
            }
        }
    }

    /// How large it is: text before it is compressed, Parquet about as it will be.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds records.
    pub(super) fn write_text(&mut self, text: &str) -> Result<()> {
        let Out::Text(file) = &mut self.out else { return Err(Error::bug("text is written to a Parquet file")) };
        self.bytes += text.len() as u64;
        file.write_all(text.as_bytes()).map_err(|e| failed(&self.names.temporary, e))
    }

    /// Adds rows to a Parquet file.
    pub(super) fn write_rows(&mut self, rows: &arrow::array::RecordBatch) -> Result<()> {
        let Out::Parquet(file) = &mut self.out else { return Err(Error::bug("columns are written to a file of text")) };
        file.write(rows).map_err(|e| e.context(format!("file '{}'", self.names.temporary.display())))?;
        self.bytes = file.bytes();
        Ok(())
    }

    /// The memory that its rows take which are not written yet.
    pub(super) fn gathered_bytes(&self) -> usize {
        if let Out::Parquet(file) = &self.out { file.gathered_bytes() } else { 0 }
    }

    /// Writes what has been gathered.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &mut self.out {
            Out::Parquet(file) => file.flush().map_err(|e| e.context(format!("file '{}'", self.names.temporary.display()))),
            Out::Text(_) => Ok(()),
        }
    }

    /// Completes the file and makes it durable. Its names are among `closed` first: after a failure it is to be removed.
    pub(super) fn close(self, closed: &mut Vec<PendingFile>) -> Result<()> {
        let temporary = self.names.temporary.clone();
        closed.push(self.names);
        let file = match self.out {
            Out::Text(file) => file.finish(),
            Out::Parquet(file) => Ok(file.finish().map_err(|e| e.context(format!("file '{}'", temporary.display())))?),
        };
        file.and_then(|file| file.sync_all()).map_err(|e| failed(&temporary, e))
    }
}

/// Removes a file that was not prepared.
pub(super) fn remove(names: &PendingFile) {
    if let Err(e) = fs::remove_file(&names.temporary) {
        tracing::warn!(file = %names.temporary.display(), error = %e, "cannot remove an unfinished part file");
    }
}

fn failed(path: &Path, e: std::io::Error) -> Error {
    Error::restart(format!("cannot write '{}': {e}", path.display())).caused_by(e)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_completed_is_still_known_to_be_removed() {
        let names = PendingFile { temporary: "hidden".into(), name: "shown".into() };
        // A device without room refuses the last bytes.
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        for compression in [Compression::Gzip, Compression::Zstd] {
            let out = Out::Text(Packing::new(full.try_clone().unwrap(), compression).unwrap());
            let mut closed = Vec::new();
            assert!(Part { names: names.clone(), out, bytes: 0 }.close(&mut closed).is_err());
            assert_eq!(closed[0].temporary, Path::new("hidden"));
        }
    }
}
