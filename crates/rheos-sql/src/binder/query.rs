//! SELECT and what stands around it: WITH, set operations, VALUES, ORDER BY, LIMIT.

use std::collections::BTreeMap;

use sqlparser::ast::{
    Distinct, Expr as Ast, GroupByExpr, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Spanned, Value, Values,
};

use sqlparser::tokenizer::Span;

use rheos_core::types::LogicalType;
use rheos_expr::{Expr, build};

use super::aggregate::{self, AggregateCollector, Grouping};
use super::expr::{ExprBinder, MAX_OPERATORS, call};
use super::over::OverCollector;
use super::scalar::{self, SubqueryCollector};
use super::scope::{OUTER_BASE, OVER_BASE, Scope};
use super::{Binder, Cte, MAX_QUERY_DEPTH, hints, set_operation, window_group};
use crate::error::{SqlError, SqlResult};
use crate::plan::Plan;

/// How many queries one chain of set operations may join.
const MAX_BRANCHES: usize = 256;

/// A bound item of the SELECT list, or a condition on groups.
struct Item {
    expr: Expr,
    name: String,
    span: Span,
}

/// FROM and WHERE of a SELECT: the conditions that speak of the enclosing query are kept apart.
pub(super) struct Core<'p> {
    pub(super) plan: Plan,
    pub(super) scope: Scope<'p>,
    pub(super) correlated: Vec<Expr>,
}

