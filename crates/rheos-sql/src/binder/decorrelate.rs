//! Subqueries that speak of the query around them, made into joins.
//!
//! A correlated subquery means: for each row of the enclosing query, this result. It becomes a plan of its own that has, beside its
//! columns, the values of the enclosing query's columns that it is the result for, and is joined by these (Neumann and Kemper,
//! "Unnesting Arbitrary Queries", 2015). Where the subquery says `own = outer`, its own column is that value; elsewhere the distinct
//! values of the enclosing query are joined in.

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, build};
use rheos_operators::spec::JoinKind;

use super::query::{and_all, distinct};
use super::scope::{AGGREGATE_BASE, OUTER_BASE};
use crate::error::{SqlError, SqlResult};
use crate::optimizer::conjuncts_of;
use crate::plan::{JoinScope, Plan, RankStrategy, Rel};

/// A subquery without references to the enclosing query.
pub(super) struct Decorrelated {
    /// The subquery's columns, then one for each of `outer`.
    pub(super) plan: Plan,
    /// The columns of the enclosing query that it depends on.
    pub(super) outer: Vec<usize>,
    /// Whether NULL of the enclosing query is a value like others: the distinct values were joined in.
    null_safe: bool,
}

impl Decorrelated {
    /// The condition that joins it with the enclosing plan: over the columns of that, then its own.
    pub(super) fn condition(&self, enclosing: &Plan) -> SqlResult<Option<Expr>> {
        let base = enclosing.columns.len() + self.plan.columns.len() - self.outer.len();
        let equal = |(i, outer): (usize, &usize)| {
            let mine = self.plan.column(self.plan.columns.len() - self.outer.len() + i);
            let (left, right) = (enclosing.column(*outer), Expr::column(base + i, mine.ty().clone()));
            let safe = self.null_safe && left.ty().nullable;
            build::call(if safe { "IS NOT DISTINCT FROM" } else { "=" }, vec![left, right]).map_err(SqlError::new)
        };
        and_all(self.outer.iter().enumerate().map(equal).collect::<SqlResult<_>>()?)
    }

    /// How many columns the subquery itself has.
    pub(super) fn width(&self) -> usize {
        self.plan.columns.len() - self.outer.len()
    }
}

/// Frees a subquery of its references to the enclosing plan.
pub(super) fn decorrelate(plan: Plan, enclosing: &Plan) -> SqlResult<Decorrelated> {
    let mut outer = Vec::new();
    visit(&plan, &mut |expr| outer.extend(outer_of(expr)));
    outer.sort_unstable();
    outer.dedup();
    let projections: Vec<Expr> = outer.iter().map(|c| enclosing.column(*c)).collect();
    let names = outer.iter().map(|c| enclosing.columns[*c].name.clone()).collect();
    let domain = distinct(Plan::calc(enclosing.clone(), None, projections, names));
    let mut work = Work { outer: &outer, domain: &domain, null_safe: false };
    let plan = work.free(plan)?;
    let null_safe = work.null_safe;
    Ok(Decorrelated { plan, outer, null_safe })
}

/// Whether a plan speaks of an enclosing query.
pub(crate) fn is_correlated(plan: &Plan) -> bool {
    let mut found = false;
    visit(plan, &mut |expr| found |= outer_of(expr).next().is_some());
    found
}

/// The plan with each reference to the enclosing query's column `i` as one to its column `f(i)`.
pub(super) fn map_outer(plan: Plan, f: &mut impl FnMut(usize) -> SqlResult<usize>) -> SqlResult<Plan> {
    let mut failed = None;
    let mapped = map_exprs(plan, &mut |expr| {
        expr.transform(&mut |e| match e {
            Expr::Column { index, ty } if is_outer(index) => match f(index - OUTER_BASE) {
                Ok(index) => Expr::Column { index: OUTER_BASE + index, ty },
                Err(error) => {
                    failed.get_or_insert(error);
                    Expr::Column { index, ty }
                }
            },
            other => other,
        })
    });
    failed.map_or(Ok(mapped), Err)
}

