//! Reads CSV records into columns.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use rheos_core::Result;
use rheos_core::batch::ColumnBatch;
use rheos_core::changelog::RowKind;
use rheos_core::connector::TableSpec;
use rheos_core::types::TypeKind;

use super::Options;
use crate::format::TemporalStyle;
use crate::format::column::{Column, Values};
use crate::format::layout::Layout;
use crate::format::record::{BadRecord, Policy};
use crate::format::rows::Rows;
use crate::format::text::{NotAValue, wanted};

/// Reads records from consecutive pieces of an input.
pub(crate) struct CsvDecoder {
    reader: Reader,
    options: Options,
    /// For each column of the table its name, and where its values go.
    targets: Vec<(String, Option<usize>)>,
    rows: Rows,
    policy: Policy,
    /// The fields of the current record, one after the other, and where each ends.
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// How many line ends have been read. The reader counts lines from 1.
    line: u64,
    /// The next record is a header.
    skip_next: bool,
}

/// A record in `fields`.
struct Record {
    bytes: usize,
    count: usize,
}

/// What the input begins with.
enum Scanned {
    Record(Record, usize),
    /// A part of a record, or nothing.
    Incomplete,
}

impl CsvDecoder {
    pub(crate) fn new(options: &Options, table: &TableSpec, layout: Layout, policy: Policy) -> Self {
        let mut reader = ReaderBuilder::new();
        reader.delimiter(options.delimiter).escape(options.escape);
        match options.quote {
            Some(quote) => reader.quote(quote),
            None => reader.quoting(false),
        };
        if options.allow_comments {
            reader.comment(Some(b'#'));
        }
        let target = |column: usize| layout.built.iter().position(|path| path.column == column);
        let targets: Vec<_> = table.schema.fields.iter().enumerate().map(|(i, f)| (f.name.clone(), target(i))).collect();
        CsvDecoder {
            reader: reader.build(),
            options: options.clone(),
            ends: vec![0; targets.len() + 2],
            targets,
            rows: Rows::new(table, layout),
            policy,
            fields: vec![0; 4096],
            line: 0,
            skip_next: options.ignore_first_line,
        }
    }

    /// Only the start of the input has a header: after rows that hold no line end, `line` is 0 elsewhere too.
    pub(crate) fn begin(&mut self, line: u64, at_start: bool) {
        self.rows.truncate(0);
        self.line = line;
        self.reset();
        self.skip_next = self.options.ignore_first_line && at_start;
    }

    /// Makes the reader expect the start of a record.
    fn reset(&mut self) {
        self.reader.reset();
        self.reader.set_line(self.line + 1);
    }

    /// As [`crate::format::Decoder::decode`].
    pub(crate) fn decode(&mut self, input: &[u8], ended: bool, max_rows: usize) -> Result<usize> {
        let mut at = 0;
        while self.rows.len() < max_rows && at < input.len() {
            let rest = &input[at..];
            match self.scan(rest) {
                Scanned::Record(record, mut length) => {
                    // The line feed after a carriage return belongs to the record before it.
                    if rest[length - 1] == b'\r' && rest.get(length) == Some(&b'\n') {
                        length += 1;
                        self.reader.set_line(self.reader.line() + 1);
                    }
                    at += length;
                    self.take(&record, &rest[..length], None)?;
                }
                Scanned::Incomplete if ended => {
                    at = input.len();
                    self.take_last(rest)?;
                }
                Scanned::Incomplete => {
                    // Read again from the start of the record, when there is more of it.
                    self.reset();
                    break;
                }
            }
        }
        Ok(at)
    }

