//! FROM: tables, views, subqueries, window table functions, joins.

use sqlparser::ast::{
    Expr as Ast, Function, FunctionArgumentList, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Spanned,
    TableAlias, TableFactor, TableVersion, TableWithJoins,
};

use rheos_expr::{Expr, Literal};
use rheos_operators::spec::JoinKind;

use super::Binder;
use super::decorrelate::is_correlated;
use super::expr::{ExprBinder, call};
use super::lateral;
use super::metadata::check_readable;
use super::pattern::MatchSyntax;
use super::query::{and, and_all};
use super::scope::Scope;
use super::table::check_hinted;
use crate::catalog::{Relation, Table, hinted, simple_name};
use crate::error::{SqlError, SqlResult};
use crate::optimizer;
use crate::plan::{Column, JoinScope, Plan, TimeAttribute};
use std::sync::Arc;

impl Binder<'_> {
    /// The plan and the names of FROM; without FROM it is one row of no columns.
    pub(super) fn bind_from<'p>(&mut self, from: &[TableWithJoins], outer: Option<&'p Scope<'p>>) -> SqlResult<(Plan, Scope<'p>)> {
        let mut all: Option<(Plan, Scope<'p>)> = None;
        let nothing = || (Plan::values(vec![vec![]], vec![], vec![]), Scope::default());
        for item in from {
            let mut left = None;
            let mut one = if lateral::is_lateral(&item.relation) {
                let mut before = all.take().unwrap_or_else(nothing);
                before.1.outer = outer;
                self.bind_lateral(before, &item.relation, JoinKind::Inner, &JoinConstraint::None)?
            } else {
                left = all.take();
                self.bind_table_factor(&item.relation, outer)?
            };
            for join in &item.joins {
                one = self.bind_join(one, join, outer)?;
            }
            all = Some(match left {
                None => one,
                Some((plan, scope)) => {
                    (Plan::join(plan, one.0, JoinKind::Inner, (vec![], vec![]), None, JoinScope::Unbounded), scope.join(one.1))
                }
            });
        }
        Ok(all.unwrap_or_else(nothing))
    }

    pub(super) fn bind_table_factor<'p>(&mut self, factor: &TableFactor, outer: Option<&'p Scope<'p>>) -> SqlResult<(Plan, Scope<'p>)> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), version: None, sample: None, .. } => {
                // A window function called without TABLE( ).
                let list = FunctionArgumentList { duplicate_treatment: None, args: args.args.clone(), clauses: vec![] };
                let plan = self.bind_table_function(factor, name, &list)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::Table { name, alias, version, sample, with_hints, partitions, with_ordinality, args, .. } => {
                if version.is_some() {
                    let error = SqlError::unsupported(factor, "FOR SYSTEM_TIME AS OF other than on the right side of a join");
                    return Err(error.hint(Some("SELECT ... FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON ...".into())));
                }
                if sample.is_some() || args.is_some() || !with_hints.is_empty() || !partitions.is_empty() || *with_ordinality {
                    return Err(SqlError::unsupported(factor, "this clause after a table's name"));
                }
                let plan = self.bind_relation(name)?;
                aliased(plan, alias.as_ref(), Some(simple_name(&hinted(name)?.0)?))
            }
            TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
                let plan = self.bind_query(subquery, outer)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::Derived { .. } => Err(SqlError::unsupported(factor, "this form of LATERAL")),
            TableFactor::TableFunction { expr: Ast::Function(Function { name, args: FunctionArguments::List(list), .. }), alias } => {
                let plan = self.bind_table_function(factor, name, list)?;
                aliased(plan, alias.as_ref(), None)
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.bind_from(std::slice::from_ref(table_with_joins), outer),
            TableFactor::MatchRecognize {
                table,
                partition_by,
                order_by,
                measures,
                rows_per_match,
                after_match_skip,
                pattern,
                symbols,
                alias,
            } => {
                let syntax = MatchSyntax {
                    at: factor,
                    table,
                    partition_by,
                    order_by,
                    measures,
                    rows_per_match: rows_per_match.as_ref(),
                    after: after_match_skip.as_ref(),
                    pattern,
                    symbols,
                };
                let plan = self.bind_match(&syntax, outer)?;
                aliased(plan, alias.as_ref(), None)
            }
            other => Err(SqlError::unsupported(other, "this kind of table in FROM")),
        }
    }

    /// A WITH query, a table or a view by name.
    pub(super) fn bind_relation(&mut self, name: &ObjectName) -> SqlResult<Plan> {
        let (name, options) = hinted(name)?;
        let name = &name;
        if !options.is_empty() {
            let table = self.catalog.table(name)?.with_options(options);
            check_hinted(self.registry, name, &table)?;
            return self.bind_table(name, &Arc::new(table));
        }
        if let [only] = name.0.as_slice()
            && let Some(ident) = only.as_ident()
            && let Some(cte) = self.ctes.iter().rev().find_map(|scope| scope.get(&ident.value))
        {
            if cte.nesting != self.nesting && is_correlated(&cte.plan) {
                let message =
                    format!("the WITH query '{}', which names columns of an enclosing query, in a query within its own", ident.value);
                return Err(SqlError::unsupported(name, message));
            }
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
        check_readable(name, table, source.as_ref())?;
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
        if lateral::is_lateral(&join.relation) {
            let mut left = left;
            left.1.outer = outer;
            return self.bind_lateral(left, &join.relation, kind, constraint);
        }
        let (left, left_scope) = left;
        let mut filtered = false;
        let (right, right_scope, join_scope) = match versioned(&join.relation) {
            Some((relation, time)) => {
                let (mut right, right_scope) = self.bind_table_factor(&relation, outer)?;
                if is_correlated(&right) {
                    return Err(SqlError::unsupported(&join.relation, "FOR SYSTEM_TIME AS OF on what names columns of an enclosing query"));
                }
                if !matches!(kind, JoinKind::Inner | JoinKind::Left) {
                    return Err(SqlError::unsupported(&join.relation, "FOR SYSTEM_TIME AS OF in a RIGHT or FULL join"));
                }
                match as_of(&left, &left_scope, time)? {
                    (_, TimeAttribute::Processing) => (right, right_scope, JoinScope::Lookup),
                    (left_time, TimeAttribute::Event) => {
                        if right.unique_keys.iter().all(Vec::is_empty) || !right.columns.iter().any(Column::is_row_time) {
                            right = optimizer::recognise(right, self.registry)?;
                        }
                        let join_scope = JoinScope::Temporal { left_time, right_time: version_time(&join.relation, &right)? };
                        let unfiltered = optimizer::unfiltered(right);
                        filtered = unfiltered.1;
                        (unfiltered.0, right_scope, join_scope)
                    }
                }
            }
            None => {
                let (right, right_scope) = self.bind_table_factor(&join.relation, outer)?;
                (right, right_scope, JoinScope::Unbounded)
            }
        };
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
            JoinConstraint::Natural => {
                if matches!(kind, JoinKind::Right | JoinKind::Full) {
                    return Err(SqlError::unsupported(&join.relation, "NATURAL in a RIGHT or FULL join"));
                }
                let visible = |i: &usize| !scope.columns[*i].hidden;
                let mut pairs = Vec::new();
                for r in (split..scope.columns.len()).filter(visible) {
                    let same = (0..split).filter(visible).find(|l| scope.columns[*l].column.name == scope.columns[r].column.name);
                    pairs.extend(same.map(|l| (l, r)));
                }
                let mut all: Option<Expr> = None;
                for (l, r) in pairs {
                    let of = |i: usize| Expr::column(i, scope.columns[i].column.ty.clone());
                    let equal = call(&join.relation, "=", vec![of(l), of(r)])?;
                    all = Some(match all {
                        None => equal,
                        Some(a) => and(&join.relation, a, equal)?,
                    });
                    scope.columns[r].hidden = true;
                }
                all
            }
        };
        let condition = condition.filter(|c| !matches!(c, Expr::Literal { value: Literal::Bool(true), .. }));
        let shown = scope.columns.len();
        // A version that is filtered out ends the one before it, though nobody is joined with it.
        let condition = match filtered.then(|| right.column(right.columns.len() - 1)) {
            None => condition,
            Some(valid) => and_all(condition.into_iter().chain([Expr::column(shown, valid.ty().clone())]).collect())?,
        };
        let ttl_ms = [self.state_ttl(&scope.columns[..split]), self.state_ttl(&scope.columns[split..])];
        let mut plan = Plan::join(left, right, kind, (vec![], vec![]), condition, join_scope).with_state_ttl(ttl_ms);
        if filtered {
            plan = Plan::project(plan, &(0..shown).collect::<Vec<_>>());
        }
        for (column, known) in scope.columns.iter_mut().zip(&plan.columns) {
            column.column = known.clone();
        }
        Ok((plan, scope))
    }
}

