//! EXISTS and IN (SELECT ...) as conditions: they become semi and anti joins.

use sqlparser::ast::{Expr as Ast, GroupByExpr, Query, Select, SelectItem, SetExpr, UnaryOperator};

use rheos_expr::{Expr, build};
use rheos_operators::spec::JoinKind;

use super::Binder;
use super::aggregate::AggregateCollector;
use super::decorrelate::{decorrelate, is_correlated};
use super::expr::{ExprBinder, call};
use super::query::and_all;
use super::scope::{OUTER_BASE, Scope};
use crate::error::{SqlError, SqlResult};
use crate::plan::{JoinScope, Plan, Rel};

impl Binder<'_> {
    /// The plan joined with the subquery of a condition; `None` where the condition has none of its own.
    pub(super) fn bind_subquery_condition(&mut self, plan: &Plan, scope: &Scope<'_>, ast: &Ast) -> SqlResult<Option<Plan>> {
        match ast {
            Ast::Nested(inner) => self.bind_subquery_condition(plan, scope, inner),
            Ast::UnaryOp { op: UnaryOperator::Not, expr } => match strip(expr) {
                Ast::Exists { subquery, negated } => self.bind_exists(plan, scope, subquery, !negated).map(Some),
                Ast::InSubquery { expr, subquery, negated } => self.bind_in(plan, scope, ast, expr, subquery, !negated).map(Some),
                _ => Ok(None),
            },
            Ast::Exists { subquery, negated } => self.bind_exists(plan, scope, subquery, *negated).map(Some),
            Ast::InSubquery { expr, subquery, negated } => self.bind_in(plan, scope, ast, expr, subquery, *negated).map(Some),
            _ => Ok(None),
        }
    }

    fn bind_exists(&mut self, plan: &Plan, scope: &Scope<'_>, query: &Query, negated: bool) -> SqlResult<Plan> {
        let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
        let Some(select) = plain_select(query) else {
            let inner = self.bind_subquery(query, scope)?;
            if has_always_a_row(&inner) {
                return Ok(if negated { Plan::filter(plan.clone(), build::literal_bool(false)) } else { plan.clone() });
            }
            let (inner, condition) = freed(inner, plan)?;
            return Ok(Plan::join(plan.clone(), inner, kind, (vec![], vec![]), condition, JoinScope::Unbounded));
        };
        let core = self.nested(|binder| binder.bind_core(select, Some(scope)))?;
        for item in &select.projection {
            // What is selected does not matter, but it must exist.
            if let SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } = item {
                ExprBinder::plain(&core.scope, "SELECT").bind(e)?;
            }
        }
        let condition = and_all(core.correlated.into_iter().map(|c| over_both(c, plan)).collect())?;
        Ok(Plan::join(plan.clone(), core.plan, kind, (vec![], vec![]), condition, JoinScope::Unbounded))
    }

    fn bind_in(&mut self, plan: &Plan, scope: &Scope<'_>, at: &Ast, value: &Ast, query: &Query, negated: bool) -> SqlResult<Plan> {
        let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
        let mut binder = ExprBinder::plain(scope, "WHERE");
        let values = match value {
            Ast::Tuple(items) => items.iter().map(|i| binder.bind(i)).collect::<SqlResult<Vec<_>>>()?,
            one => vec![binder.bind(one)?],
        };
        let outer_in = |e: &Expr| e.columns().iter().any(|c| *c >= OUTER_BASE);
        if values.iter().any(outer_in) {
            return Err(SqlError::unsupported(at, "IN (SELECT ...) of a value of the enclosing query, two levels down,"));
        }
        let (inner, items, mut conditions) = match plain_select(query) {
            Some(select) => {
                let core = self.nested(|binder| binder.bind_core(select, Some(scope)))?;
                let mut items = Vec::new();
                for item in &select.projection {
                    match item {
                        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                            items.push(ExprBinder::plain(&core.scope, "SELECT").bind(e)?)
                        }
                        SelectItem::Wildcard(_) => items.extend(core.plan.all_columns()),
                        other => return Err(SqlError::unsupported(other, "this select item in a subquery of IN")),
                    }
                }
                let conditions: Vec<Expr> = core.correlated.into_iter().map(|c| over_both(c, plan)).collect();
                (core.plan, items, conditions)
            }
            None => {
                let inner = self.bind_subquery(query, scope)?;
                let items = inner.all_columns();
                let (inner, condition) = freed(inner, plan)?;
                (inner, items, condition.into_iter().collect())
            }
        };
        if items.len() != values.len() {
            return Err(SqlError::at(at, format!("IN compares {} values with {} columns", values.len(), items.len())));
        }
        let split = plan.columns.len();
        for (value, item) in values.into_iter().zip(items) {
            let item = item.transform(&mut |e| match e {
                Expr::Column { index, ty } if index < OUTER_BASE => Expr::Column { index: index + split, ty },
                other => other,
            });
            let mut equal = call(at, "=", vec![value, over_left(item)])?;
            // NOT IN is true only where every comparison is false: one that is unknown counts as a match.
            if negated && equal.ty().nullable {
                equal = call(at, "IS NOT FALSE", vec![equal])?;
            }
            conditions.push(equal);
        }
        Ok(Plan::join(plan.clone(), inner, kind, (vec![], vec![]), and_all(conditions)?, JoinScope::Unbounded))
    }
}