    /// Splits the record that `input` begins with into its fields.
    fn scan(&mut self, input: &[u8]) -> Scanned {
        let (mut read, mut bytes, mut count) = (0, 0, 0);
        loop {
            let (result, r, b, c) = self.reader.read_record(&input[read..], &mut self.fields[bytes..], &mut self.ends[count..]);
            (read, bytes, count) = (read + r, bytes + b, count + c);
            match result {
                ReadRecordResult::Record => return Scanned::Record(Record { bytes, count }, read),
                ReadRecordResult::OutputFull => self.fields.resize(self.fields.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => return Scanned::Incomplete,
            }
        }
    }

    /// The rest of the input, where no line end follows: a record, or nothing but blank lines and comments.
    fn take_last(&mut self, rest: &[u8]) -> Result<()> {
        self.reset();
        let mut terminated = Vec::with_capacity(rest.len() + 1);
        terminated.extend_from_slice(rest);
        terminated.push(b'\n');
        match self.scan(&terminated) {
            Scanned::Record(record, _) => {
                self.reader.set_line(self.reader.line() - 1);
                self.take(&record, rest, None)
            }
            Scanned::Incomplete => {
                let (result, ..) = self.reader.read_record(&[], &mut self.fields, &mut self.ends);
                if matches!(result, ReadRecordResult::End) {
                    return Ok(());
                }
                let unclosed = BadRecord::new("a quoted field is not closed before the end of the input");
                self.take(&Record { bytes: 0, count: 0 }, rest, Some(unclosed))
            }
        }
    }

    /// Takes a record, which was read from `raw`, as the next row.
    fn take(&mut self, record: &Record, raw: &[u8], broken: Option<BadRecord>) -> Result<()> {
        let first_line = self.line + 1;
        self.line = self.reader.line() - 1;
        if std::mem::take(&mut self.skip_next) {
            return Ok(());
        }
        let before = self.rows.len();
        let read = match broken {
            Some(bad) => Err(bad),
            None => self.push_row(record),
        };
        let Err(bad) = read else { return Ok(()) };
        self.rows.truncate(before);
        // Blank lines and comments before the record, not line ends within it, make it begin later.
        let lines = self.line + 1 - first_line;
        let within = memchr::memchr_iter(b'\n', &self.fields[..record.bytes]).count() as u64;
        let terminator = u64::from(raw.ends_with(b"\n"));
        let skipped = if record.count > 0 { lines.saturating_sub(within + terminator) } else { 0 };
        self.policy.refuse(&bad, first_line + skipped)
    }

    fn push_row(&mut self, record: &Record) -> Result<(), BadRecord> {
        let CsvDecoder { options, targets, rows, fields, ends, .. } = self;
        let (wanted_count, mut count) = (targets.len(), record.count);
        let text = std::str::from_utf8(&fields[..record.bytes]).map_err(|_| BadRecord::new("the record is not UTF-8"))?;
        let start = |i: usize| if i == 0 { 0 } else { ends[i - 1] };
        let field = |i: usize| text.get(start(i)..ends[i]).ok_or_else(|| BadRecord::new("the record is not UTF-8"));
        if count == wanted_count + 1 && options.allow_trailing_comma && field(wanted_count)?.trim().is_empty() {
            count = wanted_count;
        }
        let too_many = count > wanted_count && !options.ignore_trailing_unmappable;
        if too_many || (count < wanted_count && !options.ignore_parse_errors) {
            return Err(BadRecord::new(format!("the record has {count} fields, the table has {wanted_count} columns")));
        }
        for (i, (name, target)) in targets.iter().enumerate() {
            let Some(column) = target.map(|t| &mut rows.columns[t]) else { continue };
            if i >= count {
                column.push_null();
                continue;
            }
            let field = field(i)?;
            if push_field(column, field, options).is_err() {
                if !options.ignore_parse_errors {
                    return Err(BadRecord::field(name, field, &wanted(column.kind(), TemporalStyle::Lenient)));
                }
                column.push_null();
            }
        }
        rows.complete(RowKind::Insert);
        Ok(())
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

/// Adds a field's value. An empty field is NULL, except for a text and for an array, which it leaves empty.
fn push_field(column: &mut Column, text: &str, options: &Options) -> Result<(), NotAValue> {
    if options.null_literal.as_deref() == Some(text) || (text.is_empty() && options.empty_string_as_null) {
        column.push_null();
        return Ok(());
    }
    if column.kind().is_character() {
        column.push_bytes(text.as_bytes());
        return Ok(());
    }
    if text.is_empty() && !matches!(column.kind(), TypeKind::Array(_)) {
        column.push_null();
        return Ok(());
    }
    let len = column.len();
    match &mut column.values {
        Values::Array { item, .. } => {
            if !text.trim().is_empty() {
                text.split(options.array_delimiter.as_str()).try_for_each(|part| push_part(item, part, options))?;
            }
        }
        Values::Row { fields, .. } => {
            let mut parts = text.split(options.array_delimiter.as_str());
            for field in fields.iter_mut() {
                field.truncate(len);
                match parts.next() {
                    Some(part) => push_part(field, part, options)?,
                    None if options.ignore_parse_errors => field.push_null(),
                    None => return Err(NotAValue),
                }
            }
            if parts.next().is_some() && !options.ignore_parse_errors {
                return Err(NotAValue);
            }
        }
        _ => return column.push_text(text, TemporalStyle::Lenient),
    }
    column.close_nested();
    Ok(())
}

fn push_part(column: &mut Column, text: &str, options: &Options) -> Result<(), NotAValue> {
    let pushed = push_field(column, text, options);
    if pushed.is_err() && options.ignore_parse_errors {
        column.push_null();
        return Ok(());
    }
    pushed
}