/// A relation with FOR SYSTEM_TIME AS OF: without that, and the time.
fn versioned(factor: &TableFactor) -> Option<(TableFactor, &Ast)> {
    let TableFactor::Table { version: Some(TableVersion::ForSystemTimeAsOf(time)), .. } = factor else { return None };
    let mut plain = factor.clone();
    if let TableFactor::Table { version, .. } = &mut plain {
        *version = None;
    }
    Some((plain, time))
}

/// The time of FOR SYSTEM_TIME AS OF: a column of the left side, and of which time it is.
fn as_of(left: &Plan, left_scope: &Scope<'_>, time: &Ast) -> SqlResult<(usize, TimeAttribute)> {
    let bound = ExprBinder::plain(left_scope, "FOR SYSTEM_TIME AS OF").bind(time)?;
    let attribute = match bound {
        Expr::Column { index, .. } => left.columns.get(index).and_then(|c| c.time).map(|of| (index, of)),
        _ => None,
    };
    attribute.ok_or_else(|| {
        let error = SqlError::at(time, "FOR SYSTEM_TIME AS OF takes a time attribute of the left side");
        let hint = "a TIMESTAMP column with a WATERMARK in CREATE TABLE is one, for versions by event time; a column AS PROCTIME() is one, for the table as it is now";
        error.hint(Some(hint.into()))
    })
}

/// The column from whose time on a row of the right side is valid.
fn version_time(at: &TableFactor, right: &Plan) -> SqlResult<usize> {
    if right.unique_keys.iter().all(Vec::is_empty) {
        let error =
            SqlError::at(at, "the right side of FOR SYSTEM_TIME AS OF has no primary key: nothing says what its rows are versions of");
        return Err(error.hint(Some(
            "declare PRIMARY KEY (...) NOT ENFORCED, or keep the last row of a key by ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1".into(),
        )));
    }
    right.columns.iter().position(Column::is_row_time).ok_or_else(|| {
        let error =
            SqlError::at(at, "the right side of FOR SYSTEM_TIME AS OF has no row time: nothing says from when on its rows are valid");
        error.hint(Some("declare a WATERMARK for the column that says so".into()))
    })
}

/// A relation under its alias, or under its own name.
pub(super) fn aliased<'p>(plan: Plan, alias: Option<&TableAlias>, name: Option<String>) -> SqlResult<(Plan, Scope<'p>)> {
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
