//! Conditions go down to where their columns come from.

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue, TableSpec};
use rheos_core::registry::Registry;
use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::{JoinKind, OverCall, SortKey, WindowSpec};

use super::simplify::substitute;
use super::{conjuncts, conjuncts_of, is_deterministic, remap, renamed};
use crate::binder::and_all;
use crate::error::{SqlError, SqlResult};
use crate::plan::{JoinScope, Plan, RankStrategy, Rel};

/// Pushes every filter of the plan down.
pub(super) fn push_down(plan: Plan, registry: &Registry) -> SqlResult<Plan> {
    push(plan, Vec::new(), registry)
}

/// The plan with `conditions`, which are over its columns, applied as far down as they go.
fn push(plan: Plan, conditions: Vec<Expr>, registry: &Registry) -> SqlResult<Plan> {
    let old = plan.clone();
    let pushed = push_into(plan, conditions, registry)?;
    Ok(renamed(&old, pushed))
}

fn filtered(plan: Plan, conditions: Vec<Expr>) -> SqlResult<Plan> {
    Ok(match and_all(conditions)? {
        None => plan,
        Some(condition) => {
            let old = plan.clone();
            renamed(&old, Plan::filter(plan, condition))
        }
    })
}

fn push_into(plan: Plan, conditions: Vec<Expr>, registry: &Registry) -> SqlResult<Plan> {
    let Plan { rel, columns, changelog, bounded, .. } = plan.clone();
    match rel {
        Rel::Calc { input, condition, projections } => {
            let (through, above): (Vec<Expr>, Vec<Expr>) =
                conditions.into_iter().partition(|c| c.columns().iter().all(|i| is_deterministic(&projections[*i])));
            let mut below = conjuncts_of(condition);
            for c in through {
                conjuncts(substitute(c, &projections), &mut below);
            }
            let (below, stuck): (Vec<Expr>, Vec<Expr>) = below.into_iter().partition(is_deterministic);
            let input = push(*input, below, registry)?;
            // What the source has made sure of is constant above it.
            let known = known_constants(&input);
            let fix = |e: Expr| if known.is_empty() { e } else { substitute(e, &known) };
            let projections = projections.into_iter().map(fix).collect();
            let calc = Plan::calc(input, and_all(stuck)?, projections, plan.names());
            filtered(renamed(&plan, calc), above)
        }
        // What replaces by key is not to be filtered before it has replaced.
        Rel::Scan { .. } if changelog == ChangelogMode::Upsert => filtered(plan, conditions),
        Rel::Scan { table, spec, watermark } => {
            let (spec, left) = offer(spec, conditions, registry)?;
            let scan = Plan::scan_of(&table, spec, watermark, changelog, bounded);
            let known = known_constants(&scan);
            let scan = match scan.rel {
                Rel::Scan { table, spec, watermark } if !known.is_empty() => {
                    Plan::scan_of(&table, spec, watermark.map(|w| substitute(w, &known)), changelog, bounded)
                }
                _ => scan,
            };
            let left = if known.is_empty() { left } else { left.into_iter().map(|c| substitute(c, &known)).collect() };
            filtered(scan, left)
        }
        Rel::WindowTable { input, time, window, keys } => {
            let base = input.columns.len();
            let session = matches!(window, WindowSpec::Session { .. });
            let (below, above) = conditions
                .into_iter()
                .partition(|c: &Expr| is_deterministic(c) && c.columns().iter().all(|i| *i < base && (!session || keys.contains(i))));
            let input = push(*input, below, registry)?;
            filtered(renamed(&plan, Plan::window_table(input, time, window, keys)), above)
        }
        Rel::Aggregate { input, keys, calls } => {
            let (below, above) = split_by_keys(conditions, &keys);
            let names = columns[keys.len()..].iter().map(|c| c.name.clone()).collect();
            let input = push(*input, below, registry)?;
            filtered(Plan::aggregate(input, keys, calls, names).with_state_ttl(plan.state_ttl_ms), above)
        }
        Rel::WindowAggregate { input, windowing, window, keys, calls, properties, time_ty } => {
            let (below, above) = split_by_keys(conditions, &keys);
            let input = push(*input, below, registry)?;
            let names = columns[keys.len()..keys.len() + calls.len()].iter().map(|c| c.name.clone()).collect();
            filtered(Plan::window_aggregate(input, windowing, window, keys, calls, names, properties, time_ty), above)
        }
        Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
            let split = left.columns.len();
            let mut on = conjuncts_of(condition);
            let (mut to_left, mut to_right, mut above) = (Vec::new(), Vec::new(), Vec::new());
            let of_left = |c: &Expr| c.columns().iter().all(|i| *i < split);
            // A version that is filtered out before a temporal join would leave the one before it valid.
            let versioned = matches!(scope, JoinScope::Temporal { .. });
            let of_right = |c: &Expr| !versioned && !c.columns().is_empty() && c.columns().iter().all(|i| *i >= split);
            for c in conditions {
                match kind {
                    _ if !is_deterministic(&c) => above.push(c),
                    JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti if of_left(&c) => to_left.push(c),
                    JoinKind::Inner | JoinKind::Right if of_right(&c) => to_right.push(c),
                    JoinKind::Inner => on.push(c),
                    _ => above.push(c),
                }
            }
            let mut residual = Vec::new();
            for c in on {
                match kind {
                    JoinKind::Inner | JoinKind::Right | JoinKind::Semi if of_left(&c) => to_left.push(c),
                    JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti if of_right(&c) => to_right.push(c),
                    _ => residual.push(c),
                }
            }
            let to_right = to_right.into_iter().map(|c| remap(c, &|i| i - split)).collect();
            let left = push(*left, to_left, registry)?;
            let right = push(*right, to_right, registry)?;
            filtered(
                renamed(
                    &plan,
                    Plan::join(left, right, kind, (left_keys, right_keys), and_all(residual)?, scope).with_state_ttl(plan.state_ttl_ms),
                ),
                above,
            )
        }
        Rel::Union { inputs } => {
            let inputs = inputs.into_iter().map(|i| push(i, conditions.clone(), registry)).collect::<SqlResult<Vec<_>>>()?;
            Ok(Plan::union(inputs))
        }
        Rel::Over { input, partition, order, calls, .. } => {
            let rank = input.columns.len();
            let (mut first, mut last) = (1u64, None);
            let mut rest = Vec::new();
            let ranks_rows = calls == [OverCall::RowNumber];
            for c in conditions {
                match rank_bounds(&c, rank).filter(|_| ranks_rows) {
                    Some((start, end)) => {
                        first = first.max(start);
                        last = end.map(|e| last.map_or(e, |old: u64| old.min(e))).or(last);
                    }
                    None => rest.push(c),
                }
            }
            let (below, mut above): (Vec<Expr>, Vec<Expr>) = rest
                .into_iter()
                .partition(|c| is_deterministic(c) && !c.columns().is_empty() && c.columns().iter().all(|i| partition.contains(i)));
            let input = push(*input, below, registry)?;
            let names: Vec<String> = columns[rank..].iter().map(|c| c.name.clone()).collect();
            let Some(last) = last else {
                // Nothing says up to which row: all are kept and numbered.
                let over = Plan::over(input, partition, order, calls, names);
                if first > 1 {
                    let from = build::literal_bigint(first as i64);
                    above.push(build::call(">=", vec![over.column(rank), from]).map_err(SqlError::new)?);
                }
                return filtered(renamed(&plan, over), above);
            };
            if last < first {
                return Err(SqlError::new("the condition on ROW_NUMBER() is never true: ranks count from 1"));
            }
            rank_of(&plan, input, partition, order, (first, last), above)
        }
        Rel::Rank { input, partition, order, start, end, rank_column, strategy } => {
            let (below, above): (Vec<Expr>, Vec<Expr>) = conditions
                .into_iter()
                .partition(|c| is_deterministic(c) && !c.columns().is_empty() && c.columns().iter().all(|i| partition.contains(i)));
            let name = rank_column.then(|| columns[columns.len() - 1].name.clone());
            let input = push(*input, below, registry)?;
            filtered(Plan::rank(input, partition, order, (start, end), name, strategy), above)
        }
        Rel::Match { input, pattern } => {
            let (below, above) = split_by_keys(conditions, &pattern.partition);
            filtered(renamed(&plan, Plan::pattern(push(*input, below, registry)?, *pattern)), above)
        }
        Rel::Unnest { input, unnesting } => {
            let base = input.columns.len();
            let (below, above) = conditions
                .into_iter()
                .partition(|c: &Expr| is_deterministic(c) && !c.columns().is_empty() && c.columns().iter().all(|i| *i < base));
            let elements = columns[base..].to_vec();
            filtered(renamed(&plan, Plan::unnest(push(*input, below, registry)?, unnesting, elements)), above)
        }
        // What a stream has is decided before its rows are filtered.
        Rel::Stream { input, mode } => filtered(renamed(&plan, Plan::stream(push(*input, vec![], registry)?, mode)), conditions),
        Rel::Expand { input, projections } => filtered(Plan::expand(push(*input, vec![], registry)?, projections, columns), conditions),
        Rel::Limit { input, offset, fetch } => filtered(Plan::limit(push(*input, vec![], registry)?, offset, fetch), conditions),
        Rel::Values { .. } => filtered(plan, conditions),
    }
}

