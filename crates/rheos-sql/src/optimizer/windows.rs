//! An aggregate over a window table function takes its place: rows are put into shared slices instead of being copied into
//! every window.

use rheos_expr::Expr;
use rheos_operators::spec::{WindowSpec, Windowing};

use super::{remap, renamed};
use crate::plan::{Plan, Rel};

/// Fuses throughout the plan.
pub(super) fn fuse(plan: Plan) -> Plan {
    let plan = plan.map_inputs(fuse);
    let fused = try_fuse(&plan);
    match fused {
        Some(f) => renamed(&plan, f),
        None => plan,
    }
}

fn try_fuse(plan: &Plan) -> Option<Plan> {
    let Rel::WindowAggregate { input, windowing: Windowing::Attached { start, end }, window, keys, calls, properties, .. } = &plan.rel
    else {
        return None;
    };
    // Between the two stands at most one calc.
    let (condition, projections, table) = match &input.rel {
        Rel::Calc { input: below, condition, projections } => (condition.clone(), projections.clone(), below.as_ref()),
        _ => (None, input.all_columns(), input.as_ref()),
    };
    let Rel::WindowTable { input: below, time, keys: session_keys, .. } = &table.rel else { return None };
    let base = below.columns.len();
    let of_window = |e: &Expr| e.columns().iter().any(|i| *i >= base);
    // Sessions are made of all rows: a filter that came after them may not come before, but for whole keys.
    let session = matches!(window, WindowSpec::Session { .. });
    let of_key = |e: &Expr| e.columns().iter().all(|i| session_keys.contains(i));
    if condition.as_ref().is_some_and(|c| of_window(c) || (session && !of_key(c))) {
        return None;
    }
    let used = |column: usize| keys.contains(&column) || calls.iter().any(|c| c.args.contains(&column) || c.filter == Some(column));
    if projections.iter().enumerate().any(|(i, p)| of_window(p) && used(i)) || keys.contains(start) || keys.contains(end) {
        return None;
    }
    if session {
        let mut by: Vec<usize> = Vec::new();
        for key in keys {
            let Expr::Column { index, .. } = &projections[*key] else { return None };
            by.push(*index);
        }
        let (mut by, mut session) = (by, session_keys.clone());
        by.sort_unstable();
        session.sort_unstable();
        if by != session {
            return None;
        }
    }
    // The window's columns go, the row time comes.
    let mut kept: Vec<Expr> = Vec::with_capacity(projections.len());
    let mut names = Vec::with_capacity(projections.len());
    let mut position = vec![usize::MAX; projections.len()];
    for (i, p) in projections.into_iter().enumerate() {
        if !of_window(&p) {
            position[i] = kept.len();
            kept.push(p);
            names.push(input.columns[i].name.clone());
        }
    }
    let time_column = kept.iter().position(|p| matches!(p, Expr::Column { index, .. } if index == time)).unwrap_or_else(|| {
        kept.push(below.column(*time));
        names.push(below.columns[*time].name.clone());
        kept.len() - 1
    });
    let map = |i: usize| position[i];
    let keys: Vec<usize> = keys.iter().map(|k| map(*k)).collect();
    let mut calls = calls.clone();
    for call in &mut calls {
        call.args.iter_mut().for_each(|a| *a = map(*a));
        call.filter = call.filter.map(map);
    }
    let condition = condition.map(|c| remap(c, &|i| i));
    let time_ty = below.columns[*time].ty.clone();
    let prepared = Plan::calc((**below).clone(), condition, kept, names);
    let names = plan.columns[keys.len()..keys.len() + calls.len()].iter().map(|c| c.name.clone()).collect();
    let windowing = Windowing::Time { column: time_column, window: *window };
    Some(Plan::window_aggregate(prepared, windowing, *window, keys, calls, names, properties.clone(), time_ty))
}
