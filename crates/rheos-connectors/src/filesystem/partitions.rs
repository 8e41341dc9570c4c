//! Columns of a table that are not in its files: partition columns, whose values stand in the names of folders, and what is known of
//! a file itself.

use std::path::{Component, Path};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::{ColumnPath, Predicate, TableSpec};
use rheos_core::schema::{Field, Schema};
use rheos_core::text::write_nested_value;
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Error, Result};

use super::file_metadata::FileMetadata;
use super::hive::{DEFAULT_NAME, escape, unescape};
use crate::format::predicates::{holds, is_applied};
use crate::format::{Column, TemporalStyle};

/// The columns of a table that are not in its files: partition columns, and what is known of a file itself.
#[derive(Debug, Clone)]
pub(super) struct Partitions {
    table: String,
    keys: Vec<Key>,
    /// What of a file itself is a column, with the position of that.
    metadata: Vec<(usize, FileMetadata)>,
    default_name: String,
    /// The conditions on partition columns.
    predicates: Vec<OfKey>,
    /// The same of each use of the table.
    alternatives: Vec<Vec<OfKey>>,
}

/// A condition on a partition column, with the number of its key.
type OfKey = (usize, Predicate);

#[derive(Debug, Clone)]
struct Key {
    /// The position in the table's schema.
    column: usize,
    /// How its folders begin: `day=`.
    prefix: String,
    name: String,
    ty: LogicalType,
}

impl Partitions {
    /// The partition columns of a table, checked. There may be none.
    pub(super) fn of(table: &TableSpec) -> Result<Partitions> {
        let wrong = |name: &str, what: String| Err(Error::config(format!("table '{}': partition column '{name}' {what}", table.name)));
        let mut keys = Vec::with_capacity(table.partition_keys.len());
        for column in &table.partition_keys {
            let field = &table.schema.fields[*column];
            let kind = &field.ty.kind;
            let is_readable = kind.is_integer()
                || kind.is_character()
                || matches!(kind, TypeKind::Boolean | TypeKind::Decimal(..) | TypeKind::Date | TypeKind::Time(_) | TypeKind::Timestamp(_));
            if !is_readable {
                return wrong(&field.name, format!("is {kind}, which names no folder; cast it to STRING"));
            }
            if field.name.starts_with(['.', '_']) {
                return wrong(&field.name, "begins as hidden files do; give it another name".into());
            }
            let mut prefix = String::new();
            escape(&mut prefix, &field.name);
            prefix.push('=');
            keys.push(Key { column: *column, prefix, name: field.name.clone(), ty: field.ty.clone() });
        }
        if !keys.is_empty() && keys.len() == table.schema.len() {
            let message = format!("table '{}' has only partition columns: its files would be empty", table.name);
            return Err(Error::config(message));
        }
        let of_key = |p: &Predicate| {
            let key = keys.iter().position(|key| key.column == p.path.column)?;
            is_applied(&table.schema, p).then(|| (key, p.clone()))
        };
        let predicates = table.predicates.iter().filter_map(of_key).collect();
        let alternatives = table.alternatives.iter().map(|of_use| of_use.iter().filter_map(of_key).collect()).collect();
        let default_name = table.option("partition.default-name").unwrap_or(DEFAULT_NAME).to_string();
        let is_read = |column: &usize| table.projection.as_ref().is_none_or(|paths| paths.iter().any(|path| path.column == *column));
        let of_file =
            |(i, field): (usize, &Field)| Some((table.schema.len() + i, FileMetadata::of(&field.name)?)).filter(|(i, _)| is_read(i));
        let metadata = table.metadata.iter().enumerate().filter_map(of_file).collect();
        Ok(Partitions { table: table.name.clone(), keys, metadata, default_name, predicates, alternatives })
    }