/// The first rows of partitions: what a filter on ROW_NUMBER() asks for, as cheap as it can be had.
fn rank_of(plan: &Plan, input: Plan, partition: Vec<usize>, order: Vec<SortKey>, bounds: (u64, u64), above: Vec<Expr>) -> SqlResult<Plan> {
    let rank = &plan.columns[input.columns.len()];
    let strategy = rank_strategy(&input, &partition, &order, bounds.0, bounds.1);
    let partition = match strategy {
        RankStrategy::Window { .. } => {
            // The end tells a window from others of the same kind, but for sessions, whose starts differ too.
            let of_window = input.window.map(|w| [w.end, w.time, w.start.filter(|_| w.end_is_enough())]).unwrap_or_default();
            partition.into_iter().filter(|p| !of_window.contains(&Some(*p))).collect()
        }
        _ => partition,
    };
    if let RankStrategy::Deduplicate { .. } = strategy {
        // The only rank is one.
        let first = Plan::rank(input, partition, order, bounds, None, strategy);
        let one = Expr::Literal { value: Literal::Int(1), ty: rank.ty.clone() };
        let (projections, names) = (first.all_columns().into_iter().chain([one]).collect(), plan.names());
        return filtered(Plan::calc(first, None, projections, names), above);
    }
    filtered(Plan::rank(input, partition, order, bounds, Some(rank.name.clone()), strategy), above)
}