impl Binder<'_> {
    /// Binds a query; `outer` are the names of the enclosing one.
    pub(super) fn bind_query(&mut self, query: &Query, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        self.depth += 1;
        if self.depth > MAX_QUERY_DEPTH {
            return Err(SqlError::at(
                query,
                format!("queries and views are nested more than {MAX_QUERY_DEPTH} deep (does a view use itself?)"),
            ));
        }
        refuse_query_clauses(query)?;
        let mut bound_ctes = false;
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(SqlError::unsupported(query, "WITH RECURSIVE"));
            }
            self.ctes.push(BTreeMap::new());
            bound_ctes = true;
            for cte in &with.cte_tables {
                let plan = self.bind_query(&cte.query, outer)?;
                let columns: Vec<_> = cte.alias.columns.iter().map(|c| c.name.clone()).collect();
                let plan = Self::rename(plan, &columns, &format!("'{}'", cte.alias.name.value))?;
                if let Some(scope) = self.ctes.last_mut()
                    && scope.insert(cte.alias.name.value.clone(), Cte { plan, nesting: self.nesting }).is_some()
                {
                    let message = format!("the WITH query '{}' is there twice", cte.alias.name.value);
                    return Err(SqlError::new(message).or_at(cte.alias.name.span));
                }
            }
        }
        let plan = self.bind_set_expr(&query.body, outer)?;
        let plan = self.bind_order_and_limit(plan, query, outer)?;
        if bound_ctes {
            self.ctes.pop();
        }
        self.depth -= 1;
        Ok(plan)
    }

    fn bind_set_expr(&mut self, body: &SetExpr, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        let mut branches = 1;
        let mut left = body;
        while let SetExpr::SetOperation { left: deeper, .. } = left {
            branches += 1;
            left = deeper;
        }
        if branches > MAX_BRANCHES {
            return Err(SqlError::at(left, format!("a set operation has {branches} branches; {MAX_BRANCHES} are the most")));
        }
        match body {
            SetExpr::Select(select) => self.bind_select(select, outer),
            SetExpr::Query(query) => self.bind_query(query, outer),
            SetExpr::Values(values) => bind_values(values),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let (l, r) = (self.bind_set_expr(left, outer)?, self.bind_set_expr(right, outer)?);
                set_operation::bind(body, l, r, *op, *set_quantifier)
            }
            other => Err(SqlError::unsupported(other, "this kind of query")),
        }
    }

    pub(super) fn bind_select(&mut self, select: &Select, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        self.state_ttls.push(hints::state_ttls(select)?);
        let bound = self.bind_hinted_select(select, outer);
        self.state_ttls.pop();
        bound
    }

    fn bind_hinted_select(&mut self, select: &Select, outer: Option<&Scope<'_>>) -> SqlResult<Plan> {
        let mut core = self.bind_core(select, outer)?;
        // Whoever asked for this query frees it of its references to the enclosing one.
        if let Some(condition) = and_all(std::mem::take(&mut core.correlated))? {
            core.plan = Plan::filter(core.plan, condition);
        }
        self.bind_projection(select, window_group::apply(select, core)?)
    }

    /// FROM and WHERE.
    pub(super) fn bind_core<'p>(&mut self, select: &Select, outer: Option<&'p Scope<'p>>) -> SqlResult<Core<'p>> {
        refuse_unknown_clauses(select)?;
        let (mut plan, mut scope) = self.bind_from(&select.from, outer)?;
        scope.outer = outer;
        let mut correlated = Vec::new();
        if let Some(selection) = &select.selection {
            let mut conjuncts = Vec::new();
            split_conjuncts(selection, &mut conjuncts);
            if conjuncts.len() > MAX_OPERATORS {
                return Err(SqlError::at(
                    conjuncts[0],
                    format!("WHERE joins {} conditions; {MAX_OPERATORS} are the most", conjuncts.len()),
                ));
            }
            let mut conditions = Vec::new();
            for conjunct in conjuncts {
                if let Some(joined) = self.bind_subquery_condition(&plan, &scope, conjunct)? {
                    plan = joined;
                    continue;
                }
                let mut subqueries = SubqueryCollector::new(self);
                let mut binder = ExprBinder { scope: &scope, aggregates: Err("WHERE"), over: None, extension: Some(&mut subqueries) };
                let condition = binder.condition(conjunct)?;
                let (joined, values) = scalar::join(plan, subqueries.finish(), Ok)?;
                plan = joined;
                let condition = scalar::resolve(condition, &values);
                if condition.columns().iter().any(|c| *c >= OUTER_BASE) { correlated.push(condition) } else { conditions.push(condition) }
            }
            if let Some(condition) = and_all(conditions)? {
                plan = Plan::filter(plan, condition);
            }
        }
        Ok(Core { plan, scope, correlated })
    }

    fn bind_projection(&mut self, select: &Select, core: Core<'_>) -> SqlResult<Plan> {
        let Core { mut plan, scope, .. } = core;
        let mut collector = AggregateCollector::default();
        let mut over = OverCollector::new(&select.named_window);
        let mut subqueries = SubqueryCollector::new(self);
        let mut items: Vec<Item> = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) => {
                    refuse_wildcard_options(item, options)?;
                    expand_wildcard(&scope, None, item, &mut items)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    refuse_wildcard_options(item, options)?;
                    expand_wildcard(&scope, Some(&name.to_string().replace('`', "")), item, &mut items)?;
                }
                SelectItem::UnnamedExpr(ast) | SelectItem::ExprWithAlias { expr: ast, .. } => {
                    let mut binder = ExprBinder {
                        scope: &scope,
                        aggregates: Ok(&mut collector),
                        over: Some(&mut over),
                        extension: Some(&mut subqueries),
                    };
                    let expr = binder.bind(ast)?;
                    let name = match item {
                        SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
                        _ => natural_name(ast).unwrap_or_else(|| format!("EXPR${}", items.len())),
                    };
                    items.push(Item { expr, name, span: ast.span() });
                }
                other => return Err(SqlError::unsupported(other, "this kind of select item")),
            }
        }
        let mut condition_of = |clause: &Option<Ast>, with_over: Option<&mut OverCollector>| -> SqlResult<Option<Item>> {
            let Some(ast) = clause else { return Ok(None) };
            let mut binder =
                ExprBinder { scope: &scope, aggregates: Ok(&mut collector), over: with_over, extension: Some(&mut subqueries) };
            Ok(Some(Item { expr: binder.condition(ast)?, name: String::new(), span: ast.span() }))
        };
        let mut having = condition_of(&select.having, None)?;
        let mut qualify = condition_of(&select.qualify, Some(&mut over))?;
        if let (Some(item), true) = (&qualify, over.is_empty()) {
            return Err(SqlError::new("QUALIFY needs a window function").or_at(item.span).hint(Some("use WHERE or HAVING".into())));
        }
        let subqueries = subqueries.finish();
        let grouping = self.bind_group_by(select, &scope)?;
        let is_grouped = grouping.is_some() || !collector.is_empty() || having.is_some();
        let values;
        if is_grouped {
            let ttl_ms = self.state_ttl(&scope.columns);
            let grouped = aggregate::group(plan, grouping.unwrap_or_default(), collector, ttl_ms)?;
            for item in items.iter_mut().chain(&mut having).chain(&mut qualify) {
                item.expr = grouped.rewrite(item.expr.clone(), &scope, item.span)?;
            }
            over.rewrite(|expr| grouped.rewrite(expr, &scope, select.span()))?;
            let key_of =
                |outer: usize| match grouped.rewrite(Expr::column(outer, scope.columns[outer].column.ty.clone()), &scope, select.span())? {
                    Expr::Column { index, .. } => Ok(index),
                    _ => Err(SqlError::unsupported(select, "a subquery on this column of a query that groups")),
                };
            let joined = scalar::join(grouped.plan.clone(), subqueries, key_of)?;
            (plan, values) = joined;
        } else {
            (plan, values) = scalar::join(plan, subqueries, Ok)?;
        }
        for item in items.iter_mut().chain(&mut having).chain(&mut qualify) {
            item.expr = scalar::resolve(item.expr.clone(), &values);
        }
        over.rewrite(|expr| Ok(scalar::resolve(expr, &values)))?;
        if let Some(having) = having {
            plan = Plan::filter(plan, having.expr);
        }
        if !over.is_empty() {
            let (with_functions, functions) = over.apply(plan);
            plan = with_functions;
            for item in items.iter_mut().chain(&mut qualify) {
                item.expr = item.expr.clone().transform(&mut |e| match e {
                    Expr::Column { index, .. } if index >= OVER_BASE => functions[index - OVER_BASE].clone(),
                    other => other,
                });
            }
        }
        if let Some(qualify) = qualify {
            plan = Plan::filter(plan, qualify.expr);
        }
        let (projections, names): (Vec<Expr>, Vec<String>) = items.into_iter().map(|i| (i.expr, i.name)).unzip();
        let plan = Plan::calc(plan, None, projections, names);
        match &select.distinct {
            None | Some(Distinct::All) => Ok(plan),
            Some(Distinct::Distinct) => Ok(distinct(plan)),
            Some(Distinct::On(_)) => Err(SqlError::unsupported(select, "DISTINCT ON")),
        }
    }

    fn bind_group_by(&mut self, select: &Select, scope: &Scope<'_>) -> SqlResult<Option<Grouping>> {
        let exprs = match &select.group_by {
            GroupByExpr::Expressions(exprs, modifiers) if modifiers.is_empty() => exprs,
            _ => return Err(SqlError::unsupported(select, "this form of GROUP BY")),
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        let mut grouping = Grouping::default();
        for ast in exprs {
            let sets = self.bind_grouping_element(ast, scope)?;
            grouping.cross(sets).map_err(|e| SqlError::at(ast, e))?;
        }
        Ok(Some(grouping))
    }

    fn bind_grouping_element(&mut self, ast: &Ast, scope: &Scope<'_>) -> SqlResult<Vec<Vec<Expr>>> {
        let bind = |list: &[Ast]| list.iter().map(|e| ExprBinder::plain(scope, "GROUP BY").bind(e)).collect::<SqlResult<Vec<Expr>>>();
        if window_group::window_function(ast).is_some()
            && let Some(columns) = scope.group_window
        {
            return Ok(vec![columns.iter().map(|c| Expr::column(*c, scope.columns[*c].column.ty.clone())).collect()]);
        }
        Ok(match ast {
            Ast::GroupingSets(sets) => sets.iter().map(|s| bind(s)).collect::<SqlResult<_>>()?,
            Ast::Rollup(parts) => {
                let parts = parts.iter().map(|p| bind(p)).collect::<SqlResult<Vec<_>>>()?;
                (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
            }
            Ast::Cube(parts) => {
                let parts = parts.iter().map(|p| bind(p)).collect::<SqlResult<Vec<_>>>()?;
                if parts.len() > 8 {
                    return Err(SqlError::at(
                        ast,
                        format!("CUBE of {} columns has {} grouping sets; 8 columns are the most", parts.len(), 1u128 << parts.len()),
                    ));
                }
                (0..1usize << parts.len())
                    .rev()
                    .map(|mask| {
                        (0..parts.len()).filter(|i| mask >> (parts.len() - 1 - i) & 1 == 1).flat_map(|i| parts[i].clone()).collect()
                    })
                    .collect()
            }
            Ast::Tuple(items) => vec![bind(items)?],
            Ast::Value(v) if matches!(v.value, Value::Number(..)) => {
                return Err(SqlError::at(ast, "GROUP BY a position is not supported; name the expression"));
            }
            Ast::Nested(inner) => return self.bind_grouping_element(inner, scope),
            plain => vec![bind(std::slice::from_ref(plain))?],
        })
    }
}

/// A plan without duplicates.
pub(super) fn distinct(plan: Plan) -> Plan {
    let keys = (0..plan.columns.len()).collect();
    let time_ty = plan.window.and_then(|w| w.time).map(|t| plan.columns[t].ty.clone());
    aggregate::group_columns(plan, keys, Vec::new(), time_ty)
}

/// Casts the columns of plans to their common types; names are those of the first.
pub(super) fn same_types(at: &impl Spanned, plans: Vec<Plan>, what: &str) -> SqlResult<Vec<Plan>> {
    let width = plans[0].columns.len();
    if let Some(other) = plans.iter().find(|p| p.columns.len() != width) {
        return Err(SqlError::at(at, format!("the sides of {what} have {width} and {} columns", other.columns.len())));
    }
    let mut types: Vec<LogicalType> = Vec::with_capacity(width);
    for i in 0..width {
        let all: Vec<LogicalType> = plans.iter().map(|p| p.columns[i].ty.clone()).collect();
        let kinds = || all.iter().map(|t| t.kind.to_string()).collect::<Vec<_>>().join(" and ");
        types.push(build::common_type(&all).ok_or_else(|| {
            SqlError::at(at, format!("column {} of {what} ('{}') is {}: there is no common type", i + 1, plans[0].columns[i].name, kinds()))
        })?);
    }
    let names = plans[0].names();
    plans
        .into_iter()
        .map(|plan| {
            if plan.columns.iter().zip(&types).all(|(c, t)| c.ty.kind == t.kind) && plan.names() == names {
                return Ok(plan);
            }
            let mut projections = Vec::with_capacity(width);
            for (i, ty) in types.iter().enumerate() {
                projections.push(build::cast(plan.column(i), ty.clone(), false).map_err(|e| SqlError::at(at, e))?);
            }
            Ok(Plan::calc(plan, None, projections, names.clone()))
        })
        .collect()
}

/// `a AND b AND c` as its parts.
pub(super) fn split_conjuncts<'a>(ast: &'a Ast, parts: &mut Vec<&'a Ast>) {
    match ast {
        Ast::BinaryOp { left, op: sqlparser::ast::BinaryOperator::And, right } => {
            split_conjuncts(left, parts);
            split_conjuncts(right, parts);
        }
        Ast::Nested(inner) if matches!(inner.as_ref(), Ast::BinaryOp { op: sqlparser::ast::BinaryOperator::And, .. }) => {
            split_conjuncts(inner, parts)
        }
        other => parts.push(other),
    }
}

