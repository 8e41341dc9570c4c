//! Relations in FROM that depend on those to their left: LATERAL subqueries and UNNEST.

use sqlparser::ast::{Expr as Ast, Ident, JoinConstraint, TableAlias, TableFactor};

use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::{JoinKind, Unnesting};

use super::Binder;
use super::decorrelate::{decorrelate, is_correlated};
use super::expr::ExprBinder;
use super::from::aliased;
use super::query::and_all;
use super::scalar::row_of_nothing;
use super::scope::Scope;
use crate::error::{SqlError, SqlResult};
use crate::plan::{Column, JoinScope, Plan};

/// Whether a relation may depend on those to its left.
pub(super) fn is_lateral(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::UNNEST { .. } | TableFactor::Derived { lateral: true, .. })
}

impl Binder<'_> {
    /// Joins a relation that depends on those to its left.
    pub(super) fn bind_lateral<'p>(
        &mut self,
        (left, left_scope): (Plan, Scope<'p>),
        factor: &TableFactor,
        kind: JoinKind,
        constraint: &JoinConstraint,
    ) -> SqlResult<(Plan, Scope<'p>)> {
        if !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            return Err(SqlError::unsupported(factor, "a RIGHT or FULL join of a relation that depends on its left side"));
        }
        let (mut plan, right_scope, applied) = match factor {
            TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
                let [collection] = array_exprs.as_slice() else {
                    return Err(SqlError::unsupported(factor, "UNNEST of several collections"));
                };
                let outer = kind == JoinKind::Left;
                let plan = unnest(left, &left_scope, collection, outer, *with_ordinality, alias.as_ref())?;
                let elements = plan.columns[left_scope.columns.len()..].to_vec();
                (plan, elements_scope(elements, alias.as_ref()), false)
            }
            TableFactor::Derived { subquery, alias, sample: None, .. } => {
                let right = self.bind_subquery(subquery, &left_scope)?;
                let (right, right_scope) = aliased(right, alias.as_ref(), None)?;
                let condition = on(&left_scope.clone().join(right_scope.clone()), constraint)?;
                (lateral_join(left, right, kind, condition)?, right_scope, true)
            }
            other => return Err(SqlError::unsupported(other, "this form of a relation that depends on its left side")),
        };
        let scope = left_scope.join(right_scope);
        if !applied && let Some(condition) = on(&scope, constraint)? {
            if kind == JoinKind::Left {
                return Err(SqlError::unsupported(factor, "LEFT JOIN UNNEST with a condition other than TRUE"));
            }
            plan = Plan::filter(plan, condition);
        }
        Ok((plan, scope))
    }
}

/// The condition of ON; `None` where there is none, or it is TRUE.
fn on(scope: &Scope<'_>, constraint: &JoinConstraint) -> SqlResult<Option<Expr>> {
    let condition = match constraint {
        JoinConstraint::None => return Ok(None),
        JoinConstraint::On(ast) => ExprBinder::plain(scope, "ON").condition(ast)?,
        _ => return Err(SqlError::new("USING and NATURAL are not supported with a relation that depends on its left side")),
    };
    Ok((!matches!(condition, Expr::Literal { value: Literal::Bool(true), .. })).then_some(condition))
}

/// The join of a plan with a subquery that may speak of it; `condition` is over the columns of both.
fn lateral_join(left: Plan, right: Plan, kind: JoinKind, condition: Option<Expr>) -> SqlResult<Plan> {
    if !is_correlated(&right) {
        return Ok(Plan::join(left, right, kind, (vec![], vec![]), condition, JoinScope::Unbounded));
    }
    if let Some(nothing) = row_of_nothing(&right) {
        return lateral_aggregate(left, right, kind, condition, nothing);
    }
    let freed = decorrelate(right, &left)?;
    let condition = and_all(condition.into_iter().chain(freed.condition(&left)?).collect())?;
    let shown = left.columns.len() + freed.width();
    let joined = Plan::join(left, freed.plan, kind, (vec![], vec![]), condition, JoinScope::Unbounded);
    Ok(Plan::project(joined, &(0..shown).collect::<Vec<_>>()))
}

