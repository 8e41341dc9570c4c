//! Columns, nested fields, aggregates and window properties that nobody asks for go.

use rheos_core::connector::ColumnPath;
use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_operators::spec::{JoinKind, OverCall, SortKey, Unnesting, Windowing};

use super::{remap, renamed};
use crate::plan::{Plan, Rel, forget_unused};

/// The plan with exactly the columns `wanted`, in that order.
pub(super) fn prune(plan: Plan, wanted: &[usize]) -> Plan {
    let old: Vec<_> = wanted.iter().map(|w| plan.columns[*w].clone()).collect();
    let (pruned, position) = prune_node(plan, wanted);
    let at: Vec<usize> = wanted.iter().map(|w| position[*w]).collect();
    let exact = at.len() == pruned.columns.len() && at.iter().enumerate().all(|(i, a)| i == *a);
    let mut plan = if exact { pruned } else { Plan::project(pruned, &at) };
    for (column, known) in plan.columns.iter_mut().zip(old) {
        column.name = known.name;
        column.time = column.time.or(known.time);
    }
    plan
}

/// The plan with at least the columns `wanted`, and where each old column is now ([`usize::MAX`] where it is gone).
fn prune_node(plan: Plan, wanted: &[usize]) -> (Plan, Vec<usize>) {
    let width = plan.columns.len();
    let old = plan.clone();
    match plan.rel {
        Rel::Calc { input, condition, projections } => {
            let kept = sorted(wanted.to_vec());
            let position = positions(&kept, width);
            let projections: Vec<Expr> = kept.iter().map(|k| projections[*k].clone()).collect();
            let names = kept.iter().map(|k| old.columns[*k].name.clone()).collect();
            if let Rel::Scan { .. } = input.rel {
                return (prune_scan(*input, condition, projections, names), position);
            }
            let needed = sorted(projections.iter().chain(&condition).flat_map(Expr::columns).collect());
            let map = positions(&needed, input.columns.len());
            let input = prune(*input, &needed);
            let over = |e: Expr| remap(e, &|i| map[i]);
            (Plan::calc(input, condition.map(over), projections.into_iter().map(over).collect(), names), position)
        }
        Rel::Scan { .. } => {
            let kept = sorted(wanted.to_vec());
            let projections = kept.iter().map(|k| old.column(*k)).collect();
            let names = kept.iter().map(|k| old.columns[*k].name.clone()).collect();
            (prune_scan(old, None, projections, names), positions(&kept, width))
        }
        Rel::Values { rows } => {
            let kept = sorted(wanted.to_vec());
            let rows = rows.into_iter().map(|r| kept.iter().map(|k| r[*k].clone()).collect()).collect();
            let columns = kept.iter().map(|k| &old.columns[*k]);
            let (types, names) = columns.map(|c| (c.ty.clone(), c.name.clone())).unzip();
            (Plan::values(rows, types, names), positions(&kept, width))
        }
        Rel::Expand { input, projections } => {
            let kept = sorted(wanted.to_vec());
            let lists: Vec<Vec<Expr>> = projections.iter().map(|list| kept.iter().map(|k| list[*k].clone()).collect()).collect();
            let needed = sorted(lists.iter().flatten().flat_map(Expr::columns).collect());
            let map = positions(&needed, input.columns.len());
            let input = prune(*input, &needed);
            let lists = lists.into_iter().map(|l| l.into_iter().map(|e| remap(e, &|i| map[i])).collect()).collect();
            let columns = kept.iter().map(|k| old.columns[*k].clone()).collect();
            (Plan::expand(input, lists, columns), positions(&kept, width))
        }
        Rel::WindowTable { input, time, window, keys } => {
            let base = input.columns.len();
            let needed = sorted(wanted.iter().copied().filter(|w| *w < base).chain([time]).chain(keys.iter().copied()).collect());
            let map = positions(&needed, base);
            let input = prune(*input, &needed);
            let mut position = map.clone();
            position.extend((0..3).map(|i| needed.len() + i));
            (Plan::window_table(input, map[time], window, keys.iter().map(|k| map[*k]).collect()), position)
        }
        Rel::Aggregate { input, keys, calls } => {
            let mut kept = kept_calls(wanted, keys.len(), calls.len());
            if keys.is_empty() && kept.is_empty() && !calls.is_empty() {
                kept.push(0); // a row needs a column
            }
            let mut calls: Vec<_> = kept.iter().map(|k| calls[*k].clone()).collect();
            let needed = sorted(keys.iter().copied().chain(calls.iter().flat_map(|c| c.args.iter().copied().chain(c.filter))).collect());
            let map = positions(&needed, input.columns.len());
            remap_calls(&mut calls, &map);
            let names = kept.iter().map(|k| old.columns[keys.len() + k].name.clone()).collect();
            let input = prune(*input, &needed);
            let position = aggregate_positions(keys.len(), &kept, width);
            let plan = Plan::aggregate(input, keys.iter().map(|k| map[*k]).collect(), calls, names).with_state_ttl(old.state_ttl_ms);
            // Whether rows are ever taken back depends on the aggregates that were there.
            (plan, position)
        }
        Rel::WindowAggregate { input, windowing, window, keys, calls, properties, time_ty } => {
            let base = keys.len() + calls.len();
            let kept = kept_calls(wanted, keys.len(), calls.len());
            let mut calls: Vec<_> = kept.iter().map(|k| calls[*k].clone()).collect();
            let mut kept_properties: Vec<usize> = (0..properties.len()).filter(|p| wanted.contains(&(base + p))).collect();
            if keys.is_empty() && kept.is_empty() && kept_properties.is_empty() {
                kept_properties.push(0); // a row needs a column
            }
            let of_windowing = match windowing {
                Windowing::Time { column, .. } => vec![column],
                Windowing::Attached { start, end } => vec![start, end],
            };
            let arguments = calls.iter().flat_map(|c| c.args.iter().copied().chain(c.filter));
            let needed = sorted(keys.iter().copied().chain(arguments).chain(of_windowing).collect());
            let map = positions(&needed, input.columns.len());
            remap_calls(&mut calls, &map);
            let windowing = match windowing {
                Windowing::Time { column, window } => Windowing::Time { column: map[column], window },
                Windowing::Attached { start, end } => Windowing::Attached { start: map[start], end: map[end] },
            };
            let names = kept.iter().map(|k| old.columns[keys.len() + k].name.clone()).collect();
            let input = prune(*input, &needed);
            let mut position = aggregate_positions(keys.len(), &kept, width);
            for (new, p) in kept_properties.iter().enumerate() {
                position[base + p] = keys.len() + kept.len() + new;
            }
            let properties = kept_properties.iter().map(|p| properties[*p]).collect();
            let keys = keys.iter().map(|k| map[*k]).collect();
            (Plan::window_aggregate(input, windowing, window, keys, calls, names, properties, time_ty), position)
        }
        Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
            let split = left.columns.len();
            let one_sided = matches!(kind, JoinKind::Semi | JoinKind::Anti);
            let all: Vec<usize> = wanted.iter().copied().chain(condition.iter().flat_map(Expr::columns)).collect();
            let times = scope.columns().unzip();
            let lefts = sorted(all.iter().copied().filter(|i| *i < split).chain(left_keys.iter().copied()).chain(times.0).collect());
            let rights =
                sorted(all.iter().filter(|i| **i >= split).map(|i| i - split).chain(right_keys.iter().copied()).chain(times.1).collect());
            let (lefts, rights) = (at_least_one(lefts, split), at_least_one(rights, right.columns.len()));
            let (left_map, right_map) = (positions(&lefts, split), positions(&rights, right.columns.len()));
            let (left, right) = (prune(*left, &lefts), prune(*right, &rights));
            let new_split = lefts.len();
            let of = |i: usize| if i < split { left_map[i] } else { new_split + right_map[i - split] };
            let condition = condition.map(|c| remap(c, &of));
            let keys = (left_keys.iter().map(|k| left_map[*k]).collect(), right_keys.iter().map(|k| right_map[*k]).collect());
            let scope = scope.map(|l| left_map[l], |r| right_map[r]);
            let joined = Plan::join(left, right, kind, keys, condition, scope).with_state_ttl(old.state_ttl_ms);
            let position = (0..width)
                .map(|i| match i {
                    i if i < split => left_map[i],
                    i if one_sided || right_map[i - split] == usize::MAX => usize::MAX,
                    i => new_split + right_map[i - split],
                })
                .collect();
            (joined, position)
        }
        Rel::Union { inputs } => {
            let kept = sorted(wanted.to_vec());
            let inputs = inputs.into_iter().map(|i| prune(i, &kept)).collect();
            (Plan::union(inputs), positions(&kept, width))
        }
        Rel::Over { input, partition, order, calls, .. } => {
            let base = input.columns.len();
            let sorts = calls.is_empty();
            let kept: Vec<usize> = (0..calls.len()).filter(|c| wanted.contains(&(base + c))).collect();
            let read = kept.iter().flat_map(|k| over_columns(&calls[*k]));
            let below = wanted.iter().copied().filter(|w| *w < base).chain(read);
            let (input, map) = prune_ordered(*input, below, &partition, &order, None);
            let calls: Vec<OverCall> = kept.iter().map(|k| remap_over(calls[*k].clone(), &map)).collect();
            let names = kept.iter().map(|k| old.columns[base + k].name.clone()).collect();
            let mut position = map.clone();
            position.extend((0..width - base).map(|c| kept.iter().position(|k| *k == c).map_or(usize::MAX, |at| input.columns.len() + at)));
            let order = order.iter().map(|o| SortKey { column: map[o.column], ..*o }).collect();
            let partition = partition.iter().map(|p| map[*p]).collect();
            if calls.is_empty() && !sorts {
                return (input, position);
            }
            (Plan::over(input, partition, order, calls, names), position)
        }
        Rel::Match { input, mut pattern } => {
            let keys = pattern.partition.len();
            let kept: Vec<usize> = (0..pattern.measures.exprs.len()).filter(|m| wanted.contains(&(keys + m))).collect();
            pattern.measures.exprs = kept.iter().map(|k| pattern.measures.exprs[*k].clone()).collect();
            pattern.names = kept.iter().map(|k| pattern.names[*k].clone()).collect();
            pattern.row_time = pattern.row_time.and_then(|t| kept.iter().position(|k| *k == t));
            pattern.measures = forget_unused(pattern.measures);
            let read = pattern.columns();
            let needed = sorted(read);
            let map = positions(&needed, input.columns.len());
            let input = prune(*input, &needed);
            let position = aggregate_positions(keys, &kept, width);
            (Plan::pattern(input, pattern.map(&map)), position)
        }
        Rel::Stream { input, mode } => {
            // A change of a column that nobody asks for is a change of the relation.
            let all: Vec<usize> = (0..width).collect();
            (Plan::stream(prune(*input, &all), mode), all)
        }
        Rel::Unnest { input, unnesting } => {
            let base = input.columns.len();
            let collection = match unnesting {
                Unnesting::Elements { column, .. } | Unnesting::Times { column } => column,
            };
            let needed = sorted(wanted.iter().copied().filter(|w| *w < base).chain([collection]).collect());
            let map = positions(&needed, base);
            let input = prune(*input, &needed);
            let mut position = map.clone();
            position.extend((0..width - base).map(|i| needed.len() + i));
            let unnesting = match unnesting {
                Unnesting::Elements { column, counted, outer, ordinality } => {
                    Unnesting::Elements { column: map[column], counted, outer, ordinality }
                }
                Unnesting::Times { column } => Unnesting::Times { column: map[column] },
            };
            (Plan::unnest(input, unnesting, old.columns[base..].to_vec()), position)
        }
        Rel::Rank { input, partition, order, start, end, rank_column, strategy } => {
            use crate::plan::RankStrategy as S;
            let base = input.columns.len();
            let extra = match strategy {
                S::Updating => None,
                S::Window { end } => Some(end),
                S::Deduplicate { time, .. } => Some(time),
            };
            let (input, map) = prune_ordered(*input, wanted.iter().copied().filter(|w| *w < base), &partition, &order, extra);
            let strategy = match strategy {
                S::Updating => S::Updating,
                S::Window { end } => S::Window { end: map[end] },
                S::Deduplicate { time, keep_last } => S::Deduplicate { time: map[time], keep_last },
            };
            let rank_name = (rank_column && wanted.contains(&base)).then(|| old.columns[base].name.clone());
            let mut position = map.clone();
            if rank_column {
                position.push(if rank_name.is_some() { input.columns.len() } else { usize::MAX });
            }
            let order = order.iter().map(|o| SortKey { column: map[o.column], ..*o }).collect();
            (Plan::rank(input, partition.iter().map(|p| map[*p]).collect(), order, (start, end), rank_name, strategy), position)
        }
        Rel::Limit { input, offset, fetch } => {
            let kept = at_least_one(sorted(wanted.to_vec()), width);
            (Plan::limit(prune(*input, &kept), offset, fetch), positions(&kept, width))
        }
    }
}

