//! Adjacent projections and filters become one; those that do nothing go.

use rheos_expr::Expr;

use super::{conjuncts_of, is_deterministic, renamed};
use crate::binder::and_all;
use crate::optimizer::simplify::substitute;
use crate::plan::{Plan, Rel};

/// How many nodes the expressions of a merged calc may have. Common parts are computed once, but planning sees them all.
const MAX_NODES: usize = 20_000;

/// How many nodes the expressions would have with the inner ones put in.
fn merged_size<'e>(outer: impl Iterator<Item = &'e Expr>, inner: &[Expr]) -> usize {
    let size = |e: &Expr| {
        let mut nodes = 0usize;
        e.visit(&mut |_| nodes += 1);
        nodes
    };
    let sizes: Vec<usize> = inner.iter().map(size).collect();
    let mut total = 0usize;
    for expr in outer {
        expr.visit(&mut |e| total += if let Expr::Column { index, .. } = e { sizes[*index] } else { 1 });
    }
    total
}

/// Merges calcs throughout the plan.
pub(super) fn merge(plan: Plan) -> Plan {
    let plan = plan.map_inputs(merge);
    let Plan { rel: Rel::Calc { input, condition, projections }, .. } = &plan else { return plan };
    let merged = match &input.rel {
        Rel::Calc { input: below, condition: inner_condition, projections: inner }
            if inner.iter().all(is_deterministic) && merged_size(projections.iter().chain(condition), inner) <= MAX_NODES =>
        {
            let projections: Vec<Expr> = projections.iter().map(|p| substitute(p.clone(), inner)).collect();
            let mut conditions = conjuncts_of(inner_condition.clone());
            conditions.extend(conjuncts_of(condition.clone()).into_iter().map(|c| substitute(c, inner)));
            let Ok(condition) = and_all(conditions) else { return plan };
            Some(Plan::calc((**below).clone(), condition, projections, plan.names()))
        }
        _ => None,
    };
    merge_identity(match merged {
        Some(m) => renamed(&plan, m),
        None => plan,
    })
}

fn merge_identity(plan: Plan) -> Plan {
    let Rel::Calc { input, condition: None, projections } = &plan.rel else { return plan };
    let identity = projections.len() == input.columns.len()
        && projections.iter().enumerate().all(|(i, p)| matches!(p, Expr::Column { index, .. } if *index == i));
    // A source keeps the names that its table declares.
    if identity && !matches!(input.rel, Rel::Scan { .. } | Rel::Union { .. }) {
        return renamed(&plan, (**input).clone());
    }
    plan
}
