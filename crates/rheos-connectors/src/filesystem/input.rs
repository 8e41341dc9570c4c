//! The bytes of one file from some offset on, unpacked, in a buffer that holds whole records.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use rheos_core::{Error, Result};

use super::compression::{Compression, Unpacking};

/// How much is read at once.
const BUFFER_BYTES: usize = 1 << 20;
/// The longest record that is read.
const MAX_RECORD_BYTES: usize = 64 << 20;
/// What some programs begin UTF-8 files with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open file.
pub(super) struct Input {
    path: String,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have been read and not consumed.
    start: usize,
    end: usize,
    /// Where in the unpacked file `start` lies.
    offset: u64,
    ended: bool,
}

impl Input {
    /// Opens a file at an offset of its unpacked bytes.
    pub(super) fn open(path: &str, offset: u64) -> Result<Self> {
        let reader: Box<dyn Read + Send> = match unpacked(path)? {
            Unpacking::Packed(mut unpacked) => {
                let skipped = std::io::copy(&mut (&mut unpacked).take(offset), &mut std::io::sink()).map_err(|e| failed(path, e))?;
                check_length(path, skipped, offset)?;
                unpacked
            }
            Unpacking::Plain(mut file) => {
                check_length(path, file.metadata().map_err(|e| failed(path, e))?.len(), offset)?;
                file.seek(SeekFrom::Start(offset)).map_err(|e| failed(path, e))?;
                Box::new(file)
            }
        };
        let mut input = Input { path: path.to_string(), reader, buffer: Vec::new(), start: 0, end: 0, offset, ended: false };
        if offset == 0 {
            while input.buffered().len() < BYTE_ORDER_MARK.len() && !input.ended {
                input.fill()?;
            }
            if input.buffered().starts_with(BYTE_ORDER_MARK) {
                input.consume(BYTE_ORDER_MARK.len());
            }
        }
        Ok(input)
    }

    /// How many bytes a file has, unpacked.
    pub(super) fn length(path: &str) -> Result<u64> {
        match unpacked(path)? {
            Unpacking::Packed(mut unpacked) => std::io::copy(&mut unpacked, &mut std::io::sink()).map_err(|e| failed(path, e)),
            Unpacking::Plain(file) => Ok(file.metadata().map_err(|e| failed(path, e))?.len()),
        }
    }

    /// What has been read and not consumed.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether nothing follows what is buffered.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// How many bytes have been consumed, from the beginning of the file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes bytes off the front.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads more behind what is buffered.
    pub(super) fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            if self.buffer.len() >= MAX_RECORD_BYTES {
                let message = format!("a record in '{}' is longer than {MAX_RECORD_BYTES} bytes", self.path);
                return Err(Error::input(message));
            }
            self.buffer.resize((self.buffer.len() * 2).max(BUFFER_BYTES), 0);
        }
        while self.end < self.buffer.len() {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(&self.path, e)),
            }
        }
        Ok(())
    }
}

fn unpacked(path: &str) -> Result<Unpacking> {
    File::open(path).and_then(|file| Compression::of_name(path).unpacked(file)).map_err(|e| failed(path, e))
}

fn check_length(path: &str, length: u64, offset: u64) -> Result<()> {
    if length < offset {
        let message = format!("'{path}' has {length} bytes, but was read up to byte {offset} before: it has been changed");
        return Err(Error::input(message));
    }
    Ok(())
}

fn failed(path: &str, e: std::io::Error) -> Error {
    let message = format!("cannot read '{path}': {e}");
    match e.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => Error::config(message),
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => Error::input(message),
        _ => Error::restart(message),
    }
    .caused_by(e)
}
