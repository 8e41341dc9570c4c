//! Reads records that are one line each.

use rheos_core::Result;
use rheos_core::batch::ColumnBatch;

use super::record::{BadRecord, Policy};
use super::rows::Rows;

/// Turns one line into rows. On an error the rows are cut back by the caller.
pub(crate) trait LineFormat: Send {
    fn read(&mut self, line: &str, rows: &mut Rows) -> Result<(), BadRecord>;
}

/// A decoder for a format of lines.
pub(crate) struct LineDecoder<F> {
    format: F,
    rows: Rows,
    policy: Policy,
    /// How many lines have been read.
    line: u64,
}

impl<F: LineFormat> LineDecoder<F> {
    pub(crate) fn new(format: F, rows: Rows, policy: Policy) -> Self {
        LineDecoder { format, rows, policy, line: 0 }
    }

    /// Reads lines until there are `max_rows` rows or no whole line is left; where the input has `ended` its rest is one.
    /// Returns how many bytes were read.
    pub(crate) fn decode(&mut self, input: &[u8], ended: bool, max_rows: usize) -> Result<usize> {
        let mut at = 0;
        while self.rows.len() < max_rows && at < input.len() {
            let rest = &input[at..];
            let (line, length) = match memchr::memchr(b'\n', rest) {
                Some(end) => (&rest[..end], end + 1),
                None if ended => (rest, rest.len()),
                None => break,
            };
            at += length;
            self.line += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let before = self.rows.len();
            let read = match std::str::from_utf8(line) {
                Ok(line) => self.format.read(line, &mut self.rows),
                Err(_) => Err(BadRecord::new("the line is not UTF-8")),
            };
            if let Err(bad) = read {
                self.rows.truncate(before);
                self.policy.refuse(&bad, self.line)?;
            }
        }
        Ok(at)
    }

    pub(crate) fn begin(&mut self, line: u64) {
        self.rows.truncate(0);
        self.line = line;
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn finish(&mut self) -> Result<Option<ColumnBatch>> {
        self.rows.finish()
    }
}
