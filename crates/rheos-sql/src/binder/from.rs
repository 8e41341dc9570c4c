//! FROM: tables, views, subqueries, window table functions, joins.

use sqlparser::ast::{
    Expr as Ast, Function, FunctionArgumentList, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Spanned,
    TableAlias, TableFactor, TableWithJoins,
};

use rheos_expr::{Expr, Literal};
use rheos_operators::spec::JoinKind;

use super::Binder;
use super::expr::{ExprBinder, call};
use super::query::and;
use super::scope::Scope;
use crate::catalog::{Relation, Table, simple_name};
use crate::error::{SqlError, SqlResult};
use crate::plan::Plan;
use std::sync::Arc;

impl Binder<'_> {
    /// The plan and the names of FROM; without FROM it is one row of no columns.
    pub(super) fn bind_from<'p>(&mut self, from: &[TableWithJoins], outer: Option<&'p Scope<'p>>) -> SqlResult<(Plan, Scope<'p>)> {
        let mut all: Option<(Plan, Scope<'p>)> = None;
        for item in from {
            let mut one = self.bind_table_factor(&item.relation, outer)?;
            for join in &item.joins {
                one = self.bind_join(one, join, outer)?;
            }
            all = Some(match all {
                None => one,
                Some((plan, scope)) => (Plan::join(plan, one.0, JoinKind::Inner, (vec![], vec![]), None, None), scope.join(one.1)),
            });
        }
        Ok(all.unwrap_or_else(|| (Plan::values(vec![vec![]], vec![], vec![]), Scope::default())))
    }

    fn bind_table_factor<'p>(&mut self, factor: &TableFactor, outer: Option<&'p Scope<'p>>) -> SqlResult<(Plan, Scope<'p>)> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), version: None, sample: None, .. } => {
                // A window function called without TABLE( ).
                let list = FunctionArgumentList { duplicate_treatment: None, args: args.args.clone(), clauses: vec![] };
                let plan = self.bind_table_function(factor, name, &list)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::Table { name, alias, version, sample, with_hints, partitions, with_ordinality, args, .. } => {
                if version.is_some() {
                    return Err(SqlError::unsupported(factor, "FOR SYSTEM_TIME AS OF (temporal and lookup joins)"));
                }
                if sample.is_some() || args.is_some() || !with_hints.is_empty() || !partitions.is_empty() || *with_ordinality {
                    return Err(SqlError::unsupported(factor, "this clause after a table's name"));
                }
                let plan = self.bind_relation(name)?;
                aliased(plan, alias.as_ref(), Some(simple_name(name)?))
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                let plan = self.bind_query(subquery, None)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::Derived { .. } => Err(SqlError::unsupported(factor, "LATERAL")),
            TableFactor::TableFunction { expr: Ast::Function(Function { name, args: FunctionArguments::List(list), .. }), alias } => {
                let plan = self.bind_table_function(factor, name, list)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.bind_from(std::slice::from_ref(table_with_joins), outer),
            TableFactor::MatchRecognize { .. } => Err(SqlError::unsupported(factor, "MATCH_RECOGNIZE")),
            TableFactor::UNNEST { .. } => Err(SqlError::unsupported(factor, "UNNEST")),
            other => Err(SqlError::unsupported(other, "this kind of table in FROM")),
        }
    }

    /// A WITH query, a table or a view by name.
    pub(super) fn bind_relation(&mut self, name: &ObjectName) -> SqlResult<Plan> {
        if let [only] = name.0.as_slice()
            && let Some(ident) = only.as_ident()
            && let Some(cte) = self.ctes.iter().rev().find_map(|scope| scope.get(&ident.value))
        {
            return Ok(cte.plan.clone());
        }
        match self.catalog.get(name)? {
            Relation::Table(table) => self.bind_table(name, table),
            Relation::View(view) => {
                // A view sees the session's names only, not those around its use.
                let ctes = std::mem::take(&mut self.ctes);
                let plan = self.bind_query(&view.query, None).map_err(|e| {
                    let mut e = SqlError::at(name, format!("in view '{name}': {}", e.message)).hint(e.hint);
                    e.place = name.span().start.into();
                    e
                });
                self.ctes = ctes;
                Self::rename(plan?, &view.columns, &format!("view '{name}'"))
            }
        }
    }

    fn bind_table(&self, name: &ObjectName, table: &Arc<Table>) -> SqlResult<Plan> {
        let connector = self.registry.connector(&table.spec.connector);
        let source = connector.and_then(|c| c.source.as_ref());
        let source = source
            .ok_or_else(|| SqlError::at(name, format!("'{name}' cannot be read: the connector '{}' only writes", table.spec.connector)))?;
        let description = source.describe(&table.spec).map_err(|e| SqlError::at(name, e.to_string()))?;
        let scan = Plan::scan(table, description.changelog, description.bounded);
        let plan = Plan::calc(scan, None, table.exprs.clone(), table.columns.fields.iter().map(|f| f.name.clone()).collect());
        Ok(plan.with_row_time(table.watermark.as_ref().map(|(column, _)| *column)))
    }

    fn bind_join<'p>(&mut self, left: (Plan, Scope<'p>), join: &Join, outer: Option<&'p Scope<'p>>) -> SqlResult<(Plan, Scope<'p>)> {
        if join.global {
            return Err(SqlError::unsupported(&join.relation, "GLOBAL JOIN"));
        }
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(c) | JoinOperator::Inner(c) => (JoinKind::Inner, c),
            JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (JoinKind::Left, c),
            JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (JoinKind::Right, c),
            JoinOperator::FullOuter(c) => (JoinKind::Full, c),
            JoinOperator::CrossJoin(c) => (JoinKind::Inner, c),
            other => {
                return Err(SqlError::unsupported(&join.relation, format!("the join {other:?}").split('(').next().unwrap_or("this join")));
            }
        };
        let (right, right_scope) = self.bind_table_factor(&join.relation, outer)?;
        let (left, left_scope) = left;
        let split = left.columns.len();
        let mut scope = left_scope.join(right_scope);
        let condition = match constraint {
            JoinConstraint::None => None,
            JoinConstraint::On(ast) => Some(ExprBinder::plain(&scope, "ON").condition(ast)?),
            JoinConstraint::Using(names) => {
                if matches!(kind, JoinKind::Right | JoinKind::Full) {
                    return Err(SqlError::unsupported(&join.relation, "USING in a RIGHT or FULL join"));
                }
                let mut all: Option<Expr> = None;
                for name in names {
                    let column = simple_name(name)?;
                    let find = |range: std::ops::Range<usize>| {
                        let found = range.clone().find(|i| scope.columns[*i].column.name == column && !scope.columns[*i].hidden);
                        found.ok_or_else(|| SqlError::at(name, format!("USING names '{column}', which is not a column of both sides")))
                    };
                    let (l, r) = (find(0..split)?, find(split..scope.columns.len())?);
                    let of = |i: usize| Expr::column(i, scope.columns[i].column.ty.clone());
                    let equal = call(name, "=", vec![of(l), of(r)])?;
                    all = Some(match all {
                        None => equal,
                        Some(a) => and(name, a, equal)?,
                    });
                    scope.columns[r].hidden = true;
                }
                all
            }
            JoinConstraint::Natural => return Err(SqlError::unsupported(&join.relation, "NATURAL JOIN")),
        };
        let condition = condition.filter(|c| !matches!(c, Expr::Literal { value: Literal::Bool(true), .. }));
        let plan = Plan::join(left, right, kind, (vec![], vec![]), condition, None);
        for (column, known) in scope.columns.iter_mut().zip(&plan.columns) {
            column.column = known.clone();
        }
        Ok((plan, scope))
    }
}

/// A relation under its alias, or under its own name.
fn aliased<'p>(plan: Plan, alias: Option<&TableAlias>, name: Option<String>) -> SqlResult<(Plan, Scope<'p>)> {
    let (plan, qualifier) = match alias {
        None => (plan, name),
        Some(alias) => {
            if let Some(typed) = alias.columns.iter().find(|c| c.data_type.is_some()) {
                return Err(SqlError::new("an alias names columns without types").or_at(typed.name.span));
            }
            let columns: Vec<Ident> = alias.columns.iter().map(|c| c.name.clone()).collect();
            (Binder::rename(plan, &columns, &format!("the alias '{}'", alias.name.value))?, Some(alias.name.value.clone()))
        }
    };
    let scope = Scope::of(&plan, qualifier);
    Ok((plan, scope))
}