    /// Whether the table has none.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.metadata.is_empty()
    }

    /// Whether a condition is about a partition column, and applied here.
    pub(super) fn applies(&self, schema: &Schema, predicate: &Predicate) -> bool {
        self.keys.iter().any(|key| key.column == predicate.path.column) && is_applied(schema, predicate)
    }

    /// The table that the files hold: without these columns.
    pub(super) fn of_files(&self, table: &TableSpec) -> TableSpec {
        if self.is_empty() {
            return table.clone();
        }
        let kept: Vec<usize> = (0..table.width()).filter(|i| self.beside(*i).is_none()).collect();
        let (columns, metadata): (Vec<usize>, Vec<usize>) = kept.iter().partition(|i| **i < table.schema.len());
        let path_of = |path: &ColumnPath| {
            let column = kept.iter().position(|i| *i == path.column)?;
            Some(ColumnPath { column, fields: path.fields.clone() })
        };
        let predicate_of = |p: &Predicate| path_of(&p.path).map(|path| Predicate { path, ..p.clone() });
        TableSpec {
            schema: Schema::new(columns.iter().map(|i| table.column(*i).clone()).collect()),
            metadata: metadata.iter().map(|i| table.column(*i).clone()).collect(),
            primary_key: Vec::new(),
            partition_keys: Vec::new(),
            projection: table.projection.as_ref().map(|paths| paths.iter().filter_map(path_of).collect()),
            predicates: table.predicates.iter().filter_map(predicate_of).collect(),
            alternatives: table.alternatives.iter().map(|of_use| of_use.iter().filter_map(predicate_of).collect()).collect(),
            ..table.clone()
        }
    }

    /// Which of [`Partitions::values_of`] a column is, if it is one.
    fn beside(&self, column: usize) -> Option<usize> {
        let key = self.keys.iter().position(|key| key.column == column);
        let metadata = || self.metadata.iter().position(|(of, _)| *of == column);
        key.or_else(|| metadata().map(|at| self.keys.len() + at))
    }

    /// What the rows of a file have in these columns, one array of one value for each.
    pub(super) fn values_of(&self, file: &str) -> Result<Vec<ArrayRef>> {
        let mut values = self.partition_of(file)?;
        for (_, metadata) in &self.metadata {
            values.push(metadata.value(file)?);
        }
        Ok(values)
    }

    /// The values of the partition that a file lies in, one array of one value for each key.
    fn partition_of(&self, file: &str) -> Result<Vec<ArrayRef>> {
        let mut folders: Vec<&str> = Path::new(file)
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .filter_map(|c| if let Component::Normal(name) = c { name.to_str() } else { None })
            .collect();
        let mut values = Vec::with_capacity(self.keys.len());
        // The innermost folders count, whatever the folders are called in which the table lies.
        for key in self.keys.iter().rev() {
            let text = loop {
                let Some(folder) = folders.pop() else {
                    let message = format!("table '{}', file '{file}': it lies in no folder '{}...'", self.table, key.prefix);
                    return Err(Error::input(format!("{message}, by which the table is partitioned")));
                };
                if let Some(text) = folder.strip_prefix(&key.prefix) {
                    break text;
                }
            };
            values.push(self.value(key, text, file)?);
        }
        values.reverse();
        Ok(values)
    }

    fn value(&self, key: &Key, text: &str, file: &str) -> Result<ArrayRef> {
        let text = unescape(text);
        let mut column = Column::new(&key.ty);
        // Anything but "true" would be false.
        let is_value = key.ty.kind != TypeKind::Boolean || ["true", "false"].iter().any(|b| text.eq_ignore_ascii_case(b));
        if text == self.default_name {
            column.push_null();
        } else if !is_value || column.push_text(&text, TemporalStyle::Lenient).is_err() {
            let message = format!("table '{}', file '{file}': partition column '{}'", self.table, key.name);
            return Err(Error::input(format!("{message}: '{text}' is no {}", key.ty.kind)));
        }
        column.finish()
    }

    /// Whether rows of a file may be wanted, as far as its folders tell.
    pub(super) fn is_wanted(&self, file: &str) -> Result<bool> {
        if self.predicates.is_empty() && self.alternatives.is_empty() {
            return Ok(true);
        }
        let values = self.partition_of(file)?;
        if !all_hold(&values, &self.predicates)? {
            return Ok(false);
        }
        for of_use in &self.alternatives {
            if all_hold(&values, of_use)? {
                return Ok(true);
            }
        }
        Ok(self.alternatives.is_empty())
    }
}

