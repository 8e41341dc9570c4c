//! CREATE TABLE: columns, watermark, primary key, partition columns, options.

use std::collections::BTreeMap;

use sqlparser::ast::Spanned;

use rheos_core::connector::TableSpec;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;
use rheos_expr::Expr;
use rheos_operators::spec::LOOKUP_OPTIONS;

use super::Binder;
use super::expr::ExprBinder;
use super::scope::{Scope, ScopeColumn};
use crate::catalog::{Table, simple_name};
use crate::error::{SqlError, SqlResult};
use crate::optimizer::simplify::substitute;
use crate::parser::{ColumnKind, CreateTable};
use crate::plan::Column;
use crate::suggest::did_you_mean;

/// Options that any table takes, beside [`LOOKUP_OPTIONS`].
const GENERAL_OPTIONS: [&str; 3] = ["connector", "format", "scan.watermark.idle-timeout"];

impl Binder<'_> {
    /// Binds the declaration of a table; the connector is not asked for more than its options yet.
    pub fn bind_create_table(&self, create: &CreateTable) -> SqlResult<Table> {
        let options = check_options(self.registry, create)?;
        let mut physical = Schema::default();
        let mut columns = Schema::default();
        for definition in &create.columns {
            if columns.index_of(&definition.name.value).is_some() {
                return Err(SqlError::new(format!("column '{}' is declared twice", definition.name.value)).or_at(definition.name.span));
            }
            if let ColumnKind::Physical(ty) = &definition.kind {
                physical.fields.push(Field::new(&definition.name.value, ty.clone()));
            }
            columns.fields.push(Field::new(&definition.name.value, TypeKind::Null.nullable()));
        }
        let mut spec = TableSpec {
            name: simple_name(&create.name)?,
            connector: options.get("connector").cloned().unwrap_or_default(),
            schema: physical,
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options,
            projection: None,
            predicates: vec![],
            alternatives: vec![],
        };
        let (metadata, metadata_exprs) = self.bind_metadata(create, &mut spec)?;
        let mut physical = std::mem::take(&mut spec.schema);
        // What a computed column can name: the physical columns, then those of metadata.
        let mut named: Vec<Field> = physical.fields.clone();
        let mut named_exprs: Vec<Expr> = named.iter().enumerate().map(|(i, field)| Expr::column(i, field.ty.clone())).collect();
        for (column, expr) in metadata.iter().zip(&metadata_exprs) {
            named.push(Field::new(&columns.fields[column.column].name, expr.ty().clone()));
            named_exprs.push(expr.clone());
        }
        let mut scope = Scope { columns: named.iter().map(scope_column).collect(), ..Scope::default() };
        let mut exprs = Vec::with_capacity(create.columns.len());
        for (field, definition) in columns.fields.iter_mut().zip(&create.columns) {
            let expr = match &definition.kind {
                ColumnKind::Physical(ty) => {
                    let index = physical.index_of(&definition.name.value).unwrap_or(0);
                    Expr::column(index, ty.clone())
                }
                ColumnKind::Computed(ast) => substitute(ExprBinder::plain(&scope, "a computed column").bind(ast)?, &named_exprs),
                ColumnKind::Metadata { .. } => {
                    let at = metadata.iter().position(|m| m.column == exprs.len());
                    metadata_exprs[at.unwrap_or(0)].clone()
                }
            };
            field.ty = expr.ty().clone();
            exprs.push(expr);
        }

        let mut primary_key = Vec::with_capacity(create.primary_key.len());
        for name in &create.primary_key {
            let index = physical.index_of(&name.value).ok_or_else(|| {
                let hint = did_you_mean(&name.value, physical.fields.iter().map(|f| f.name.as_str()));
                SqlError::new(format!("the primary key names '{}', which is no physical column", name.value)).or_at(name.span).hint(hint)
            })?;
            physical.fields[index].ty.nullable = false;
            primary_key.push(index);
        }
        let partition_keys = self.bind_partition_keys(create, &physical, &spec.options)?;
        for (expr, field) in exprs.iter_mut().zip(&mut columns.fields) {
            if let Expr::Column { index, ty } = expr
                && let Some(physical) = physical.fields.get(*index)
            {
                ty.nullable = physical.ty.nullable;
                field.ty.nullable = ty.nullable;
            }
        }

        let watermark = match &create.watermark {
            None => None,
            Some(w) => {
                let name = simple_name(&w.column)?;
                let column = columns.index_of(&name).ok_or_else(|| {
                    let hint = did_you_mean(&name, columns.fields.iter().map(|f| f.name.as_str()));
                    SqlError::at(&w.column, format!("WATERMARK FOR names '{name}', which is no column")).hint(hint)
                })?;
                let is_time = |kind: &TypeKind| matches!(kind, TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) if *p <= 3);
                let kind = &columns.fields[column].ty.kind;
                if !is_time(kind) {
                    let error = SqlError::at(
                        &w.column,
                        format!("a row time must be TIMESTAMP(3) or TIMESTAMP_LTZ(3) (precision at most 3), '{name}' is {kind}"),
                    );
                    return Err(error.hint(Some("compute one: ts AS TO_TIMESTAMP(text) or TO_TIMESTAMP_LTZ(ms, 3)".into())));
                }
                // The watermark may use computed columns: it is bound over all, then brought down to the physical ones.
                scope.columns = columns.fields.iter().map(scope_column).collect();
                let over_all = ExprBinder::plain(&scope, "WATERMARK").bind(&w.expr)?;
                if !over_all.ty().kind.is_timestamp() {
                    return Err(SqlError::at(&w.expr, format!("a watermark must be a TIMESTAMP, this is {}", over_all.ty().kind)));
                }
                let over_physical = substitute(over_all, &exprs);
                Some((column, over_physical))
            }
        };
        (spec.schema, spec.primary_key, spec.partition_keys) = (physical, primary_key, partition_keys);
        Ok(Table { spec, columns, exprs, metadata, watermark })
    }

    /// The positions of the columns of PARTITIONED BY, where the connector knows partitions.
    fn bind_partition_keys(&self, create: &CreateTable, physical: &Schema, options: &BTreeMap<String, String>) -> SqlResult<Vec<usize>> {
        let Some(first) = create.partitioned_by.first() else { return Ok(Vec::new()) };
        let name = options.get("connector").map_or("", String::as_str);
        let is_known = self.registry.connector(name).is_some_and(|connector| {
            let reads = connector.source.as_ref().is_some_and(|source| source.takes_partitions());
            reads || connector.sink.as_ref().is_some_and(|sink| sink.takes_partitions())
        });
        if !is_known {
            return Err(SqlError::new(format!("the connector '{name}' has no partitions: leave out PARTITIONED BY")).or_at(first.span));
        }
        let mut keys = Vec::with_capacity(create.partitioned_by.len());
        for name in &create.partitioned_by {
            let index = physical.index_of(&name.value).ok_or_else(|| {
                let hint = did_you_mean(&name.value, physical.fields.iter().map(|f| f.name.as_str()));
                SqlError::new(format!("PARTITIONED BY names '{}', which is no physical column", name.value)).or_at(name.span).hint(hint)
            })?;
            if keys.contains(&index) {
                return Err(SqlError::new(format!("PARTITIONED BY names '{}' twice", name.value)).or_at(name.span));
            }
            keys.push(index);
        }
        Ok(keys)
    }
}