/// The same of a subquery that aggregates everything: it has a row for each of the left side, `nothing` where it finds none.
fn lateral_aggregate(left: Plan, right: Plan, kind: JoinKind, condition: Option<Expr>, nothing: Vec<Expr>) -> SqlResult<Plan> {
    if kind == JoinKind::Left && condition.is_some() {
        let error =
            SqlError::new("LEFT JOIN LATERAL of a query that aggregates everything, with a condition other than TRUE, is not supported");
        return Err(error.hint(Some("its one row is always there: put the condition into CASE in the SELECT list".into())));
    }
    let split = left.columns.len();
    let freed = decorrelate(right, &left)?;
    let equal = freed.condition(&left)?;
    let width = freed.width();
    let mut names = left.names();
    names.extend(freed.plan.names().into_iter().take(width));
    let (mut projections, mut inner_names) = (freed.plan.all_columns(), freed.plan.names());
    projections.push(build::literal_bool(true));
    inner_names.push("$there".into());
    let there = split + projections.len() - 1;
    let found = Plan::calc(freed.plan, None, projections, inner_names);
    let joined = Plan::join(left, found, JoinKind::Left, (vec![], vec![]), equal, JoinScope::Unbounded);
    let is_there = build::call("IS NOT NULL", vec![joined.column(there)]).map_err(SqlError::new)?;
    let mut shown: Vec<Expr> = (0..split).map(|c| joined.column(c)).collect();
    for (i, nothing) in nothing.into_iter().enumerate() {
        shown.push(build::case(vec![(is_there.clone(), joined.column(split + i))], Some(nothing)).map_err(SqlError::new)?);
    }
    let rows = Plan::calc(joined, None, shown, names);
    Ok(match condition {
        Some(condition) => Plan::filter(rows, condition),
        None => rows,
    })
}

/// The left plan with the elements of a collection.
fn unnest(left: Plan, scope: &Scope<'_>, collection: &Ast, outer: bool, ordinality: bool, alias: Option<&TableAlias>) -> SqlResult<Plan> {
    let bound = ExprBinder::plain(scope, "UNNEST").bind(collection)?;
    let mut elements = element_columns(bound.ty())
        .ok_or_else(|| SqlError::at(collection, format!("UNNEST takes an ARRAY, MAP or MULTISET, not {}", bound.ty().kind)))?;
    if ordinality {
        elements.push(Column { name: "ORDINALITY".into(), ty: TypeKind::Int.not_null(), time: None });
    }
    let names: Vec<Ident> = alias.map(|a| a.columns.iter().map(|c| c.name.clone()).collect()).unwrap_or_default();
    if !names.is_empty() && names.len() != elements.len() {
        let message = format!("the alias names {} columns, UNNEST gives {}", names.len(), elements.len());
        return Err(SqlError::new(message).or_at(names[0].span));
    }
    elements.iter_mut().zip(&names).for_each(|(element, name)| element.name.clone_from(&name.value));
    elements.iter_mut().for_each(|e| e.ty.nullable |= outer);
    let counted = matches!(bound.ty().kind, TypeKind::Multiset(_));
    let at = left.columns.len();
    let (projections, names) =
        (left.all_columns().into_iter().chain([bound]).collect(), left.names().into_iter().chain(["$collection".into()]).collect());
    let prepared = Plan::calc(left, None, projections, names);
    let unnested = Plan::unnest(prepared, Unnesting::Elements { column: at, counted, outer, ordinality }, elements);
    let shown: Vec<usize> = (0..at).chain(at + 1..unnested.columns.len()).collect();
    Ok(Plan::project(unnested, &shown))
}

/// The columns that the elements of a collection make.
fn element_columns(ty: &LogicalType) -> Option<Vec<Column>> {
    let column = |name: &str, ty: &LogicalType| Column { name: name.into(), ty: ty.clone(), time: None };
    Some(match &ty.kind {
        TypeKind::Array(element) | TypeKind::Multiset(element) => match &element.kind {
            TypeKind::Row(fields) => {
                fields.iter().map(|f| column(&f.name, &f.ty.clone().with_nullable(f.ty.nullable || element.nullable))).collect()
            }
            _ => vec![column("f0", element)],
        },
        TypeKind::Map(key, value) => vec![column("KEY", key), column("VALUE", value)],
        _ => return None,
    })
}

fn elements_scope<'p>(elements: Vec<Column>, alias: Option<&TableAlias>) -> Scope<'p> {
    Scope::of_columns(elements, alias.map(|a| a.name.value.clone()))
}