/// The conjunction of conditions; `None` of none.
pub(crate) fn and_all(mut conditions: Vec<Expr>) -> SqlResult<Option<Expr>> {
    // Pairwise, so that many conditions make no deep tree.
    while conditions.len() > 1 {
        let mut halved = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut pairs = conditions.into_iter();
        while let Some(left) = pairs.next() {
            halved.push(match pairs.next() {
                Some(right) => build::call("AND", vec![left, right]).map_err(SqlError::new)?,
                None => left,
            });
        }
        conditions = halved;
    }
    Ok(conditions.pop())
}

fn bind_values(values: &Values) -> SqlResult<Plan> {
    let scope = Scope::default();
    let width = values.rows[0].content.len();
    let mut columns: Vec<Vec<Expr>> = vec![Vec::new(); width];
    for row in &values.rows {
        if row.content.len() != width {
            return Err(
                SqlError::new(format!("the rows of VALUES have {width} and {} columns", row.content.len())).or_at(row.content[0].span())
            );
        }
        for (column, ast) in columns.iter_mut().zip(&row.content) {
            column.push(ExprBinder::plain(&scope, "VALUES").bind(ast)?);
        }
    }
    let mut types = Vec::with_capacity(width);
    for (i, column) in columns.iter_mut().enumerate() {
        let all: Vec<LogicalType> = column.iter().map(|e| e.ty().clone()).collect();
        let ty = build::common_type(&all).ok_or_else(|| {
            SqlError::new(format!("column {} of VALUES has no common type", i + 1)).or_at(values.rows[0].content[i].span())
        })?;
        for item in column.iter_mut() {
            let nullable = item.ty().nullable;
            *item = build::cast(item.clone(), ty.clone().with_nullable(nullable), false).map_err(SqlError::new)?;
        }
        types.push(ty);
    }
    let rows = (0..values.rows.len()).map(|r| columns.iter().map(|c| c[r].clone()).collect()).collect();
    let names = (0..width).map(|i| format!("EXPR${i}")).collect();
    Ok(Plan::values(rows, types, names))
}

