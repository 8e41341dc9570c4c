//! Which names an expression can see, and which column each is.

use sqlparser::ast::Ident;

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, build};

use crate::error::{SqlError, SqlResult};
use crate::plan::{Column, Plan};
use crate::suggest::did_you_mean;

/// Columns of an enclosing query are numbered from here, so that they cannot be taken for the query's own.
pub(super) const OUTER_BASE: usize = 1 << 40;
/// Placeholders for aggregates are numbered from here.
pub(super) const AGGREGATE_BASE: usize = 1 << 41;
/// Placeholders for window functions are numbered from here.
pub(super) const OVER_BASE: usize = 1 << 42;
/// Placeholders for scalar subqueries are numbered from here.
pub(super) const SUBQUERY_BASE: usize = 1 << 43;
/// Placeholders for FIRST, LAST and the like of a pattern are numbered from here.
pub(super) const NAVIGATION_BASE: usize = 1 << 44;

/// The columns of FROM, each with the name of the relation that it came from.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'p> {
    pub(super) columns: Vec<ScopeColumn>,
    /// The enclosing query's names.
    pub(super) outer: Option<&'p Scope<'p>>,
    /// GROUP BY TUMBLE(...) and the like: the columns of the window's start, end and time.
    pub(super) group_window: Option<[usize; 3]>,
}

#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    pub(super) qualifier: Option<String>,
    pub(super) column: Column,
    /// Not found by its bare name and not in `*`: the other side of USING.
    pub(super) hidden: bool,
}

impl<'p> Scope<'p> {
    /// The columns of a plan under one name.
    pub(super) fn of(plan: &Plan, qualifier: Option<String>) -> Scope<'p> {
        Self::of_columns(plan.columns.clone(), qualifier)
    }

    /// Columns under one name.
    pub(super) fn of_columns(columns: Vec<Column>, qualifier: Option<String>) -> Scope<'p> {
        let columns = columns.into_iter().map(|column| ScopeColumn { qualifier: qualifier.clone(), column, hidden: false }).collect();
        Scope { columns, outer: None, group_window: None }
    }

    /// The columns of both, in order.
    pub(super) fn join(mut self, other: Scope<'p>) -> Scope<'p> {
        self.columns.extend(other.columns);
        self
    }

    /// The column that `a.b.c` names, with fields of ROWs where the name goes on.
    pub(super) fn resolve(&self, parts: &[Ident]) -> SqlResult<Expr> {
        match self.resolve_here(parts, 0)? {
            Some(expr) => Ok(expr),
            None => match self.outer.map(|o| o.resolve_here(parts, OUTER_BASE)).transpose()?.flatten() {
                Some(expr) => Ok(expr),
                None => Err(self.unknown(parts)),
            },
        }
    }

    fn resolve_here(&self, parts: &[Ident], base: usize) -> SqlResult<Option<Expr>> {
        if parts.len() > 1 {
            let qualified = |c: &ScopeColumn| c.qualifier.as_deref() == Some(parts[0].value.as_str()) && c.column.name == parts[1].value;
            if let Some(index) = self.only(&parts[1], qualified)? {
                return fields(self.column(index, base), &parts[2..]).map(Some);
            }
        }
        let bare = |c: &ScopeColumn| !c.hidden && c.column.name == parts[0].value;
        match self.only(&parts[0], bare)? {
            Some(index) => fields(self.column(index, base), &parts[1..]).map(Some),
            None => Ok(None),
        }
    }

    fn column(&self, index: usize, base: usize) -> Expr {
        Expr::column(base + index, self.columns[index].column.ty.clone())
    }

    fn only(&self, name: &Ident, matches: impl Fn(&ScopeColumn) -> bool) -> SqlResult<Option<usize>> {
        let mut found = (0..self.columns.len()).filter(|i| matches(&self.columns[*i]));
        let Some(first) = found.next() else { return Ok(None) };
        if let Some(second) = found.next() {
            let side = |i: usize| self.columns[i].qualifier.clone().unwrap_or_else(|| "a subquery".into());
            let message = format!("column '{}' is ambiguous: it is in {} and in {}", name.value, side(first), side(second));
            return Err(SqlError::new(message).or_at(name.span));
        }
        Ok(Some(first))
    }

    fn unknown(&self, parts: &[Ident]) -> SqlError {
        let name = parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".");
        let last = &parts[parts.len() - 1];
        let known_relation = parts.len() > 1 && self.columns.iter().any(|c| c.qualifier.as_deref() == Some(parts[0].value.as_str()));
        let names = self.columns.iter().filter(|c| !known_relation || c.qualifier.as_deref() == Some(parts[0].value.as_str()));
        let names: Vec<&str> = names.map(|c| c.column.name.as_str()).collect();
        let hint = did_you_mean(&last.value, names.iter().copied()).or_else(|| {
            if parts.len() > 1 && !known_relation {
                let relations = self.columns.iter().filter_map(|c| c.qualifier.as_deref());
                return did_you_mean(&parts[0].value, relations);
            }
            (!names.is_empty() && names.len() <= 30).then(|| format!("there are {}", names.join(", ")))
        });
        SqlError::new(format!("no column '{name}'")).or_at(parts[0].span).hint(hint)
    }
}

/// Goes down into ROW fields.
pub(super) fn fields(mut expr: Expr, parts: &[Ident]) -> SqlResult<Expr> {
    for part in parts {
        let TypeKind::Row(known) = &expr.ty().kind else {
            return Err(SqlError::new(format!("no field '{}': the value is {}, not a ROW", part.value, expr.ty().kind)).or_at(part.span));
        };
        let hint = did_you_mean(&part.value, known.iter().map(|f| f.name.as_str()));
        expr = build::field(expr, &part.value).map_err(|e| SqlError::new(e).or_at(part.span).hint(hint))?;
    }
    Ok(expr)
}