/// Whether conditions hold for the values of a partition.
fn all_hold(values: &[ArrayRef], predicates: &[OfKey]) -> Result<bool> {
    for (key, predicate) in predicates {
        if holds(&values[*key], predicate)?.true_count() == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts the values that are the same in a whole file between its columns.
#[derive(Debug)]
pub(super) struct Assembly {
    schema: SchemaRef,
    /// For each column where it comes from.
    columns: Vec<From>,
}

#[derive(Debug, Clone, Copy)]
enum From {
    File(usize),
    Beside(usize),
}

impl Assembly {
    /// For the columns that a table's projection wants.
    pub(super) fn new(table: &TableSpec, partitions: &Partitions) -> Assembly {
        let wanted: Vec<usize> = match &table.projection {
            Some(paths) => paths.iter().map(|path| path.column).collect(),
            None => (0..table.width()).collect(),
        };
        let mut of_file = 0;
        let from = |column: usize| match partitions.beside(column) {
            Some(value) => From::Beside(value),
            None => {
                of_file += 1;
                From::File(of_file - 1)
            }
        };
        Assembly { schema: table.output_schema().to_arrow(), columns: wanted.into_iter().map(from).collect() }
    }

    /// The whole rows of a batch of a file whose partition has these values.
    pub(super) fn complete(&self, batch: ColumnBatch, values: &[ArrayRef]) -> Result<ColumnBatch> {
        let rows = batch.num_rows();
        let first = UInt32Array::from(vec![0; rows]);
        let column = |from: &From| match from {
            From::File(i) => Ok(Arc::clone(batch.column(*i))),
            From::Beside(value) => Ok(take(&values[*value], &first, None)?),
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let records = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        match batch.kinds() {
            Some(kinds) => ColumnBatch::changes(records, kinds.clone()),
            None => Ok(ColumnBatch::inserts(records)),
        }
    }
}

/// Rows of one partition: its folder, and the rows without the partition columns.
pub(super) type Share = (String, ColumnBatch);

impl Partitions {
    /// The rows of a batch by the folder that they belong into, in the order in which the folders come first.
    pub(super) fn share_out(&self, batch: &ColumnBatch, files: &SchemaRef) -> Result<Vec<Share>> {
        let keys: Vec<ArrayRef> = self.keys.iter().map(|key| Arc::clone(batch.column(key.column))).collect();
        let kept = (0..batch.columns().len()).filter(|i| self.beside(*i).is_none()).map(|i| Arc::clone(batch.column(i))).collect();
        let batch = batch.with_columns(Arc::clone(files), kept)?;
        let mut folders: Vec<String> = Vec::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut folder = String::new();
        let mut text = String::new();
        // Names are made once for each run of equal values.
        for run in arrow::compute::partition(&keys)?.ranges() {
            folder.clear();
            for (key, values) in self.keys.iter().zip(&keys) {
                folder.push_str(if folder.is_empty() { "" } else { "/" });
                folder.push_str(&key.prefix);
                text.clear();
                if !values.is_null(run.start) {
                    write_nested_value(&mut text, values.as_ref(), run.start, &key.ty)?;
                }
                escape(&mut folder, if text.is_empty() { &self.default_name } else { &text });
            }
            let place = match places.get(&folder) {
                Some(place) => *place,
                None => {
                    places.insert(folder.clone(), folders.len());
                    folders.push(folder.clone());
                    rows.push(Vec::new());
                    folders.len() - 1
                }
            };
            rows[place].extend(run.map(|row| row as u32));
        }
        if folders.len() == 1 {
            return Ok(folders.into_iter().map(|folder| (folder, batch.clone())).collect());
        }
        folders.into_iter().zip(rows).map(|(folder, rows)| Ok((folder, batch.take(&UInt32Array::from(rows))?))).collect()
    }
}
