//! The forms in which a query's rows leave the process.

use rheos::format::{csv, json};
use rheos::{ColumnBatch, FoldedTable, Result, ResultInfo, Schema};
use rheos_core::text::write_value;

use crate::args::OutputKind;
use crate::figures::table;

/// Turns changes into text.
pub(crate) enum Form {
    /// `+I` and the like, then the cells as the final rows have them, separated by tabs.
    Changelog(Schema),
    /// Objects whose first member is `op`.
    Json(json::Encoder),
    /// Records after a header.
    Csv {
        /// Writes the columns.
        encoder: csv::Encoder,
        /// Whether the kind of change comes first.
        with_op: bool,
    },
    /// The final rows as they are compared: header and sorted lines.
    FinalTsv(FoldedTable),
    /// The final rows for people.
    FinalTable(FoldedTable),
}

impl Form {
    /// The form for rows of this kind; an error where it cannot carry one of their types.
    pub(crate) fn new(kind: OutputKind, info: &ResultInfo) -> Result<Form> {
        let schema = &info.schema;
        Ok(match kind {
            OutputKind::Changelog => Form::Changelog(schema.clone()),
            OutputKind::Json => Form::Json(json::Encoder::new(schema, json::Options::default())?.with_op()),
            OutputKind::Csv => {
                Form::Csv { encoder: csv::Encoder::new(schema, csv::Options::default())?, with_op: !info.changelog.is_insert_only() }
            }
            OutputKind::FinalTsv => Form::FinalTsv(FoldedTable::new(schema.clone())),
            OutputKind::Table => Form::FinalTable(FoldedTable::new(schema.clone())),
        })
    }

    /// What stands before the first row.
    pub(crate) fn begin(&self, out: &mut String) {
        if let Form::Csv { encoder, with_op } = self {
            if *with_op {
                out.push_str("op,");
            }
            let mut header = Vec::new();
            encoder.header(&mut header);
            out.push_str(&String::from_utf8_lossy(&header));
        }
    }

    /// Takes changes in, and writes what can be written already.
    pub(crate) fn rows(&mut self, batch: &ColumnBatch, out: &mut String) -> Result<()> {
        match self {
            Form::Changelog(schema) => write_changes(schema, batch, out),
            Form::Json(encoder) => encoder.encode_batch(batch, out, |_| Ok(())),
            Form::Csv { encoder, with_op: false } => encoder.encode_batch(batch, out, |_| Ok(())),
            Form::Csv { encoder, with_op: true } => {
                let (mut record, mut row) = (String::new(), 0);
                encoder.encode_batch(batch, &mut record, |record| {
                    out.push_str(batch.kind(row).symbol());
                    out.push(',');
                    out.push_str(record);
                    record.clear();
                    row += 1;
                    Ok(())
                })
            }
            Form::FinalTsv(folded) | Form::FinalTable(folded) => folded.apply(batch),
        }
    }

    /// What stands after the last row, once the input has come to its end.
    pub(crate) fn end(&self, out: &mut String) -> Result<()> {
        match self {
            Form::FinalTsv(folded) => {
                for line in folded.lines()? {
                    out.push_str(&line);
                    out.push('\n');
                }
            }
            Form::FinalTable(folded) => {
                let cell = |cell: &str| if cell == "\\N" { "NULL".to_string() } else { cell.to_string() };
                let mut lines = folded.lines()?.into_iter().map(|l| l.split('\t').map(cell).collect::<Vec<_>>());
                let header = lines.next().unwrap_or_default();
                out.push_str(&table(&header, &lines.collect::<Vec<_>>()));
                out.push('\n');
            }
            Form::Changelog(_) | Form::Json(_) | Form::Csv { .. } => {}
        }
        Ok(())
    }
}

fn write_changes(schema: &Schema, batch: &ColumnBatch, out: &mut String) -> Result<()> {
    for row in 0..batch.num_rows() {
        out.push_str(batch.kind(row).symbol());
        for (column, field) in batch.columns().iter().zip(&schema.fields) {
            out.push('\t');
            write_value(out, column.as_ref(), row, &field.ty)?;
        }
        out.push('\n');
    }
    Ok(())
}
