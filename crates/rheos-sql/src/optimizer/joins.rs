//! Draws equal keys out of join conditions, and recognises joins of the same window.

use rheos_core::types::LogicalType;
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::JoinKind;

use super::{conjuncts_of, intervals, remap, renamed};
use crate::binder::and_all;
use crate::error::{SqlError, SqlResult};
use crate::plan::{JoinScope, Plan, Rel};

/// Rewrites every join of the plan.
pub(super) fn extract_keys(plan: Plan) -> SqlResult<Plan> {
    let mut failed = None;
    let plan = plan.map_inputs(|p| {
        extract_keys(p.clone()).unwrap_or_else(|e| {
            failed.get_or_insert(e);
            p
        })
    });
    if let Some(e) = failed {
        return Err(e);
    }
    let old = plan.clone();
    let Rel::Join { left, right, kind, mut left_keys, mut right_keys, condition, scope } = plan.rel else { return Ok(plan) };
    let split = left.columns.len();
    let mut residual = Vec::new();
    // Versions are told apart by their key and nothing else: what else must be equal is a condition on the version that is found.
    let version_key = matches!(scope, JoinScope::Temporal { .. }).then(|| version_key(&right, condition.as_ref(), split)).flatten();
    let mut left_side = Side::of(*left);
    let mut right_side = Side::of(*right);
    for conjunct in conjuncts_of(condition) {
        let of_key = |(_, r): &(Expr, Expr)| version_key.as_ref().is_none_or(|key| column_of(r).is_some_and(|c| key.contains(&c)));
        match equal_sides(&conjunct, split)?.filter(of_key) {
            Some((l, r)) => {
                left_keys.push(left_side.column_of(l));
                right_keys.push(right_side.column_of(r));
            }
            None => residual.push(conjunct),
        }
    }
    let never = |e: &Expr| matches!(e, Expr::Literal { value: Literal::Bool(false), .. });
    if kind == JoinKind::Left && residual.iter().any(never) {
        // Nothing matches: every left row is padded, and stays so.
        let mut projections = left_side.plan.all_columns();
        projections.extend(old.columns[split..].iter().map(|c| build::typed_null(c.ty.kind.clone())));
        return Ok(renamed(&old, Plan::calc(left_side.plan, None, projections, old.names())));
    }
    let added = left_side.projections.len() - split;
    let left = left_side.finish();
    let right = right_side.finish();
    // The left side may have grown: the right side's columns move.
    let shift = |i: usize| if i < split { i } else { i + added };
    let mut residual: Vec<Expr> = residual.into_iter().map(|c| remap(c, &shift)).collect();
    let keys = (left_keys.clone(), right_keys.clone());
    let scope = match scope {
        JoinScope::Unbounded => same_window(&left, &right, &mut left_keys, &mut right_keys)
            .map(|(left_end, right_end)| JoinScope::Windows { left_end, right_end })
            .or_else(|| intervals::recognise(&left, &right, &keys, &mut residual).map(JoinScope::Interval))
            .unwrap_or(JoinScope::Unbounded),
        known => known,
    };
    let residual = and_all(residual)?;
    let right_width = old.columns.len().saturating_sub(split);
    let joined = Plan::join(left, right, kind, (left_keys, right_keys), residual, scope).with_state_ttl(old.state_ttl_ms);
    let wanted: Vec<Expr> = (0..split).chain(split + added..split + added + right_width).map(|i| joined.column(i)).collect();
    let names = old.names();
    Ok(renamed(&old, Plan::calc(joined, None, wanted, names)))
}

/// The key of a relation of versions that the conditions compare with the other side.
fn version_key(right: &Plan, condition: Option<&Expr>, split: usize) -> Option<Vec<usize>> {
    let equal: Vec<usize> = conjuncts_of(condition.cloned())
        .iter()
        .filter_map(|c| equal_sides(c, split).ok().flatten())
        .filter_map(|(_, right)| column_of(&right))
        .collect();
    right.unique_keys.iter().find(|key| !key.is_empty() && key.iter().all(|c| equal.contains(c))).cloned()
}

fn column_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column { index, .. } => Some(*index),
        _ => None,
    }
}

/// One input, to which columns for computed keys can be added.
struct Side {
    plan: Plan,
    projections: Vec<Expr>,
}

impl Side {
    fn of(plan: Plan) -> Self {
        let projections = plan.all_columns();
        Side { plan, projections }
    }

    fn column_of(&mut self, expr: Expr) -> usize {
        self.projections.iter().position(|p| *p == expr).unwrap_or_else(|| {
            self.projections.push(expr);
            self.projections.len() - 1
        })
    }

    fn finish(self) -> Plan {
        let before = self.plan.columns.len();
        if self.projections.len() == before {
            return self.plan;
        }
        let names = self.plan.names().into_iter().chain((before..self.projections.len()).map(|i| format!("$key{i}"))).collect();
        Plan::calc(self.plan, None, self.projections, names)
    }
}

/// The two sides of `left expression = right expression`, of one type, each over its own input.
fn equal_sides(conjunct: &Expr, split: usize) -> SqlResult<Option<(Expr, Expr)>> {
    let Expr::Call { function, args, .. } = conjunct else { return Ok(None) };
    let ("=", [a, b]) = (function.as_str(), args.as_slice()) else { return Ok(None) };
    let left = |e: &Expr| !e.columns().is_empty() && e.columns().iter().all(|i| *i < split);
    let right = |e: &Expr| !e.columns().is_empty() && e.columns().iter().all(|i| *i >= split);
    let (l, r) = if left(a) && right(b) {
        (a, b)
    } else if left(b) && right(a) {
        (b, a)
    } else {
        return Ok(None);
    };
    let (mut l, mut r) = (l.clone(), remap(r.clone(), &|i| i - split));
    if l.ty().to_arrow() != r.ty().to_arrow() {
        let Some(common) = build::common_type(&[l.ty().clone(), r.ty().clone()]) else { return Ok(None) };
        let cast = |e: Expr, ty: &LogicalType| {
            let nullable = e.ty().nullable;
            build::cast(e, ty.clone().with_nullable(nullable), false).map_err(SqlError::new)
        };
        (l, r) = (cast(l, &common)?, cast(r, &common)?);
    }
    // Types that have no key form stay conditions.
    Ok((!l.ty().kind.is_nested()).then_some((l, r)))
}

/// Whether both sides carry windows and both ends of them are keys; those are taken out of the keys.
fn same_window(left: &Plan, right: &Plan, left_keys: &mut Vec<usize>, right_keys: &mut Vec<usize>) -> Option<(usize, usize)> {
    let (l, r) = (left.window?, right.window?);
    let (ls, le, rs, re) = (l.start?, l.end?, r.start?, r.end?);
    if !left.changelog.is_insert_only() || !right.changelog.is_insert_only() {
        return None;
    }
    let pairs: Vec<(usize, usize)> = left_keys.iter().copied().zip(right_keys.iter().copied()).collect();
    if !pairs.contains(&(ls, rs)) || !pairs.contains(&(le, re)) {
        return None;
    }
    // The end tells a window from others of the same kind; else the starts must be compared too.
    let end_is_enough = l.window == r.window && l.end_is_enough();
    let rest: Vec<(usize, usize)> = pairs.into_iter().filter(|p| *p != (le, re) && (*p != (ls, rs) || !end_is_enough)).collect();
    *left_keys = rest.iter().map(|p| p.0).collect();
    *right_keys = rest.iter().map(|p| p.1).collect();
    Some((le, re))
}