fn map_exprs(plan: Plan, f: &mut dyn FnMut(Expr) -> Expr) -> Plan {
    let old = plan.columns.clone();
    let mut plan = plan.map_inputs(|input| map_exprs(input, f));
    let names: Vec<String> = old.iter().map(|c| c.name.clone()).collect();
    plan = match plan.rel {
        Rel::Calc { input, condition, projections } => {
            Plan::calc(*input, condition.map(&mut *f), projections.into_iter().map(&mut *f).collect(), names)
        }
        Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
            Plan::join(*left, *right, kind, (left_keys, right_keys), condition.map(&mut *f), scope)
        }
        Rel::Expand { input, projections } => {
            let projections = projections.into_iter().map(|list| list.into_iter().map(&mut *f).collect()).collect();
            Plan::expand(*input, projections, old.clone())
        }
        _ => return plan,
    };
    plan.columns = old;
    plan
}

fn is_outer(index: usize) -> bool {
    (OUTER_BASE..AGGREGATE_BASE).contains(&index)
}

fn outer_of(expr: &Expr) -> impl Iterator<Item = usize> {
    expr.columns().into_iter().filter(|c| is_outer(*c)).map(|c| c - OUTER_BASE)
}

/// Calls `f` with all expressions of a plan that may speak of an enclosing query.
fn visit(plan: &Plan, f: &mut dyn FnMut(&Expr)) {
    own_exprs(plan).into_iter().for_each(&mut *f);
    plan.inputs().into_iter().for_each(|input| visit(input, f));
}

fn own_exprs(plan: &Plan) -> Vec<&Expr> {
    match &plan.rel {
        Rel::Calc { condition, projections, .. } => projections.iter().chain(condition).collect(),
        Rel::Expand { projections, .. } => projections.iter().flatten().collect(),
        Rel::Join { condition, .. } => condition.iter().collect(),
        Rel::Values { rows } => rows.iter().flatten().collect(),
        _ => vec![],
    }
}

struct Work<'a> {
    outer: &'a [usize],
    /// The distinct values of the enclosing query's columns.
    domain: &'a Plan,
    null_safe: bool,
}