fn natural_name(ast: &Ast) -> Option<String> {
    match ast {
        Ast::Identifier(name) => Some(name.value.clone()),
        Ast::CompoundIdentifier(parts) => parts.last().map(|p| p.value.clone()),
        Ast::CompoundFieldAccess { access_chain, .. } => match access_chain.last() {
            Some(sqlparser::ast::AccessExpr::Dot(Ast::Identifier(name))) => Some(name.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn expand_wildcard(scope: &Scope<'_>, qualifier: Option<&str>, at: &SelectItem, items: &mut Vec<Item>) -> SqlResult<()> {
    let before = items.len();
    for (i, c) in scope.columns.iter().enumerate() {
        let wanted = match qualifier {
            None => !c.hidden,
            Some(q) => c.qualifier.as_deref() == Some(q),
        };
        if wanted {
            items.push(Item { expr: Expr::column(i, c.column.ty.clone()), name: c.column.name.clone(), span: at.span() });
        }
    }
    if items.len() == before {
        return Err(match qualifier {
            None => SqlError::at(at, "'*' needs a FROM"),
            Some(q) => SqlError::at(at, format!("no table '{q}' in FROM")),
        });
    }
    Ok(())
}

fn refuse_wildcard_options(at: &SelectItem, options: &sqlparser::ast::WildcardAdditionalOptions) -> SqlResult<()> {
    let plain = options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_ilike.is_none();
    if plain { Ok(()) } else { Err(SqlError::unsupported(at, "'*' with EXCEPT, REPLACE or RENAME")) }
}

fn refuse_query_clauses(query: &Query) -> SqlResult<()> {
    let refused = [
        (!query.locks.is_empty(), "FOR UPDATE or FOR SHARE"),
        (query.for_clause.is_some(), "FOR JSON, XML or BROWSE"),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT"),
        (!query.pipe_operators.is_empty(), "a pipe operator"),
    ];
    match refused.iter().find(|(there, _)| *there) {
        Some((_, what)) => Err(SqlError::unsupported(query, what)),
        None => Ok(()),
    }
}

fn refuse_unknown_clauses(select: &Select) -> SqlResult<()> {
    let refused = [
        (select.top.is_some(), "TOP"),
        (select.into.is_some(), "SELECT INTO"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW"),
        (select.prewhere.is_some(), "PREWHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY"),
        (!select.cluster_by.is_empty(), "CLUSTER BY"),
        (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
        (!select.sort_by.is_empty(), "SORT BY"),
        (select.exclude.is_some(), "EXCLUDE"),
    ];
    match refused.iter().find(|(there, _)| *there) {
        Some((_, what)) => Err(SqlError::unsupported(select, what)),
        None => Ok(()),
    }
}

/// Calls AND, for whoever joins conditions.
pub(super) fn and(at: &impl Spanned, left: Expr, right: Expr) -> SqlResult<Expr> {
    call(at, "AND", vec![left, right])
}
