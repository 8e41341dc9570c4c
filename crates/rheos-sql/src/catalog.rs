//! What the session knows by name: tables, views, settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, Query};

use rheos_core::connector::TableSpec;
use rheos_core::schema::Schema;
use rheos_expr::Expr;

use crate::error::{SqlError, SqlResult};
use crate::parser::CreateTable;
use crate::parser::hints::OPTIONS;
use crate::suggest::did_you_mean;

/// A table as CREATE TABLE declared it, bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What the connector sees.
    pub spec: TableSpec,
    /// All columns, computed ones included, in the order of the declaration.
    pub columns: Schema,
    /// For each column its expression over the physical columns and, behind them, the metadata of `spec`.
    pub exprs: Vec<Expr>,
    /// The METADATA columns.
    pub metadata: Vec<MetadataColumn>,
    /// The column of the row time, and the watermark over the physical columns.
    pub watermark: Option<(usize, Expr)>,
}

/// A METADATA column.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataColumn {
    /// Its position in the declaration.
    pub column: usize,
    /// What the connector or the format calls it.
    pub key: String,
    /// Whether it is only read.
    pub is_virtual: bool,
}

/// A view: a query that is bound anew where it is used.
#[derive(Debug, Clone)]
pub struct View {
    /// The query.
    pub query: Box<Query>,
    /// Names for its columns; empty takes the query's.
    pub columns: Vec<Ident>,
}

/// A thing that FROM can name.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A table.
    Table(Arc<Table>),
    /// A view.
    View(Arc<View>),
}

/// The names of a session.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    relations: BTreeMap<String, Relation>,
    /// How tables were declared, for LIKE.
    declarations: BTreeMap<String, CreateTable>,
}

impl Catalog {
    /// The relation of a name, or an error that names the nearest.
    pub fn get(&self, name: &ObjectName) -> SqlResult<&Relation> {
        let key = simple_name(name)?;
        self.relations.get(&key).ok_or_else(|| {
            let hint = did_you_mean(&key, self.relations.keys().map(String::as_str));
            SqlError::at(name, format!("no table or view '{key}'")).hint(hint)
        })
    }

    /// The table of a name.
    pub fn table(&self, name: &ObjectName) -> SqlResult<&Arc<Table>> {
        match self.get(name)? {
            Relation::Table(t) => Ok(t),
            Relation::View(_) => Err(SqlError::at(name, format!("'{name}' is a view, not a table"))),
        }
    }

    /// Whether the name is taken.
    pub fn contains(&self, name: &str) -> bool {
        self.relations.contains_key(name)
    }

    /// Adds a relation; the name must be free, unless `if_not_exists`.
    pub fn add(&mut self, name: &ObjectName, relation: Relation, if_not_exists: bool) -> SqlResult<()> {
        let key = simple_name(name)?;
        if self.contains(&key) {
            if if_not_exists {
                return Ok(());
            }
            return Err(SqlError::at(name, format!("'{key}' exists already")).hint(Some("DROP it first, or say IF NOT EXISTS".into())));
        }
        self.relations.insert(key, relation);
        Ok(())
    }

    /// Remembers how a table was declared.
    pub fn declare(&mut self, create: &CreateTable) -> SqlResult<()> {
        self.declarations.insert(simple_name(&create.name)?, create.clone());
        Ok(())
    }

    /// How a table was declared.
    pub fn declaration(&self, name: &ObjectName) -> SqlResult<&CreateTable> {
        self.table(name)?;
        let key = simple_name(name)?;
        self.declarations.get(&key).ok_or_else(|| SqlError::at(name, format!("'{key}' was not made by CREATE TABLE")))
    }

    /// Removes a table or a view.
    pub fn drop(&mut self, name: &ObjectName, view: bool, if_exists: bool) -> SqlResult<()> {
        let key = simple_name(name)?;
        match self.relations.get(&key) {
            None if if_exists => return Ok(()),
            None => drop(self.get(name)?),
            Some(Relation::Table(_)) if view => return Err(SqlError::at(name, format!("'{key}' is a table; write DROP TABLE"))),
            Some(Relation::View(_)) if !view => return Err(SqlError::at(name, format!("'{key}' is a view; write DROP VIEW"))),
            Some(_) => {}
        }
        self.relations.remove(&key);
        Ok(())
    }

    /// All relations by name.
    pub fn relations(&self) -> impl Iterator<Item = (&str, &Relation)> {
        self.relations.iter().map(|(n, r)| (n.as_str(), r))
    }
}

/// A name without the hint OPTIONS behind it, and what that says.
pub fn hinted(name: &ObjectName) -> SqlResult<(ObjectName, BTreeMap<String, String>)> {
    let parts = name.0.as_slice();
    let Some([.., marker, encoded]) = Some(parts).filter(|p| p.len() > 2) else { return Ok((name.clone(), BTreeMap::new())) };
    if marker.as_ident().is_none_or(|i| i.value != OPTIONS) {
        return Ok((name.clone(), BTreeMap::new()));
    }
    let encoded = encoded.as_ident().map(|i| i.value.as_str()).unwrap_or_default();
    let options = serde_json::from_str(encoded).map_err(|e| SqlError::at(name, e.to_string()))?;
    Ok((ObjectName(parts[..parts.len() - 2].to_vec()), options))
}

impl Table {
    /// The same table with other options.
    pub fn with_options(&self, options: BTreeMap<String, String>) -> Table {
        let mut table = self.clone();
        table.spec.options.extend(options);
        table
    }
}

/// The last part of a name. Catalogs and databases other than Flink's default ones are not there.
pub fn simple_name(name: &ObjectName) -> SqlResult<String> {
    let parts: Vec<&str> = name.0.iter().filter_map(|p| p.as_ident().map(|i| i.value.as_str())).collect();
    match parts.as_slice() {
        [table] | ["default_database", table] | ["default_catalog", "default_database", table] => Ok((*table).to_string()),
        _ => Err(SqlError::at(name, format!("no catalog or database for '{name}'"))
            .hint(Some("there is only default_catalog.default_database".into()))),
    }
}