fn prune_ordered(
    input: Plan,
    wanted: impl Iterator<Item = usize>,
    partition: &[usize],
    order: &[SortKey],
    extra: Option<usize>,
) -> (Plan, Vec<usize>) {
    let needed = sorted(wanted.chain(partition.iter().copied()).chain(order.iter().map(|o| o.column)).chain(extra).collect());
    let needed = at_least_one(needed, input.columns.len());
    let map = positions(&needed, input.columns.len());
    (prune(input, &needed), map)
}

fn sorted(mut columns: Vec<usize>) -> Vec<usize> {
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Operators that keep rows keep at least a column of them.
fn at_least_one(mut columns: Vec<usize>, width: usize) -> Vec<usize> {
    if columns.is_empty() && width > 0 {
        columns.push(0);
    }
    columns
}

/// Where each of `width` columns is among `kept`.
fn positions(kept: &[usize], width: usize) -> Vec<usize> {
    let mut at = vec![usize::MAX; width];
    for (new, old) in kept.iter().enumerate() {
        at[*old] = new;
    }
    at
}

/// The columns that a window function reads.
fn over_columns(call: &OverCall) -> Vec<usize> {
    match call {
        OverCall::Aggregate { call, .. } => call.args.iter().copied().chain(call.filter).collect(),
        OverCall::Offset { value, default, .. } => std::iter::once(*value).chain(*default).collect(),
        OverCall::RowNumber | OverCall::Rank | OverCall::DenseRank => vec![],
    }
}

fn remap_over(call: OverCall, map: &[usize]) -> OverCall {
    match call {
        OverCall::Aggregate { mut call, frame } => {
            remap_calls(std::slice::from_mut(&mut call), map);
            OverCall::Aggregate { call, frame }
        }
        OverCall::Offset { value, rows_before, default, ty } => {
            OverCall::Offset { value: map[value], rows_before, default: default.map(|d| map[d]), ty }
        }
        other => other,
    }
}

fn kept_calls(wanted: &[usize], keys: usize, calls: usize) -> Vec<usize> {
    (0..calls).filter(|c| wanted.contains(&(keys + c))).collect()
}

fn aggregate_positions(keys: usize, kept: &[usize], width: usize) -> Vec<usize> {
    let mut position = vec![usize::MAX; width];
    (0..keys).for_each(|k| position[k] = k);
    for (new, call) in kept.iter().enumerate() {
        position[keys + call] = keys + new;
    }
    position
}

fn remap_calls(calls: &mut [rheos_operators::spec::AggregateCall], map: &[usize]) {
    for call in calls {
        call.args.iter_mut().for_each(|a| *a = map[*a]);
        call.filter = call.filter.map(|f| map[f]);
    }
}

/// A calc over a scan: the scan gives just the columns and nested fields that the calc and the watermark read.
fn prune_scan(scan: Plan, condition: Option<Expr>, projections: Vec<Expr>, names: Vec<String>) -> Plan {
    let Rel::Scan { table, spec, watermark } = &scan.rel else { return Plan::calc(scan, condition, projections, names) };
    if spec.projection.is_some() {
        return Plan::calc(scan, condition, projections, names);
    }
    let mut paths = Vec::new();
    for expr in projections.iter().chain(&condition).chain(watermark) {
        collect_paths(expr, &mut paths);
    }
    if !scan.changelog.is_insert_only() {
        // Its changes are told apart by the key, where they replace rows or may come twice.
        paths.extend(spec.primary_key.iter().map(|k| ColumnPath { column: *k, fields: vec![] }));
    }
    let paths = covering(paths);
    let rewrite = |e: Expr| over_paths(e, &paths);
    let mut asked = spec.clone();
    asked.projection = Some(paths.clone());
    let watermark = watermark.clone().map(rewrite);
    let narrowed = Plan::scan_of(table, asked, watermark, scan.changelog, scan.bounded);
    let calc = Plan::calc(narrowed, condition.map(rewrite), projections.into_iter().map(rewrite).collect(), names);
    renamed(&calc.clone(), calc)
}

/// The path of `column.field.field`.
fn path_of(expr: &Expr) -> Option<ColumnPath> {
    match expr {
        Expr::Column { index, .. } => Some(ColumnPath { column: *index, fields: vec![] }),
        Expr::Call { function, args, .. } if function == "FIELD" => {
            let [row, Expr::Literal { value: Literal::Int(field), .. }] = args.as_slice() else { return None };
            let TypeKind::Row(_) = &row.ty().kind else { return None };
            let mut path = path_of(row)?;
            path.fields.push(*field as usize);
            Some(path)
        }
        _ => None,
    }
}

/// The paths in order, without those that are parts of others.
pub(super) fn covering(mut paths: Vec<ColumnPath>) -> Vec<ColumnPath> {
    paths.sort();
    paths.dedup();
    let covered = |p: &ColumnPath| paths.iter().any(|q| q != p && q.column == p.column && p.fields.starts_with(&q.fields));
    paths.iter().filter(|p| !covered(p)).cloned().collect()
}

/// The paths that an expression over a table's columns reads.
pub(super) fn collect_paths(expr: &Expr, paths: &mut Vec<ColumnPath>) {
    match path_of(expr) {
        Some(path) => paths.push(path),
        None => expr.children().into_iter().for_each(|c| collect_paths(c, paths)),
    }
}

/// An expression over a table's columns as one over the columns that a scan of `paths` gives.
pub(super) fn over_paths(expr: Expr, paths: &[ColumnPath]) -> Expr {
    if let Some(path) = path_of(&expr)
        && let Some(index) = paths.iter().position(|p| *p == path)
    {
        let ty = expr.ty().clone();
        return Expr::Column { index, ty };
    }
    expr.map_children(&mut |c| over_paths(c, paths))
}
