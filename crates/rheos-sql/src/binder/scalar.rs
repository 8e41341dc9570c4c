//! Subqueries as values: `(SELECT ...)`, EXISTS and IN wherever an expression may stand. Each is joined to the query that it is in.

use sqlparser::ast::{Expr as Ast, Query};

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::{AggregateCall, JoinKind};

use super::Binder;
use super::decorrelate::{decorrelate, is_correlated, map_outer};
use super::expr::{Extension, call};
use super::scope::{OUTER_BASE, SUBQUERY_BASE, Scope};
use super::subquery::has_always_a_row;
use crate::error::{SqlError, SqlResult};
use crate::optimizer::simplify::substitute;
use crate::plan::{Column, JoinScope, Plan, Rel};

/// Gathers subqueries; each stands in the expression as a placeholder column.
pub(super) struct SubqueryCollector<'c, 'a> {
    binder: &'c mut Binder<'a>,
    found: Vec<Found>,
}

/// A subquery of one column.
pub(super) struct Found {
    plan: Plan,
    /// The value where it has no row, unless that is NULL.
    empty: Option<Expr>,
}

impl<'c, 'a> SubqueryCollector<'c, 'a> {
    pub(super) fn new(binder: &'c mut Binder<'a>) -> Self {
        SubqueryCollector { binder, found: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<Found> {
        self.found
    }

    fn add(&mut self, plan: Plan) -> Expr {
        let empty = value_of_nothing(&plan);
        let nullable = plan.columns[0].ty.nullable || empty.as_ref().is_none_or(|e| e.ty().nullable);
        let ty = plan.columns[0].ty.clone().with_nullable(nullable);
        self.found.push(Found { plan, empty });
        Expr::column(SUBQUERY_BASE + self.found.len() - 1, ty)
    }

    /// The placeholder of COUNT over a plan: of its rows, or of the values of its first column.
    fn count(&mut self, plan: Plan, of_values: bool) -> Expr {
        let args = if of_values { vec![0] } else { vec![] };
        let arg_types = args.iter().map(|a: &usize| plan.columns[*a].ty.clone()).collect();
        let ty = TypeKind::BigInt.not_null();
        let call = AggregateCall { function: "COUNT".into(), args, arg_types, filter: None, distinct: false, ty };
        self.add(Plan::aggregate(plan, vec![], vec![call], vec!["$count".into()]))
    }
}

impl Extension for SubqueryCollector<'_, '_> {
    fn scalar(&mut self, at: &Ast, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let plan = self.binder.bind_subquery(query, scope)?;
        if plan.columns.len() != 1 {
            return Err(SqlError::at(at, format!("a subquery that is a value has one column, not {}", plan.columns.len())));
        }
        Ok(self.add(plan))
    }

    fn exists(&mut self, at: &Ast, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let plan = self.binder.bind_subquery(query, scope)?;
        if has_always_a_row(&plan) {
            return Ok(build::literal_bool(true));
        }
        let count = self.count(plan, false);
        call(at, ">", vec![count, build::literal_bigint(0)])
    }

    fn is_in(&mut self, at: &Ast, value: Expr, query: &Query, scope: &Scope<'_>) -> SqlResult<Expr> {
        let plan = self.binder.bind_subquery(query, scope)?;
        if plan.columns.len() != 1 {
            return Err(SqlError::at(at, format!("IN compares one value with {} columns", plan.columns.len())));
        }
        if value.columns().iter().any(|c| *c >= OUTER_BASE) {
            return Err(SqlError::unsupported(
                at,
                "IN (SELECT ...) of a value of the enclosing query, of an aggregate or of a window function",
            ));
        }
        let outer_value = value.clone().transform(&mut |e| match e {
            Expr::Column { index, ty } => Expr::Column { index: index + OUTER_BASE, ty },
            other => other,
        });
        let equal = call(at, "=", vec![plan.column(0), outer_value])?;
        let matches = self.count(Plan::filter(plan.clone(), equal), false);
        let found = call(at, ">", vec![matches, build::literal_bigint(0)])?;
        if !value.ty().nullable && !plan.columns[0].ty.nullable {
            return Ok(found);
        }
        // Unknown where the value, or one that it is compared with, is NULL.
        let (rows, values) = (self.count(plan.clone(), false), self.count(plan, true));
        let none = call(at, "=", vec![rows.clone(), build::literal_bigint(0)])?;
        let has_null = call(at, ">", vec![rows, values])?;
        let is_null = call(at, "IS NULL", vec![value])?;
        let unknown = call(at, "OR", vec![is_null, has_null])?;
        let branches =
            vec![(found, build::literal_bool(true)), (none, build::literal_bool(false)), (unknown, build::typed_null(TypeKind::Boolean))];
        build::case(branches, Some(build::literal_bool(false))).map_err(|e| SqlError::at(at, e))
    }
}

/// Joins subqueries to the plan that they stand in; `outer` says which column of it is column `i` of the scope that they saw. Returns
/// what the placeholders stand for.
pub(super) fn join(mut plan: Plan, found: Vec<Found>, mut outer: impl FnMut(usize) -> SqlResult<usize>) -> SqlResult<(Plan, Vec<Expr>)> {
    let mut values = Vec::with_capacity(found.len());
    for Found { plan: subquery, empty } in found {
        let subquery = map_outer(subquery, &mut outer)?;
        let at = plan.columns.len();
        let (subquery, condition) = if is_correlated(&subquery) {
            let freed = decorrelate(subquery, &plan)?;
            let condition = freed.condition(&plan)?;
            let keys: Vec<usize> = (1..freed.plan.columns.len()).collect();
            (at_most_one_row(freed.plan, keys)?, condition)
        } else {
            (at_most_one_row(subquery, vec![])?, None)
        };
        let mut projections = subquery.all_columns();
        let mut names = subquery.names();
        projections.push(build::literal_bool(true));
        names.push("$there".into());
        let there = at + projections.len() - 1;
        let subquery = if empty.is_some() { Plan::calc(subquery, None, projections, names) } else { subquery };
        plan = Plan::join(plan, subquery, JoinKind::Left, (vec![], vec![]), condition, JoinScope::Unbounded);
        values.push(match empty {
            None => plan.column(at),
            Some(empty) => {
                let is_there = build::call("IS NOT NULL", vec![plan.column(there)]).map_err(SqlError::new)?;
                // The value is known not to be NULL for its own reasons, which the join does not know.
                build::case(vec![(is_there, plan.column(at))], Some(empty)).map_err(SqlError::new)?
            }
        });
    }
    Ok((plan, values))
}

/// Puts in what placeholders of subqueries stand for.
pub(super) fn resolve(expr: Expr, values: &[Expr]) -> Expr {
    expr.transform(&mut |e| match e {
        Expr::Column { index, .. } if index >= SUBQUERY_BASE => values[index - SUBQUERY_BASE].clone(),
        other => other,
    })
}

/// A plan that has at most one row for each value of `keys`; more are an error when they come.
fn at_most_one_row(plan: Plan, keys: Vec<usize>) -> SqlResult<Plan> {
    if plan.unique_keys.iter().any(|unique| unique.iter().all(|c| keys.contains(c))) {
        return Ok(plan);
    }
    let ty = plan.columns[0].ty.clone();
    let call =
        AggregateCall { function: "SINGLE_VALUE".into(), args: vec![0], arg_types: vec![ty.clone()], filter: None, distinct: false, ty };
    let name = plan.columns[0].name.clone();
    let grouped = Plan::aggregate(plan, keys, vec![call], vec![name]);
    // The value first, then what it is of.
    let last = grouped.columns.len() - 1;
    let order: Vec<usize> = std::iter::once(last).chain(0..last).collect();
    Ok(Plan::project(grouped, &order))
}

/// What a subquery that aggregates everything is of no rows: counts are 0. `None` where it is NULL.
fn value_of_nothing(plan: &Plan) -> Option<Expr> {
    let value = row_of_nothing(plan)?.into_iter().next()?;
    (!matches!(value, Expr::Literal { value: Literal::Null, .. })).then_some(value)
}

/// The one row of a subquery that aggregates everything, where there is nothing: counts are 0, the others NULL. `None` of any other.
pub(super) fn row_of_nothing(plan: &Plan) -> Option<Vec<Expr>> {
    let zero = |(call, column): (&AggregateCall, &Column)| match call.function.as_str() {
        "COUNT" | "SUM0" => Expr::Literal { value: Literal::Int(0), ty: column.ty.clone() },
        _ => build::typed_null(column.ty.kind.clone()),
    };
    let row: Vec<Expr> = match &plan.rel {
        Rel::Aggregate { keys, calls, .. } if keys.is_empty() => calls.iter().zip(&plan.columns).map(zero).collect(),
        Rel::Calc { input, condition: None, projections } => {
            let Rel::Aggregate { keys, calls, .. } = &input.rel else { return None };
            if !keys.is_empty() {
                return None;
            }
            let values: Vec<Expr> = calls.iter().zip(&input.columns).map(zero).collect();
            projections.iter().map(|p| substitute(p.clone(), &values)).collect()
        }
        _ => return None,
    };
    row.iter().all(|value| value.columns().is_empty()).then_some(row)
}
