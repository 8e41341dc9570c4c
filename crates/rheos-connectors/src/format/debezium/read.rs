//! Reads change events: one row for an insert or delete, the old and the new row for an update.

use std::borrow::Cow;

use rheos_core::changelog::RowKind;
use rheos_core::connector::TableSpec;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Options;
use super::metadata::Metadata;
use crate::format::json::{JsonReader, no_json, retry_without_control_characters};
use crate::format::layout::Layout;
use crate::format::lines::LineFormat;
use crate::format::record::BadRecord;
use crate::format::rows::Rows;

/// Reads the rows of change events.
#[derive(Debug)]
pub(crate) struct DebeziumReader {
    schema_include: bool,
    row: JsonReader,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    before: Option<&'a RawValue>,
    #[serde(borrow, default)]
    after: Option<&'a RawValue>,
    #[serde(borrow, default)]
    op: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    ts_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow, default)]
    schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    payload: Option<Event<'a>>,
}

impl DebeziumReader {
    pub(crate) fn new(options: &Options, table: &TableSpec, layout: &Layout) -> Self {
        DebeziumReader {
            schema_include: options.schema_include,
            row: JsonReader::new(&options.json, table, layout),
            metadata: Metadata::new(table, layout),
        }
    }

    fn read_event(&mut self, line: &str, rows: &mut Rows) -> Result<(), BadRecord> {
        let read = if self.schema_include {
            serde_json::from_str::<Option<Wrapped<'_>>>(line).map(|w| w.map_or((None, None), |w| (w.schema, w.payload)))
        } else {
            serde_json::from_str::<Option<Event<'_>>>(line).map(|event| (None, event))
        };
        // An event of nothing is a tombstone, by which brokers know that a key can be forgotten.
        let (schema, Some(event)) = read.map_err(|e| no_json(&e, line))? else { return Ok(()) };
        self.metadata.of_event(schema, event.ts_ms, event.source)?;
        match event.op.as_deref() {
            Some("c" | "r") => self.read_row(event.after, "after", RowKind::Insert, rows),
            Some("u") => {
                self.read_row(event.before, "before", RowKind::UpdateBefore, rows)?;
                self.read_row(event.after, "after", RowKind::UpdateAfter, rows)
            }
            Some("d") => self.read_row(event.before, "before", RowKind::Delete, rows),
            Some(other) => Err(BadRecord::new(format!("'{other}' is no \"op\" of a change event: c, r, u or d"))),
            None => Err(BadRecord::new("a change event needs an \"op\": c, r, u or d")),
        }
    }

    fn read_row(&mut self, json: Option<&RawValue>, member: &str, kind: RowKind, rows: &mut Rows) -> Result<(), BadRecord> {
        let Some(json) = json else {
            let hint = if member == "before" { "; PostgreSQL gives it for tables with REPLICA IDENTITY FULL" } else { "" };
            return Err(BadRecord::new(format!("the \"{member}\" of this change event is missing{hint}")));
        };
        self.row.begin_row(json.get(), rows).map_err(|bad| bad.within(member))?;
        self.metadata.push(rows);
        rows.complete(kind);
        Ok(())
    }
}

impl LineFormat for DebeziumReader {
    fn read(&mut self, line: &str, rows: &mut Rows) -> Result<(), BadRecord> {
        let before = rows.len();
        retry_without_control_characters(line, |line| {
            rows.truncate(before);
            self.read_event(line, rows)
        })
    }
}
