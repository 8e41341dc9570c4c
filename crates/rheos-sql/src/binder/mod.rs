//! Syntax trees to plans: names resolved, types derived.

mod aggregate;
mod decorrelate;
mod expr;
mod from;
mod hints;
mod lateral;
mod literal;
mod metadata;
mod order;
mod over;
mod pattern;
mod query;
mod scalar;
mod scope;
mod set_operation;
mod subquery;
mod table;
mod window;
mod window_group;

use std::collections::BTreeMap;

pub(crate) use decorrelate::is_correlated;
pub(crate) use expr::arguments;
pub(crate) use query::and_all;

use rheos_core::registry::Registry;
use rheos_core::types::LogicalType;
use rheos_expr::Expr;
use sqlparser::ast::{Ident, Query};

use crate::catalog::Catalog;
use crate::error::SqlResult;
use crate::plan::{Column, Plan};

/// How deep views and subqueries may refer to each other.
const MAX_QUERY_DEPTH: usize = 64;

/// Binds the statements of a session.
pub struct Binder<'a> {
    catalog: &'a Catalog,
    registry: &'a Registry,
    /// WITH queries in sight, innermost last.
    ctes: Vec<BTreeMap<String, Cte>>,
    depth: usize,
    /// How many queries are around the one that is being bound, whose columns a query may name.
    nesting: usize,
    /// What the SELECTs that are being bound say of state, innermost last.
    state_ttls: Vec<hints::StateTtls>,
}

/// A bound WITH query; each use takes a copy, and equal copies become one when the plan is lowered.
#[derive(Clone)]
struct Cte {
    plan: Plan,
    /// In how many queries it is nested: where it speaks of the one around it, it means this one.
    nesting: usize,
}

impl<'a> Binder<'a> {
    /// A binder over what the session knows.
    pub fn new(catalog: &'a Catalog, registry: &'a Registry) -> Self {
        Binder { catalog, registry, ctes: Vec::new(), depth: 0, nesting: 0, state_ttls: Vec::new() }
    }

    /// Binds a query that stands alone.
    pub fn bind(&mut self, query: &Query) -> SqlResult<Plan> {
        self.bind_query(query, None)
    }

    /// Binds a query that may speak of the one around it.
    fn bind_subquery(&mut self, query: &Query, enclosing: &scope::Scope<'_>) -> SqlResult<Plan> {
        self.nested(|binder| binder.bind_query(query, Some(enclosing)))
    }

    /// Binds what is in a query of its own within another.
    fn nested<T>(&mut self, bind: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        self.nesting += 1;
        let bound = bind(self);
        self.nesting -= 1;
        bound
    }

    /// Binds a table or a view by its name.
    pub fn bind_name(&mut self, name: &sqlparser::ast::ObjectName) -> SqlResult<Plan> {
        self.bind_relation(name)
    }

    /// Binds an expression over named values.
    pub fn bind_over(&self, values: &[(Ident, LogicalType)], expr: &sqlparser::ast::Expr) -> SqlResult<Expr> {
        let column = |(name, ty): &(Ident, LogicalType)| Column { name: name.value.clone(), ty: ty.clone(), time: None };
        let scope = scope::Scope::of_columns(values.iter().map(column).collect(), None);
        expr::ExprBinder::plain(&scope, "a function").bind(expr)
    }

    /// Checks that a list of names fits a plan's columns.
    pub fn check_columns(plan: &Plan, columns: &[Ident], what: &str) -> SqlResult<()> {
        Self::rename(plan.clone(), columns, what).map(|_| ())
    }

    pub(crate) fn rename(plan: Plan, columns: &[Ident], what: &str) -> SqlResult<Plan> {
        if columns.is_empty() {
            return Ok(plan);
        }
        if columns.len() != plan.columns.len() {
            let message = format!("{what} names {} columns, its query has {}", columns.len(), plan.columns.len());
            return Err(crate::SqlError::new(message).or_at(columns[0].span));
        }
        let mut plan = plan;
        for (column, name) in plan.columns.iter_mut().zip(columns) {
            column.name = name.value.clone();
        }
        Ok(plan)
    }
}
