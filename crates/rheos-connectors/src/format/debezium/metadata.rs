//! What change events say beside the row: when and where it changed.

use std::collections::BTreeMap;

use rheos_core::connector::{MetadataInfo, TableSpec};
use rheos_core::types::TypeKind;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::format::layout::Layout;
use crate::format::record::BadRecord;
use crate::format::rows::Rows;

/// A key of METADATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Schema,
    IngestionTimestamp,
    SourceTimestamp,
    SourceDatabase,
    SourceSchema,
    SourceTable,
    SourceProperties,
}

const KEYS: [Key; 7] = [
    Key::Schema,
    Key::IngestionTimestamp,
    Key::SourceTimestamp,
    Key::SourceDatabase,
    Key::SourceSchema,
    Key::SourceTable,
    Key::SourceProperties,
];

impl Key {
    fn info(self) -> MetadataInfo {
        let properties = || TypeKind::Map(Box::new(TypeKind::STRING.nullable()), Box::new(TypeKind::STRING.nullable()));
        let (key, kind, doc) = match self {
            Key::Schema => ("schema", TypeKind::STRING, "the schema of a wrapped event, as JSON"),
            Key::IngestionTimestamp => ("ingestion-timestamp", TypeKind::TimestampLtz(3), "when the connector took the change in (ts_ms)"),
            Key::SourceTimestamp => ("source.timestamp", TypeKind::TimestampLtz(3), "when the database changed (source.ts_ms)"),
            Key::SourceDatabase => ("source.database", TypeKind::STRING, "the database (source.db)"),
            Key::SourceSchema => ("source.schema", TypeKind::STRING, "the schema within the database (source.schema)"),
            Key::SourceTable => ("source.table", TypeKind::STRING, "the table (source.table)"),
            Key::SourceProperties => ("source.properties", properties(), "all that the event says of its source"),
        };
        MetadataInfo { key, ty: kind.nullable(), doc }
    }
}

/// All that events can say.
pub(crate) fn infos() -> Vec<MetadataInfo> {
    KEYS.into_iter().map(Key::info).collect()
}

/// What is wanted of events, and what the event at hand says.
#[derive(Debug)]
pub(super) struct Metadata {
    /// With the number of the column that it goes into.
    wanted: Vec<(usize, Key)>,
    schema: Option<String>,
    ts_ms: Option<i64>,
    source: BTreeMap<String, Value>,
}

impl Metadata {
    pub(super) fn new(table: &TableSpec, layout: &Layout) -> Self {
        let key = |column: usize| {
            let field = table.metadata.get(column.checked_sub(table.schema.len())?)?;
            KEYS.into_iter().find(|key| key.info().key == field.name)
        };
        let wanted = layout.built.iter().enumerate().filter_map(|(at, path)| Some((at, key(path.column)?))).collect();
        Metadata { wanted, schema: None, ts_ms: None, source: BTreeMap::new() }
    }

    /// Takes in what an event says.
    pub(super) fn of_event(
        &mut self,
        schema: Option<&RawValue>,
        ts_ms: Option<&RawValue>,
        source: Option<&RawValue>,
    ) -> Result<(), BadRecord> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let wants = |key: Key| self.wanted.iter().any(|(_, wanted)| *wanted == key);
        self.schema = schema.filter(|_| wants(Key::Schema)).map(|schema| schema.get().to_string());
        // What is no number of milliseconds says nothing.
        self.ts_ms = ts_ms.and_then(|ts_ms| ts_ms.get().parse().ok());
        let of_source = self.wanted.iter().any(|(_, key)| !matches!(key, Key::Schema | Key::IngestionTimestamp));
        let source = source.filter(|_| of_source).map(|source| serde_json::from_str::<Option<BTreeMap<String, Value>>>(source.get()));
        let source = source.transpose().map_err(|e| BadRecord::new(format!("the \"source\" of this change event is no object: {e}")))?;
        self.source = source.flatten().unwrap_or_default();
        Ok(())
    }

    /// Puts it into the row that has been begun.
    pub(super) fn push(&self, rows: &mut Rows) {
        for (column, key) in &self.wanted {
            let column = &mut rows.columns[*column];
            let member = |name: &str| self.source.get(name).and_then(text);
            let text = match key {
                Key::IngestionTimestamp => {
                    column.push_int(self.ts_ms);
                    continue;
                }
                Key::SourceTimestamp => {
                    column.push_int(self.source.get("ts_ms").and_then(Value::as_i64));
                    continue;
                }
                Key::SourceProperties => {
                    column.push_texts(
                        (!self.source.is_empty()).then(|| self.source.iter().map(|(name, value)| (name.as_str(), text(value)))),
                    );
                    continue;
                }
                Key::Schema => self.schema.clone(),
                Key::SourceDatabase => member("db"),
                Key::SourceSchema => member("schema"),
                Key::SourceTable => member("table"),
            };
            match text {
                Some(text) => column.push_bytes(text.as_bytes()),
                None => column.push_null(),
            }
        }
    }
}

/// A member as text: a text itself, or else its JSON.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
