//! METADATA columns: what they read, and what of a table is written.

use sqlparser::ast::{ObjectName, Spanned};

use rheos_core::connector::{MetadataInfo, TableSpec};
use rheos_core::schema::Field;
use rheos_core::source::SourceFactory;
use rheos_core::types::LogicalType;
use rheos_expr::{Expr, build};

use super::Binder;
use crate::catalog::{MetadataColumn, Table};
use crate::error::{SqlError, SqlResult};
use crate::parser::{ColumnKind, CreateTable};

/// What INSERT writes into a table.
#[derive(Debug)]
pub struct Written {
    /// The table as its sink sees it.
    pub spec: TableSpec,
    /// What the sink is given: the physical columns, then metadata, as they are declared.
    pub columns: Vec<Field>,
    /// For each of them the type in which the sink takes it.
    pub types: Vec<LogicalType>,
    /// Their positions in `columns`, in the order in which they are declared.
    pub order: Vec<usize>,
}

impl Binder<'_> {
    /// The METADATA columns of a declaration, with the expression of each over the physical columns and the metadata of `spec`, which
    /// is set here.
    pub(super) fn bind_metadata(&self, create: &CreateTable, spec: &mut TableSpec) -> SqlResult<(Vec<MetadataColumn>, Vec<Expr>)> {
        let known = self.known_metadata(spec);
        let (mut columns, mut exprs) = (Vec::new(), Vec::new());
        for (column, definition) in create.columns.iter().enumerate() {
            let ColumnKind::Metadata { ty, key, is_virtual } = &definition.kind else { continue };
            let key = key.clone().unwrap_or_else(|| definition.name.value.clone());
            let wrong = |message: String| SqlError::new(message).or_at(definition.name.span);
            let Some(info) = known.iter().find(|info| info.key == key) else {
                let error = wrong(format!("{} has no metadata '{key}'", described(spec)));
                return Err(error.hint((!known.is_empty()).then(|| listed(&known))));
            };
            let at = spec.metadata.iter().position(|field| field.name == key).unwrap_or_else(|| {
                spec.metadata.push(Field::new(info.key, info.ty.clone()));
                spec.metadata.len() - 1
            });
            let value = Expr::column(spec.schema.len() + at, info.ty.clone());
            let cast = build::cast(value, ty.clone(), false);
            exprs.push(cast.map_err(|e| wrong(format!("metadata '{key}' is {}: {e}", info.ty.kind)))?);
            columns.push(MetadataColumn { column, key, is_virtual: *is_virtual });
        }
        Ok((columns, exprs))
    }

    /// What can be read or written of a table beside its columns.
    fn known_metadata(&self, spec: &TableSpec) -> Vec<MetadataInfo> {
        let connector = self.registry.connector(&spec.connector);
        let mut known = connector.and_then(|c| c.source.as_ref()).map(|source| source.metadata(spec)).unwrap_or_default();
        for info in connector.and_then(|c| c.sink.as_ref()).map(|sink| sink.metadata(spec)).unwrap_or_default() {
            if known.iter().all(|k| k.key != info.key) {
                known.push(info);
            }
        }
        known
    }

    /// What INSERT writes into a table: its physical columns, and the METADATA columns that are not VIRTUAL.
    pub fn written(&self, at: &ObjectName, table: &Table) -> SqlResult<Written> {
        let physical = &table.spec.schema.fields;
        let sink = self.registry.connector(&table.spec.connector).and_then(|connector| connector.sink.as_ref());
        let known = sink.map(|sink| sink.metadata(&table.spec)).unwrap_or_default();
        let mut spec = TableSpec { metadata: vec![], ..table.spec.clone() };
        let mut columns = physical.clone();
        let mut types: Vec<LogicalType> = physical.iter().map(|field| field.ty.clone()).collect();
        let mut order = Vec::new();
        for (i, field) in table.columns.fields.iter().enumerate() {
            match table.metadata.iter().find(|metadata| metadata.column == i) {
                None => order.extend(physical.iter().position(|p| p.name == field.name)),
                Some(metadata) if metadata.is_virtual => {}
                Some(metadata) => {
                    let Some(info) = known.iter().find(|info| info.key == metadata.key) else {
                        let message =
                            format!("column '{}' is metadata '{}', which {} cannot write", field.name, metadata.key, described(&spec));
                        let hint = if known.is_empty() { String::new() } else { format!("; {}", listed(&known)) };
                        return Err(SqlError::at(at, message).hint(Some(format!("declare it VIRTUAL{hint}"))));
                    };
                    if spec.metadata.iter().any(|written| written.name == metadata.key) {
                        let message =
                            format!("metadata '{}' would be written by several columns, '{}' among them", metadata.key, field.name);
                        return Err(SqlError::at(at, message).hint(Some("declare all but one of them VIRTUAL".into())));
                    }
                    order.push(columns.len());
                    spec.metadata.push(Field::new(info.key, info.ty.clone()));
                    columns.push(field.clone());
                    types.push(info.ty.clone());
                }
            }
        }
        Ok(Written { spec, columns, types, order })
    }
}

/// Whether all metadata of a table can be read.
pub(super) fn check_readable(at: &impl Spanned, table: &Table, source: &dyn SourceFactory) -> SqlResult<()> {
    let known = source.metadata(&table.spec);
    match table.spec.metadata.iter().find(|field| known.iter().all(|info| info.key != field.name)) {
        None => Ok(()),
        Some(field) => Err(SqlError::at(at, format!("metadata '{}' of '{}' can only be written", field.name, table.spec.name))),
    }
}

/// A table's connector and format, for messages.
fn described(spec: &TableSpec) -> String {
    let format = spec.option("format").map(|format| format!(" with the format '{format}'")).unwrap_or_default();
    format!("the connector '{}'{format}", spec.connector)
}

fn listed(known: &[MetadataInfo]) -> String {
    let all: Vec<String> = known.iter().map(|info| format!("'{}' {}", info.key, info.ty.kind)).collect();
    format!("there are {}", all.join(", "))
}