/// Whether the options that a hint gave are ones that the table's connector and format know.
pub(super) fn check_hinted(registry: &Registry, at: &impl Spanned, table: &Table) -> SqlResult<()> {
    let Some(connector) = registry.connector(&table.spec.connector) else { return Ok(()) };
    let format = table.spec.options.get("format").and_then(|f| registry.format(f));
    let keys = connector.options.iter().chain(format.into_iter().flat_map(|f| f.options.iter())).map(|o| o.key);
    let known: Vec<&str> = GENERAL_OPTIONS.into_iter().chain(LOOKUP_OPTIONS).chain(keys).collect();
    let is_known = |key: &str| known.contains(&key) || known.iter().any(|k| k.contains('#') && matches_pattern(k, key));
    match table.spec.options.keys().find(|key| !is_known(key)) {
        None => Ok(()),
        Some(key) => {
            let error = SqlError::at(at, format!("the connector '{}' has no option '{key}'", table.spec.connector));
            Err(error.hint(did_you_mean(key, known.iter().copied())))
        }
    }
}

fn scope_column(field: &Field) -> ScopeColumn {
    ScopeColumn { qualifier: None, column: Column { name: field.name.clone(), ty: field.ty.clone(), time: None }, hidden: false }
}

fn check_options(registry: &Registry, create: &CreateTable) -> SqlResult<BTreeMap<String, String>> {
    let names = || registry.connectors().map(|c| c.name).collect::<Vec<_>>();
    let mut options = BTreeMap::new();
    for (key, value, key_span, _) in &create.options {
        if options.insert(key.clone(), value.clone()).is_some() {
            return Err(SqlError::new(format!("option '{key}' is given twice")).or_at(*key_span));
        }
    }
    let place = |key: &str| create.options.iter().find(|o| o.0 == key).map_or(create.name.span(), |o| o.3);
    let Some(name) = options.get("connector") else {
        let hint = Some(format!("WITH ('connector' = '...'); there are {}", names().join(", ")));
        return Err(SqlError::at(&create.name, format!("table '{}' has no connector", create.name)).hint(hint));
    };
    let connector = registry.connector(name).ok_or_else(|| {
        let hint = did_you_mean(name, names()).unwrap_or_else(|| format!("there are {}", names().join(", ")));
        SqlError::new(format!("no connector '{name}'")).or_at(place("connector")).hint(Some(hint))
    })?;
    let mut known: Vec<&str> = GENERAL_OPTIONS.into_iter().chain(LOOKUP_OPTIONS).collect();
    known.extend(connector.options.iter().map(|o| o.key));
    if let Some(format) = options.get("format") {
        let formats = || registry.formats().map(|f| f.name);
        if !connector.takes_format {
            return Err(SqlError::new(format!("the connector '{name}' takes no format")).or_at(place("format")));
        }
        let info = registry.format(format).ok_or_else(|| {
            let hint = did_you_mean(format, formats()).unwrap_or_else(|| format!("there are {}", formats().collect::<Vec<_>>().join(", ")));
            SqlError::new(format!("no format '{format}'")).or_at(place("format")).hint(Some(hint))
        })?;
        known.extend(info.options.iter().map(|o| o.key));
    } else if connector.takes_format {
        let formats = registry.formats().map(|f| f.name).collect::<Vec<_>>().join(", ");
        return Err(
            SqlError::at(&create.name, format!("the connector '{name}' needs a format")).hint(Some(format!("'format' = one of {formats}")))
        );
    }
    for (key, _, key_span, _) in &create.options {
        // Options of single fields, `fields.<name>.kind`, are the connector's own to check.
        let pattern = known.iter().any(|k| k.contains('#') && matches_pattern(k, key));
        if !known.contains(&key.as_str()) && !pattern {
            let hint = did_you_mean(key, known.iter().copied()).unwrap_or_else(|| format!("there are {}", known.join(", ")));
            return Err(SqlError::new(format!("the connector '{name}' has no option '{key}'")).or_at(*key_span).hint(Some(hint)));
        }
    }
    if let Some(missing) = connector.options.iter().find(|o| o.required && !options.contains_key(o.key)) {
        let error = SqlError::at(&create.name, format!("the connector '{name}' needs the option '{}'", missing.key));
        return Err(error.hint(Some(missing.doc.to_string())));
    }
    Ok(options)
}

/// `fields.#.kind` fits `fields.price.kind`.
fn matches_pattern(pattern: &str, key: &str) -> bool {
    let Some((before, after)) = pattern.split_once('#') else { return false };
    key.len() > before.len() + after.len() && key.starts_with(before) && key.ends_with(after)
}
