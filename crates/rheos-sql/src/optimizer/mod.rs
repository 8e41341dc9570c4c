//! Rewrites of plans that are sound on streams.
//!
//! 1. `filters`: conditions go down to where their columns come from, into joins and into sources; a condition on
//!    ROW_NUMBER() makes a rank.
//! 2. `joins`: equal keys are drawn out of join conditions; joins on the same window, and of rows that are
//!    near each other in time, are recognised.
//! 3. `windows`: an aggregate over a window table function takes its place.
//! 4. `prune`: columns, nested fields and aggregates that nobody asks for go.
//! 5. `calcs`: adjacent projections and filters become one.
//! 6. `scans`, over all plans of a job: uses of one table share its scan.

mod calcs;
mod filters;
mod intervals;
mod joins;
mod prune;
mod scans;
pub(crate) mod simplify;
mod windows;

use rheos_core::registry::Registry;
use rheos_expr::{Expr, functions};

use crate::binder::is_correlated;
use crate::error::SqlResult;
use crate::plan::{Plan, Rel};

pub use scans::share_scans;

/// Rewrites a plan; the result has the same columns.
pub fn optimize(plan: Plan, registry: &Registry) -> SqlResult<Plan> {
    let names = plan.names();
    let plan = calcs::merge(plan);
    let plan = filters::push_down(plan, registry)?;
    let plan = calcs::merge(plan);
    let plan = joins::extract_keys(plan)?;
    let plan = calcs::merge(plan);
    let plan = windows::fuse(plan);
    let plan = calcs::merge(plan);
    let all: Vec<usize> = (0..plan.columns.len()).collect();
    let plan = prune::prune(plan, &all);
    let mut plan = calcs::merge(plan);
    for (column, name) in plan.columns.iter_mut().zip(names) {
        column.name = name;
    }
    Ok(plan)
}

/// What the optimizer knows of a plan that the binder does not: which joins are bounded in time, which ranks are deduplications, and
/// so which columns are row times and keys. The same columns, nothing pruned.
pub(crate) fn recognise(plan: Plan, registry: &Registry) -> SqlResult<Plan> {
    // References to an enclosing query are no columns yet that a rewrite could follow.
    if is_correlated(&plan) {
        return Ok(plan);
    }
    let names = plan.names();
    let plan = filters::push_down(calcs::merge(plan), registry)?;
    let mut plan = joins::extract_keys(calcs::merge(plan))?;
    for (column, name) in plan.columns.iter_mut().zip(names) {
        column.name = name;
    }
    Ok(plan)
}

/// A relation of versions without the conditions on them: these are its last column then, where there are any and rows are updated.
pub(crate) fn unfiltered(plan: Plan) -> (Plan, bool) {
    let merged = calcs::merge(plan);
    let old = merged.clone();
    match merged.rel {
        Rel::Calc { input, condition: Some(condition), mut projections } if !old.changelog.is_insert_only() => {
            projections.push(condition);
            let names = old.names().into_iter().chain(["$valid".into()]).collect();
            (renamed(&old, Plan::calc(*input, None, projections, names)), true)
        }
        _ => (old, false),
    }
}

/// `new` under the names of `old`, whose columns it has. A row time of `old` stays one.
fn renamed(old: &Plan, mut new: Plan) -> Plan {
    for (n, o) in new.columns.iter_mut().zip(&old.columns) {
        n.name.clone_from(&o.name);
        n.time = n.time.or(o.time);
    }
    new
}

/// The expression with column `i` as column `map(i)`.
fn remap(expr: Expr, map: &impl Fn(usize) -> usize) -> Expr {
    expr.transform(&mut |e| match e {
        Expr::Column { index, ty } => Expr::Column { index: map(index), ty },
        other => other,
    })
}

/// The parts of a conjunction.
fn conjuncts(expr: Expr, parts: &mut Vec<Expr>) {
    match expr {
        Expr::Call { function, args, .. } if function == "AND" => args.into_iter().for_each(|a| conjuncts(a, parts)),
        other => parts.push(other),
    }
}

pub(crate) fn conjuncts_of(expr: Option<Expr>) -> Vec<Expr> {
    let mut parts = Vec::new();
    if let Some(expr) = expr {
        conjuncts(expr, &mut parts);
    }
    parts
}

/// Whether equal rows give equal values.
fn is_deterministic(expr: &Expr) -> bool {
    let mut all = true;
    expr.visit(&mut |e| {
        if let Expr::Call { function, .. } = e {
            all &= functions::find(function).is_some_and(|f| f.deterministic);
        }
    });
    all
}

/// Whether computing the plan twice gives the same rows, so that once is enough for both.
pub(crate) fn is_repeatable(plan: &Plan) -> bool {
    let exprs: Vec<&Expr> = match &plan.rel {
        Rel::Calc { condition, projections, .. } => projections.iter().chain(condition).collect(),
        Rel::Expand { projections, .. } => projections.iter().flatten().collect(),
        Rel::Values { rows } => rows.iter().flatten().collect(),
        Rel::Join { condition, .. } => condition.iter().collect(),
        _ => vec![],
    };
    exprs.into_iter().all(is_deterministic) && plan.inputs().into_iter().all(is_repeatable)
}
