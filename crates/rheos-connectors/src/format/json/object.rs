//! Reads the JSON object of a row: of its members, at any depth, only those that the projection wants.

use std::fmt::{self, Write};

use rheos_core::changelog::RowKind;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::schema::Field;
use rheos_core::types::TypeKind;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Options;
use super::value::{Context, FieldSeed, ValueSeed};
use crate::format::column::Column;
use crate::format::layout::Layout;
use crate::format::lines::LineFormat;
use crate::format::names::Names;
use crate::format::record::{BadRecord, Shown};
use crate::format::rows::Rows;

/// Reads rows that are JSON objects.
#[derive(Debug)]
pub(crate) struct JsonReader {
    level: Level,
    context: Context,
}

/// The wanted members of an object.
#[derive(Debug)]
struct Level {
    names: Names,
    targets: Vec<Target>,
}

/// Where the value of a member goes.
#[derive(Debug)]
enum Target {
    /// It is a column.
    Column(usize),
    /// It is an object of which some members are columns.
    Level(Level),
}

impl JsonReader {
    pub(crate) fn new(options: &Options, table: &TableSpec, layout: &Layout) -> Self {
        // Metadata are in no row: who has them puts them there.
        let in_row = |(_, path): &(usize, &ColumnPath)| path.column < table.schema.len();
        let paths: Vec<(usize, &ColumnPath)> = layout.built.iter().enumerate().filter(in_row).collect();
        let context = Context {
            ignore_errors: options.ignore_parse_errors,
            fail_on_missing: options.fail_on_missing_field,
            style: options.temporal_style,
            scratch: Vec::new(),
            bad: None,
        };
        JsonReader { level: Level::new(&table.schema.fields, &paths, 0), context }
    }

    /// Reads one object as the next row, without completing it.
    pub(crate) fn begin_row(&mut self, json: &str, rows: &mut Rows) -> Result<(), BadRecord> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let row = rows.len();
        let seed = LevelSeed { level: &mut self.level, columns: &mut rows.columns, row, context: &mut self.context, is_record: true };
        seed.deserialize(&mut deserializer)
            .and_then(|()| deserializer.end())
            .map_err(|e| self.context.bad.take().unwrap_or_else(|| no_json(&e, json)))
    }
}

impl LineFormat for JsonReader {
    fn read(&mut self, line: &str, rows: &mut Rows) -> Result<(), BadRecord> {
        retry_without_control_characters(line, |line| {
            rows.truncate(rows.len());
            self.begin_row(line, rows)
        })?;
        rows.complete(RowKind::Insert);
        Ok(())
    }
}

/// Reads a line; one that fails and has bare control characters in its texts, which JSON forbids and Flink accepts, is read
/// again with those escaped.
pub(crate) fn retry_without_control_characters(line: &str, mut read: impl FnMut(&str) -> Result<(), BadRecord>) -> Result<(), BadRecord> {
    let Err(bad) = read(line) else { return Ok(()) };
    if !line.bytes().any(|b| b < b' ') {
        return Err(bad);
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    let (mut in_text, mut after_backslash) = (false, false);
    for c in line.chars() {
        if in_text && c < ' ' {
            let _ = write!(escaped, "\\u{:04x}", c as u32);
        } else {
            escaped.push(c);
        }
        match c {
            _ if after_backslash => after_backslash = false,
            '\\' => after_backslash = in_text,
            '"' => in_text = !in_text,
            _ => {}
        }
    }
    read(&escaped)
}

/// What serde says about a line that is no JSON, without the line number, which is always 1.
pub(crate) fn no_json(error: &serde_json::Error, json: &str) -> BadRecord {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    BadRecord::new(format!("no JSON, {what} at byte {}: {}", error.column(), Shown(json)))
}

impl Level {
    /// The members that `paths` name from `depth` on; each comes with the number of its column.
    fn new(fields: &[Field], paths: &[(usize, &ColumnPath)], depth: usize) -> Self {
        let step = |path: &ColumnPath| if depth == 0 { path.column } else { path.fields[depth - 1] };
        let (mut names, mut targets) = (Vec::new(), Vec::new());
        // Paths are sorted, so those through one member are neighbours.
        for group in paths.chunk_by(|(_, a), (_, b)| step(a) == step(b)) {
            let (column, path) = group[0];
            let field = &fields[step(path)];
            names.push(field.name.as_str());
            targets.push(match &field.ty.kind {
                TypeKind::Row(inner) if path.fields.len() > depth => Target::Level(Level::new(inner, group, depth + 1)),
                _ => Target::Column(column),
            });
        }
        Level { names: Names::new(names), targets }
    }

    /// Sets all columns below to NULL.
    fn push_null(&self, columns: &mut [Column], row: usize) {
        for target in &self.targets {
            match target {
                Target::Column(column) => {
                    columns[*column].truncate(row);
                    columns[*column].push_null();
                }
                Target::Level(level) => level.push_null(columns, row),
            }
        }
    }

    /// The first member that has no value yet.
    fn missing(&self, columns: &[Column], row: usize) -> Option<&str> {
        let is_missing = |target: &Target| match target {
            Target::Column(column) => columns[*column].len() == row,
            Target::Level(level) => level.missing(columns, row).is_some(),
        };
        self.targets.iter().position(is_missing).map(|i| self.names.get(i))
    }
}

/// Reads the next value, an object, into the columns of a level.
struct LevelSeed<'a> {
    level: &'a mut Level,
    columns: &'a mut [Column],
    row: usize,
    context: &'a mut Context,
    /// The object is the record itself, which cannot be anything else.
    is_record: bool,
}

impl LevelSeed<'_> {
    fn refuse<E: Error>(self, value: &str) -> Result<(), E> {
        if self.context.ignore_errors && !self.is_record {
            self.level.push_null(self.columns, self.row);
            return Ok(());
        }
        Err(self.context.break_off(BadRecord::new(format!("'{}' is no JSON object", Shown(value)))))
    }
}

impl<'de> DeserializeSeed<'de> for LevelSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LevelSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let LevelSeed { level, columns, row, context, .. } = self;
        while let Some(found) = map.next_key_seed(FieldSeed(&mut level.names))? {
            let Some(i) = found else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let read = match &mut level.targets[i] {
                Target::Column(column) => {
                    let column = &mut columns[*column];
                    if column.len() > row {
                        column.truncate(row);
                    }
                    map.next_value_seed(ValueSeed { column, context: &mut *context })
                }
                Target::Level(level) => {
                    map.next_value_seed(LevelSeed { level, columns: &mut *columns, row, context: &mut *context, is_record: false })
                }
            };
            read.inspect_err(|_| context.within(level.names.get(i)))?;
        }
        if context.fail_on_missing
            && let Some(name) = level.missing(columns, row)
        {
            return Err(context.break_off(BadRecord::new("the field is missing").within(name)));
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.is_record {
            return self.refuse("null");
        }
        self.level.push_null(self.columns, self.row);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.refuse("[...]")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.refuse(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.refuse(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.refuse(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.refuse(&value.to_string())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.refuse(value)
    }
}
