//! ORDER BY, LIMIT, OFFSET and FETCH.

use sqlparser::ast::{Expr as Ast, LimitClause, OrderBy, OrderByKind, Query, SelectItem, SetExpr, Spanned, Value};

use rheos_expr::Expr;
use rheos_operators::spec::SortKey;

use super::Binder;
use super::expr::ExprBinder;
use super::scope::Scope;
use crate::error::{SqlError, SqlResult};
use crate::plan::{Plan, RankStrategy};

impl Binder<'_> {
    /// The first rows of a query, in order where it asks for one.
    pub(super) fn bind_order_and_limit(&mut self, mut plan: Plan, query: &Query, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        let (mut fetch, mut offset) = (None, 0);
        match &query.limit_clause {
            None => {}
            Some(LimitClause::LimitOffset { limit, offset: skip, limit_by }) if limit_by.is_empty() => {
                fetch = limit.as_ref().map(count).transpose()?;
                offset = skip.as_ref().map(|o| count(&o.value)).transpose()?.unwrap_or(0);
            }
            Some(_) => return Err(SqlError::unsupported(query, "this form of LIMIT")),
        }
        if let Some(f) = &query.fetch {
            if f.with_ties || f.percent {
                return Err(SqlError::unsupported(query, "FETCH WITH TIES or PERCENT"));
            }
            fetch = Some(f.quantity.as_ref().map_or(Ok(1), count)?);
        }
        let visible = plan.columns.len();
        let order = match &query.order_by {
            None => Vec::new(),
            Some(order) => match bind_order(&plan, order) {
                Ok(keys) => keys,
                Err(error) => {
                    let Some((widened, keys)) = self.bind_hidden_order(&plan, order, &query.body, outer, &error)? else {
                        return Err(error);
                    };
                    plan = widened;
                    keys
                }
            },
        };
        let plan = match (order.is_empty(), fetch) {
            (true, None) if offset == 0 => Ok(plan),
            (true, _) if plan.changelog.is_insert_only() => Ok(Plan::limit(plan, offset, fetch)),
            (true, Some(n)) => {
                Ok(Plan::rank(plan, vec![], vec![], (offset.saturating_add(1), offset.saturating_add(n)), None, RankStrategy::Updating))
            }
            (true, None) => Err(SqlError::unsupported(query, "OFFSET without LIMIT on a result that changes")),
            (false, Some(0)) => Ok(Plan::limit(plan, 0, Some(0))),
            (false, Some(n)) => {
                Ok(Plan::rank(plan, vec![], order, (offset.saturating_add(1), offset.saturating_add(n)), None, RankStrategy::Updating))
            }
            (false, None) if offset == 0 && sorts_by_time(&plan, &order) => {
                let partition = vec![];
                Ok(Plan::over(plan, partition, order, vec![], vec![]))
            }
            (false, None) => {
                let at = query.order_by.as_ref().map_or(query.span(), Spanned::span);
                let error = SqlError::new(
                    "ORDER BY without LIMIT begins with an ascending row time: an unbounded stream has no last row to sort before",
                )
                .or_at(at);
                Err(error.hint(Some("add LIMIT n for the first n rows, kept up to date".into())))
            }
        }?;
        if plan.columns.len() == visible {
            return Ok(plan);
        }
        Ok(Plan::project(plan, &(0..visible).collect::<Vec<_>>()))
    }

    /// ORDER BY something that is not in the SELECT list: the query with those expressions as further columns, and the order
    /// over them. `None` where the query is not a SELECT that can be widened.
    fn bind_hidden_order(
        &mut self,
        plan: &Plan,
        order: &OrderBy,
        body: &SetExpr,
        outer: Option<&Scope<'_>>,
        error: &SqlError,
    ) -> SqlResult<Option<(Plan, Vec<SortKey>)>> {
        let (SetExpr::Select(select), OrderByKind::Expressions(exprs)) = (body, &order.kind) else { return Ok(None) };
        if select.distinct.is_some() {
            return Ok(None);
        }
        let scope = Scope::of(plan, None);
        let mut widened = select.as_ref().clone();
        let mut keys = Vec::with_capacity(exprs.len());
        let mut next = plan.columns.len();
        for item in exprs {
            let column = match order_column(plan, &scope, &item.expr) {
                Ok(column) => column,
                Err(_) => {
                    widened
                        .projection
                        .push(SelectItem::ExprWithAlias { expr: item.expr.clone(), alias: format!("$order{next}").as_str().into() });
                    next += 1;
                    next - 1
                }
            };
            keys.push(sort_key(column, item.options.asc, item.options.nulls_first));
        }
        // What is not in the input either is told as it was found in the SELECT list.
        let widened = self.bind_select(&widened, outer).map_err(|_| error.clone())?;
        Ok(Some((widened, keys)))
    }
}

/// Whether rows can be sorted as event time goes on: it comes first, and rows are only added.
fn sorts_by_time(plan: &Plan, order: &[SortKey]) -> bool {
    order.first().is_some_and(|first| !first.descending && plan.columns[first.column].time.is_some()) && plan.changelog.is_insert_only()
}

fn bind_order(plan: &Plan, order: &OrderBy) -> SqlResult<Vec<SortKey>> {
    let OrderByKind::Expressions(exprs) = &order.kind else { return Err(SqlError::unsupported(order, "ORDER BY ALL")) };
    let scope = Scope::of(plan, None);
    let mut keys = Vec::with_capacity(exprs.len());
    for item in exprs {
        let column = order_column(plan, &scope, &item.expr)?;
        keys.push(sort_key(column, item.options.asc, item.options.nulls_first));
    }
    Ok(keys)
}

/// The column of a result that ORDER BY names, by name or position.
fn order_column(plan: &Plan, scope: &Scope<'_>, ast: &Ast) -> SqlResult<usize> {
    let column = match ast {
        Ast::Value(v) => match &v.value {
            Value::Number(n, _) => n.parse::<usize>().ok().filter(|n| (1..=plan.columns.len()).contains(n)).map(|n| n - 1),
            _ => None,
        },
        other => match ExprBinder::plain(scope, "ORDER BY").bind(other)? {
            Expr::Column { index, .. } => Some(index),
            _ => None,
        },
    };
    column.ok_or_else(|| {
        let error = SqlError::at(ast, "ORDER BY takes columns of the result, by name or position");
        error.hint(Some("compute the expression in the SELECT list and order by its name".into()))
    })
}

/// NULL is the least value, as in Flink: first ascending, last descending.
pub(super) fn sort_key(column: usize, asc: Option<bool>, nulls_first: Option<bool>) -> SortKey {
    let descending = asc == Some(false);
    SortKey { column, descending, nulls_first: nulls_first.unwrap_or(!descending) }
}

fn count(ast: &Ast) -> SqlResult<u64> {
    match ast {
        Ast::Value(v) => match &v.value {
            Value::Number(n, _) => match n.parse::<i64>() {
                Ok(count) => Ok(count as u64),
                Err(_) => Err(SqlError::at(ast, format!("'{n}' is no number of rows"))),
            },
            _ => Err(SqlError::at(ast, "a number of rows is expected")),
        },
        _ => Err(SqlError::at(ast, "a number of rows is expected, not negative")),
    }
}