impl Work<'_> {
    /// The plan for all values of the domain, these being its last columns.
    fn free(&mut self, plan: Plan) -> SqlResult<Plan> {
        let extra = self.outer.len();
        let old = plan.clone();
        let base = old.columns.len();
        if !is_correlated(&plan) {
            return Ok(self.crossed(plan));
        }
        let freed = match plan.rel {
            Rel::Calc { input, condition, projections } => return self.free_calc(&old, *input, condition, projections),
            Rel::Aggregate { input, mut keys, calls } => {
                let input = self.free(*input)?;
                let own = keys.len();
                keys.extend(input.columns.len() - extra..input.columns.len());
                let names = old.columns[own..].iter().map(|c| c.name.clone()).collect();
                let plan = Plan::aggregate(input, keys, calls, names).with_state_ttl(old.state_ttl_ms);
                moved_last(plan, own, extra)
            }
            Rel::WindowAggregate { input, windowing, window, mut keys, calls, properties, time_ty } => {
                let input = self.free(*input)?;
                let own = keys.len();
                keys.extend(input.columns.len() - extra..input.columns.len());
                let names = old.columns[own..own + calls.len()].iter().map(|c| c.name.clone()).collect();
                let plan = Plan::window_aggregate(input, windowing, window, keys, calls, names, properties, time_ty);
                moved_last(plan, own, extra)
            }
            Rel::Rank { input, mut partition, order, start, end, rank_column, strategy } => {
                let input = self.free(*input)?;
                let at = input.columns.len() - extra;
                partition.extend(at..at + extra);
                let name = rank_column.then(|| old.columns[base - 1].name.clone());
                moved_last(Plan::rank(input, partition, order, (start, end), name, strategy), at, extra)
            }
            Rel::Limit { input, offset, fetch } => {
                let input = self.free(*input)?;
                let at = input.columns.len() - extra;
                let end = fetch.map_or(u64::MAX, |n| offset.saturating_add(n));
                Plan::rank(input, (at..at + extra).collect(), vec![], (offset.saturating_add(1), end), None, RankStrategy::Updating)
            }
            Rel::Over { input, mut partition, order, calls, .. } => {
                let input = self.free(*input)?;
                let at = input.columns.len() - extra;
                partition.extend(at..at + extra);
                let names = old.columns[at..].iter().map(|c| c.name.clone()).collect();
                moved_last(Plan::over(input, partition, order, calls, names), at, extra)
            }
            Rel::Unnest { input, unnesting } => {
                let at = input.columns.len();
                let input = self.free(*input)?;
                moved_last(Plan::unnest(input, unnesting, old.columns[at..].to_vec()), at, extra)
            }
            Rel::WindowTable { input, time, window, mut keys } => {
                let input = self.free(*input)?;
                let at = input.columns.len() - extra;
                if !keys.is_empty() {
                    keys.extend(at..at + extra);
                }
                moved_last(Plan::window_table(input, time, window, keys), at, extra)
            }
            Rel::Union { inputs } => Plan::union(inputs.into_iter().map(|i| self.free(i)).collect::<SqlResult<_>>()?),
            Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
                if condition.as_ref().is_some_and(|c| outer_of(c).next().is_some()) {
                    // The condition of an inner join can be asked afterwards.
                    if kind != JoinKind::Inner {
                        return Err(SqlError::new(
                            "a column of the enclosing query in the ON of an outer join of a subquery is not supported",
                        ));
                    }
                    let joined = Plan::join(*left, *right, kind, (left_keys, right_keys), None, scope);
                    let mut filtered = condition.map_or(joined.clone(), |c| Plan::filter(joined, c));
                    filtered.columns.clone_from(&old.columns);
                    return self.free(filtered);
                }
                self.free_join(*left, *right, kind, (left_keys, right_keys), condition, scope)?
            }
            _ => return Err(SqlError::new("a column of the enclosing query in this part of a subquery is not supported")),
        };
        Ok(freed)
    }

    /// A plan that does not depend on the domain, for each value of it.
    fn crossed(&mut self, plan: Plan) -> Plan {
        self.null_safe = true;
        Plan::join(plan, self.domain.clone(), JoinKind::Inner, (vec![], vec![]), None, JoinScope::Unbounded)
    }

    fn free_calc(&mut self, old: &Plan, input: Plan, condition: Option<Expr>, projections: Vec<Expr>) -> SqlResult<Plan> {
        let mut conjuncts = conjuncts_of(condition);
        let (input, values) = if is_correlated(&input) {
            let input = self.free(input)?;
            let at = input.columns.len() - self.outer.len();
            let values = (0..self.outer.len()).map(|i| input.column(at + i)).collect();
            (input, values)
        } else if let Some(values) = self.values_by_equality(&mut conjuncts, &projections) {
            (input, values)
        } else {
            let at = input.columns.len();
            let input = self.crossed(input);
            let values = (0..self.outer.len()).map(|i| input.column(at + i)).collect();
            (input, values)
        };
        let value_of = |expr: Expr| {
            expr.transform(&mut |e| match e {
                Expr::Column { index, .. } if is_outer(index) => {
                    values[self.outer.iter().position(|o| *o == index - OUTER_BASE).unwrap_or(0)].clone()
                }
                other => other,
            })
        };
        let condition = and_all(conjuncts.into_iter().map(value_of).collect())?;
        let names = old.names().into_iter().chain(self.domain.names()).collect();
        let projections = projections.into_iter().map(value_of).chain(values.iter().cloned()).collect();
        Ok(Plan::calc(input, condition, projections, names))
    }

    /// For each column of the enclosing query an expression that the conditions make equal to it; these conditions are taken out.
    /// `None` where there is not one for each.
    fn values_by_equality(&self, conjuncts: &mut Vec<Expr>, projections: &[Expr]) -> Option<Vec<Expr>> {
        let mut values: Vec<Option<Expr>> = vec![None; self.outer.len()];
        let mut kept = Vec::new();
        for conjunct in conjuncts.iter() {
            match self.equality(conjunct).filter(|(at, _)| values[*at].is_none()) {
                Some((at, own)) => values[at] = Some(own),
                None => kept.push(conjunct.clone()),
            }
        }
        let values: Vec<Expr> = values.into_iter().collect::<Option<_>>()?;
        // What stands for a column elsewhere must be of its type.
        let used = |at: usize| kept.iter().chain(projections).any(|e| outer_of(e).any(|o| o == self.outer[at]));
        let fits = |at: usize| values[at].ty().kind == self.domain.columns[at].ty.kind;
        if (0..values.len()).any(|at| used(at) && !fits(at)) {
            return None;
        }
        // What was equal to something is not NULL, which may be a value of the enclosing query's column.
        let present = values.iter().filter(|own| own.ty().nullable).map(|own| build::call("IS NOT NULL", vec![own.clone()]).ok());
        kept.extend(present.collect::<Option<Vec<_>>>()?);
        *conjuncts = kept;
        Some(values)
    }

    /// `own = outer`: which of the columns, and what it is equal to.
    fn equality(&self, conjunct: &Expr) -> Option<(usize, Expr)> {
        let Expr::Call { function, args, .. } = conjunct else { return None };
        let ("=", [a, b]) = (function.as_str(), args.as_slice()) else { return None };
        let column = |e: &Expr| match e.without_casts() {
            Expr::Column { index, .. } if is_outer(*index) => self.outer.iter().position(|o| *o == index - OUTER_BASE),
            _ => None,
        };
        let own = |e: &Expr| outer_of(e).next().is_none() && !e.ty().kind.is_nested() && e.ty().kind != TypeKind::Null;
        match (column(a), column(b)) {
            (Some(at), None) if own(b) => Some((at, uncast_widened(b, a))),
            (None, Some(at)) if own(a) => Some((at, uncast_widened(a, b))),
            _ => None,
        }
    }

    fn free_join(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinKind,
        (mut left_keys, mut right_keys): (Vec<usize>, Vec<usize>),
        condition: Option<Expr>,
        scope: JoinScope,
    ) -> SqlResult<Plan> {
        let extra = self.outer.len();
        let (l, r) = (left.columns.len(), right.columns.len());
        let one_sided = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let right_depends = is_correlated(&right);
        // An outer join keeps rows of its side for every value.
        let left_needed = is_correlated(&left) || kind != JoinKind::Inner;
        let right_needed = right_depends || matches!(kind, JoinKind::Right | JoinKind::Full);
        let left = if left_needed { self.free(left)? } else { left };
        let right = if right_needed { self.free(right)? } else { right };
        // The same value on both sides; one that is NULL is no key.
        let mut same = Vec::new();
        for i in (0..extra).filter(|_| left_needed && right_needed) {
            if self.null_safe && self.domain.columns[i].ty.nullable {
                let both = vec![left.column(l + i), Expr::column(l + extra + r + i, right.columns[r + i].ty.clone())];
                same.push(build::call("IS NOT DISTINCT FROM", both).map_err(SqlError::new)?);
            } else {
                left_keys.push(l + i);
                right_keys.push(r + i);
            }
        }
        let shift = if left_needed { extra } else { 0 };
        let condition = condition.map(|c| {
            c.transform(&mut |e| match e {
                Expr::Column { index, ty } if index >= l => Expr::Column { index: index + shift, ty },
                other => other,
            })
        });
        let condition = and_all(condition.into_iter().chain(same).collect())?;
        let joined = Plan::join(left, right, kind, (left_keys, right_keys), condition, scope);
        let right_at = l + shift;
        let own = (0..l).chain((0..if one_sided { 0 } else { r }).map(|i| right_at + i));
        let names = own.clone().map(|c| joined.columns[c].name.clone()).chain(self.domain.names()).collect();
        let mut projections: Vec<Expr> = own.map(|c| joined.column(c)).collect();
        for i in 0..extra {
            let of_left = || joined.column(l + i);
            let of_right = || joined.column(right_at + r + i);
            projections.push(match kind {
                // A padded row has its value on the other side.
                JoinKind::Full => {
                    let is_there = build::call("IS NOT NULL", vec![of_left()]).map_err(SqlError::new)?;
                    build::case(vec![(is_there, of_left())], Some(of_right())).map_err(SqlError::new)?
                }
                JoinKind::Right => of_right(),
                _ if left_needed => of_left(),
                _ => of_right(),
            });
        }
        Ok(Plan::calc(joined, None, projections, names))
    }
}

/// The columns `at .. at + count` put behind all others.
fn moved_last(plan: Plan, at: usize, count: usize) -> Plan {
    let all: Vec<usize> = (0..at).chain(at + count..plan.columns.len()).chain(at..at + count).collect();
    Plan::project(plan, &all)
}

/// The own side of an equality: without the cast that only brings it to the type of the other side.
fn uncast_widened(own: &Expr, other: &Expr) -> Expr {
    match (own, other) {
        (Expr::Cast { arg, .. }, Expr::Column { ty, .. }) if arg.ty().kind == ty.kind => (**arg).clone(),
        _ => own.clone(),
    }
}
