//! From bytes to batches, for any format.

use std::fmt;
use std::sync::Arc;

use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::TableSpec;
use rheos_core::metrics::OperatorMetrics;

use super::Format;
use super::csv::CsvDecoder;
use super::debezium::DebeziumReader;
use super::json::JsonReader;
use super::layout::Layout;
use super::lines::LineDecoder;
use super::record::Policy;
use super::rows::Rows;

/// Reads records from consecutive pieces of an input into columns.
pub struct Decoder {
    kind: Kind,
}

enum Kind {
    Csv(Box<CsvDecoder>),
    Json(LineDecoder<JsonReader>),
    Debezium(LineDecoder<DebeziumReader>),
}

impl Decoder {
    pub(super) fn new(format: &Format, table: &TableSpec, metrics: Arc<OperatorMetrics>) -> Self {
        let kind = match format {
            Format::Csv(options) => {
                let layout = Layout::new(table, false);
                let policy = Policy { skip: options.skip_errors || options.ignore_parse_errors, metrics };
                Kind::Csv(Box::new(CsvDecoder::new(options, table, layout, policy)))
            }
            Format::Json(options) => {
                let layout = Layout::new(table, true);
                let reader = JsonReader::new(options, table, &layout);
                let policy = Policy { skip: options.skip_errors || options.ignore_parse_errors, metrics };
                Kind::Json(LineDecoder::new(reader, Rows::new(table, layout), policy))
            }
            Format::DebeziumJson(options) => {
                let layout = Layout::new(table, true);
                let reader = DebeziumReader::new(options, table, &layout);
                let policy = Policy { skip: options.json.skip_errors || options.json.ignore_parse_errors, metrics };
                Kind::Debezium(LineDecoder::new(reader, Rows::new(table, layout), policy))
            }
        };
        Decoder { kind }
    }

    /// Starts on an input `at_start`, or after its first `line` lines; unfinished rows are dropped.
    pub fn begin(&mut self, line: u64, at_start: bool) {
        match &mut self.kind {
            Kind::Csv(d) => d.begin(line, at_start),
            Kind::Json(d) => d.begin(line),
            Kind::Debezium(d) => d.begin(line),
        }
    }

    /// Reads whole records from the front of `input`, until there are `max_rows` rows (a record of two rows may exceed that
    /// by one). Returns how many bytes they took. Once the input has `ended`, its rest is a record.
    ///
    /// A record that cannot be read is an error of the kind [`rheos_core::ErrorKind::FixInput`] that says its line, or is
    /// counted in `bad_records` where the options say so.
    pub fn decode(&mut self, input: &[u8], ended: bool, max_rows: usize) -> Result<usize> {
        match &mut self.kind {
            Kind::Csv(d) => d.decode(input, ended, max_rows),
            Kind::Json(d) => d.decode(input, ended, max_rows),
            Kind::Debezium(d) => d.decode(input, ended, max_rows),
        }
    }

    /// How many rows wait to be taken.
    pub fn rows(&self) -> usize {
        match &self.kind {
            Kind::Csv(d) => d.rows(),
            Kind::Json(d) => d.rows(),
            Kind::Debezium(d) => d.rows(),
        }
    }

    /// How many lines of the input have been read.
    pub fn line(&self) -> u64 {
        match &self.kind {
            Kind::Csv(d) => d.line(),
            Kind::Json(d) => d.line(),
            Kind::Debezium(d) => d.line(),
        }
    }

    /// The rows that wait, as a batch of the table's output schema.
    pub fn finish(&mut self) -> Result<Option<ColumnBatch>> {
        match &mut self.kind {
            Kind::Csv(d) => d.finish(),
            Kind::Json(d) => d.finish(),
            Kind::Debezium(d) => d.finish(),
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "decoder at line {}", self.line())
    }
}