/// Whether a subquery has a row whatever there is: it aggregates everything, and nothing filters that.
pub(super) fn has_always_a_row(plan: &Plan) -> bool {
    match &plan.rel {
        Rel::Aggregate { keys, .. } => keys.is_empty(),
        Rel::Calc { input, condition: None, .. } => has_always_a_row(input),
        _ => false,
    }
}

/// A subquery without references to the enclosing plan, and the condition that joins it with that.
fn freed(subquery: Plan, enclosing: &Plan) -> SqlResult<(Plan, Option<Expr>)> {
    if !is_correlated(&subquery) {
        return Ok((subquery, None));
    }
    let freed = decorrelate(subquery, enclosing)?;
    let condition = freed.condition(enclosing)?;
    Ok((freed.plan, condition))
}

/// The SELECT of a subquery that is nothing but FROM and WHERE, so that its conditions may be drawn out of it.
fn plain_select(query: &Query) -> Option<&Select> {
    if query.with.is_some() || query.limit_clause.is_some() || query.fetch.is_some() {
        return None;
    }
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::Query(inner) => return plain_select(inner),
        _ => return None,
    };
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(e, m) if e.is_empty() && m.is_empty()) || select.having.is_some();
    (!grouped && select.distinct.is_none() && select.qualify.is_none() && !has_aggregate(select)).then_some(select)
}

fn has_aggregate(select: &Select) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
            // Binding against no columns: an aggregate is told from everything else by the collector.
            let mut collector = AggregateCollector::default();
            let scope = Scope::default();
            let found = ExprBinder { scope: &scope, aggregates: Ok(&mut collector), over: None, extension: None }.bind(e).is_ok();
            (found && !collector.is_empty()) || mentions_aggregate(e)
        }
        _ => false,
    })
}

fn mentions_aggregate(ast: &Ast) -> bool {
    match ast {
        Ast::Function(f) => {
            let name = f.name.to_string().to_uppercase();
            super::expr::is_aggregate(&name) || super::expr::arguments(f).is_ok_and(|args| args.iter().any(mentions_aggregate))
        }
        Ast::Nested(e) | Ast::UnaryOp { expr: e, .. } => mentions_aggregate(e),
        Ast::BinaryOp { left, right, .. } => mentions_aggregate(left) || mentions_aggregate(right),
        Ast::Between { expr, low, high, .. } => [expr, low, high].into_iter().any(|e| mentions_aggregate(e)),
        Ast::IsNull(e) | Ast::IsNotNull(e) => mentions_aggregate(e),
        Ast::Case { operand, conditions, else_result, .. } => {
            conditions.iter().any(|w| mentions_aggregate(&w.condition) || mentions_aggregate(&w.result))
                || operand.iter().chain(else_result).any(|e| mentions_aggregate(e))
        }
        _ => false,
    }
}

fn strip(ast: &Ast) -> &Ast {
    match ast {
        Ast::Nested(inner) => strip(inner),
        other => other,
    }
}

/// A condition of a subquery over the join of the enclosing plan (left) and the subquery (right).
fn over_both(condition: Expr, left: &Plan) -> Expr {
    let split = left.columns.len();
    condition.transform(&mut |e| match e {
        Expr::Column { index, ty } if index >= OUTER_BASE => Expr::Column { index: index - OUTER_BASE, ty },
        Expr::Column { index, ty } => Expr::Column { index: index + split, ty },
        other => other,
    })
}

fn over_left(item: Expr) -> Expr {
    item.transform(&mut |e| match e {
        Expr::Column { index, ty } if index >= OUTER_BASE => Expr::Column { index: index - OUTER_BASE, ty },
        other => other,
    })
}