fn split_by_keys(conditions: Vec<Expr>, keys: &[usize]) -> (Vec<Expr>, Vec<Expr>) {
    let (below, above): (Vec<Expr>, Vec<Expr>) =
        conditions.into_iter().partition(|c| is_deterministic(c) && !c.columns().is_empty() && c.columns().iter().all(|i| *i < keys.len()));
    (below.into_iter().map(|c| remap(c, &|i| keys[i])).collect(), above)
}

/// A rank over one window's rows, or the first or last by row time, is cheaper than one that is updated.
fn rank_strategy(input: &Plan, partition: &[usize], order: &[SortKey], start: u64, end: u64) -> RankStrategy {
    if let Some(w) = input.window
        && let (Some(s), Some(e)) = (w.start, w.end)
        && partition.contains(&s)
        && partition.contains(&e)
        && input.changelog.is_insert_only()
    {
        return RankStrategy::Window { end: e };
    }
    match order {
        [only] if start == 1 && end == 1 && input.changelog.is_insert_only() && input.columns[only.column].time.is_some() => {
            RankStrategy::Deduplicate { time: only.column, keep_last: only.descending }
        }
        _ => RankStrategy::Updating,
    }
}

/// The ranks that a condition on the rank column lets through: from, and to if bounded.
fn rank_bounds(condition: &Expr, rank: usize) -> Option<(u64, Option<u64>)> {
    let Expr::Call { function, args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let is_rank = |e: &Expr| matches!(e.without_casts(), Expr::Column { index, .. } if *index == rank);
    let number = |e: &Expr| match e.without_casts() {
        Expr::Literal { value: Literal::Int(n), .. } => Some(*n),
        _ => None,
    };
    let (operator, n) = if is_rank(left) {
        (function.as_str(), number(right)?)
    } else if is_rank(right) {
        (flip(function)?, number(left)?)
    } else {
        return None;
    };
    let n = n.max(0) as u64;
    match operator {
        "=" => Some((n, Some(n))),
        "<=" => Some((1, Some(n))),
        "<" => Some((1, Some(n.saturating_sub(1)))),
        ">=" => Some((n.max(1), None)),
        ">" => Some((n + 1, None)),
        _ => None,
    }
}

/// Whether every cast around a column leaves its values as they are.
fn keeps_values(expr: &Expr) -> bool {
    let Expr::Cast { arg, .. } = expr else { return true };
    let (from, to) = (&arg.ty().kind, &expr.ty().kind);
    let is_kept = match (from, to) {
        (TypeKind::Varchar(from), TypeKind::Varchar(to)) => from <= to,
        (from, to) => from == to || (from.is_integer() && is_widened(from, to)),
    };
    is_kept && keeps_values(arg)
}

/// Whether every integer of the one type is the same in the other.
fn is_widened(from: &TypeKind, to: &TypeKind) -> bool {
    matches!((from.as_decimal(), to.as_decimal()), (Some((f, 0)), Some((t, 0))) if f <= t)
}

/// The comparison with its sides exchanged.
pub(super) fn flip(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "=" => "=",
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// Offers conditions to the source; returns what it asks for and the conditions that are left.
fn offer(spec: TableSpec, conditions: Vec<Expr>, registry: &Registry) -> SqlResult<(TableSpec, Vec<Expr>)> {
    let offered: Vec<Option<Predicate>> = conditions.iter().map(|c| predicate(c, &spec)).collect();
    let source = registry.connector(&spec.connector).and_then(|c| c.source.as_ref());
    let (Some(source), true) = (source, offered.iter().any(Option::is_some)) else { return Ok((spec, conditions)) };
    let mut asked = spec.clone();
    let before = asked.predicates.len();
    asked.predicates.extend(offered.iter().flatten().cloned());
    let applied = source.describe(&asked)?.predicates_applied;
    let mut kept = spec;
    let mut left = Vec::new();
    let mut next = before;
    for (condition, offered) in conditions.into_iter().zip(offered) {
        let is_applied = offered.is_some() && applied.get(next).copied().unwrap_or(false);
        next += usize::from(offered.is_some());
        match offered {
            Some(predicate) if is_applied => kept.predicates.push(predicate),
            _ => left.push(condition),
        }
    }
    Ok((kept, left))
}

/// A comparison of a physical column with a constant, as a source takes it.
fn predicate(condition: &Expr, spec: &TableSpec) -> Option<Predicate> {
    if spec.projection.is_some() {
        return None;
    }
    let Expr::Call { function, args, .. } = condition else { return None };
    let [left, right] = args.as_slice() else { return None };
    let literal = |e: &Expr| match e {
        Expr::Literal { value, ty } => match value {
            Literal::Int(n) if ty.kind.is_integer() => Some(PredicateValue::Int(*n)),
            Literal::Text(t) => Some(PredicateValue::Text(t.clone())),
            Literal::Bool(b) => Some(PredicateValue::Bool(*b)),
            _ => None,
        },
        _ => None,
    };
    // INT compared with BIGINT stands in a cast that changes no value, as a text does that becomes longer.
    let column = |e: &Expr| match e.without_casts() {
        // Metadata are nothing that a source would look into for this.
        Expr::Column { index, .. } if keeps_values(e) && *index < spec.schema.len() => Some(*index),
        _ => None,
    };
    let (column, operator, value) = match (column(left), literal(right)) {
        (Some(c), Some(v)) => (c, function.as_str(), v),
        _ => (column(right)?, if function == "<>" { "<>" } else { flip(function)? }, literal(left)?),
    };
    let comparison = match operator {
        "=" => Comparison::Equal,
        "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return None,
    };
    Some(Predicate { path: ColumnPath { column, fields: vec![] }, comparison, value })
}

/// The columns of a scan, those that its predicates fix as constants; empty where there is nothing to know.
fn known_constants(plan: &Plan) -> Vec<Expr> {
    let plan = match &plan.rel {
        // A filter that was left over stands between.
        Rel::Calc { input, projections, .. }
            if projections.iter().enumerate().all(|(i, p)| matches!(p, Expr::Column { index, .. } if *index == i)) =>
        {
            input
        }
        _ => plan,
    };
    let Rel::Scan { spec, .. } = &plan.rel else { return vec![] };
    if spec.predicates.is_empty() {
        return vec![];
    }
    (0..plan.columns.len())
        .map(|i| {
            let ty = plan.columns[i].ty.clone();
            let fixed =
                spec.predicates.iter().find(|p| p.comparison == Comparison::Equal && p.path.fields.is_empty() && p.path.column == i);
            match fixed.map(|p| &p.value) {
                Some(PredicateValue::Int(n)) if ty.kind.is_integer() => {
                    Expr::Literal { value: Literal::Int(*n), ty: ty.with_nullable(false) }
                }
                Some(PredicateValue::Text(t)) if matches!(ty.kind, TypeKind::Varchar(_)) => {
                    Expr::Literal { value: Literal::Text(t.clone()), ty: ty.with_nullable(false) }
                }
                Some(PredicateValue::Bool(b)) if ty.kind == TypeKind::Boolean => {
                    Expr::Literal { value: Literal::Bool(*b), ty: ty.with_nullable(false) }
                }
                _ => Expr::column(i, ty),
            }
        })
        .collect()
}
