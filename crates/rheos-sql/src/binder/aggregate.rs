//! GROUP BY: aggregates collected from expressions, grouping sets, and windows recognised among the keys.

use sqlparser::ast::{Expr as Ast, Spanned};
use sqlparser::tokenizer::Span;

use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::aggregate;
use rheos_operators::spec::{AggregateCall, WindowProperty, Windowing};

use super::scope::{AGGREGATE_BASE, OUTER_BASE, OVER_BASE, Scope};
use crate::error::{SqlError, SqlResult};
use crate::plan::{Column, Plan, Rel};

/// Gathers the aggregates of a SELECT; each stands in the expression as a placeholder column.
#[derive(Debug, Default)]
pub(super) struct AggregateCollector {
    calls: Vec<BoundAggregate>,
}

/// An aggregate over expressions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BoundAggregate {
    pub(super) function: String,
    pub(super) args: Vec<Expr>,
    pub(super) filter: Option<Expr>,
    pub(super) distinct: bool,
    pub(super) result: LogicalType,
    span: Span,
}

impl AggregateCollector {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The aggregates, in the order of their placeholders.
    pub(super) fn calls(&self) -> &[BoundAggregate] {
        &self.calls
    }

    /// Takes an aggregate in; an equal one is taken once.
    pub(super) fn add(&mut self, ast: &Ast, name: &str, args: Vec<Expr>, filter: Option<Expr>, distinct: bool) -> SqlResult<Expr> {
        let call = if name.starts_with("GROUPING") {
            BoundAggregate {
                function: name.into(),
                args,
                filter: None,
                distinct: false,
                result: TypeKind::BigInt.not_null(),
                span: ast.span(),
            }
        } else {
            let (function, args, result) = resolve_call(ast, name, args, distinct)?;
            BoundAggregate { function, args, filter, distinct, result: result.ty, span: ast.span() }
        };
        let same = |c: &BoundAggregate| BoundAggregate { span: c.span, ..call.clone() } == *c;
        let index = self.calls.iter().position(same).unwrap_or_else(|| {
            self.calls.push(call);
            self.calls.len() - 1
        });
        Ok(Expr::column(AGGREGATE_BASE + index, self.calls[index].result.clone()))
    }
}

/// What an aggregate gives.
pub(super) struct CallResult {
    /// The type of the result in a group that has rows.
    pub(super) ty: LogicalType,
    /// Whether there is a value even when no row was aggregated.
    pub(super) never_null: bool,
}

/// Chooses the function of a call: its canonical name, and its arguments cast to what it takes.
pub(super) fn resolve_call(at: &impl Spanned, name: &str, args: Vec<Expr>, distinct: bool) -> SqlResult<(String, Vec<Expr>, CallResult)> {
    let types: Vec<LogicalType> = args.iter().map(|a| a.ty().clone()).collect();
    let resolved = aggregate::resolve(name, &types, distinct).map_err(|e| SqlError::at(at, e))?;
    let mut cast_args = Vec::with_capacity(args.len());
    for (arg, ty) in args.into_iter().zip(&resolved.arg_types) {
        let nullable = arg.ty().nullable;
        cast_args.push(build::cast(arg, ty.clone().with_nullable(nullable), false).map_err(|e| SqlError::at(at, e))?);
    }
    let never_null = resolved.never_null();
    Ok((resolved.name, cast_args, CallResult { ty: resolved.result, never_null }))
}

/// How many grouping sets a GROUP BY may have; each row is processed once for each.
const MAX_GROUPING_SETS: usize = 4096;

/// The keys of GROUP BY: all expressions that occur, and which of them each grouping set has.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    pub(super) keys: Vec<Expr>,
    /// Positions in `keys`; one set for plain GROUP BY.
    pub(super) sets: Vec<Vec<usize>>,
}

impl Grouping {
    /// Crosses the sets so far with `more`: `GROUP BY a, GROUPING SETS ((b), ())` has (a, b) and (a).
    pub(super) fn cross(&mut self, more: Vec<Vec<Expr>>) -> Result<(), String> {
        let count = self.sets.len().max(1).saturating_mul(more.len());
        if count > MAX_GROUPING_SETS {
            return Err(format!("GROUP BY has {count} grouping sets; {MAX_GROUPING_SETS} are the most"));
        }
        let more: Vec<Vec<usize>> = more.into_iter().map(|set| set.into_iter().map(|e| self.key(e)).collect()).collect();
        let before = if self.sets.is_empty() { vec![vec![]] } else { std::mem::take(&mut self.sets) };
        self.sets = before.iter().flat_map(|a| more.iter().map(move |b| [a.clone(), b.clone()].concat())).collect();
        Ok(())
    }

    fn key(&mut self, expr: Expr) -> usize {
        self.keys.iter().position(|k| *k == expr).unwrap_or_else(|| {
            self.keys.push(expr);
            self.keys.len() - 1
        })
    }
}

/// A grouped input: how expressions over the ungrouped input are rewritten over the grouped one.
pub(super) struct Grouped {
    pub(super) plan: Plan,
    keys: Vec<Expr>,
    /// For each aggregate its expression over the grouped plan.
    calls: Vec<Expr>,
}

impl Grouped {
    /// An expression over keys and aggregates; a column that is neither is an error, told with its name.
    pub(super) fn rewrite(&self, expr: Expr, scope: &Scope<'_>, span: Span) -> SqlResult<Expr> {
        if let Some(key) = self.keys.iter().position(|k| *k == expr) {
            return Ok(self.plan.column(key));
        }
        if let Expr::Column { index, .. } = &expr {
            return match *index {
                i if i >= OVER_BASE => Ok(expr),
                i if i >= AGGREGATE_BASE => Ok(self.calls[i - AGGREGATE_BASE].clone()),
                i if i >= OUTER_BASE => Ok(expr),
                i => {
                    let name = &scope.columns[i].column.name;
                    let error = SqlError::new(format!("column '{name}' is neither grouped nor in an aggregate")).or_at(span);
                    Err(error.hint(Some(format!("add it to GROUP BY, or take for example MAX({name})"))))
                }
            };
        }
        let mut failed = None;
        let mapped = expr.map_children(&mut |child| {
            let placeholder = Expr::Literal { value: Literal::Null, ty: child.ty().clone() };
            match self.rewrite(child, scope, span) {
                Ok(e) => e,
                Err(e) => {
                    failed.get_or_insert(e);
                    placeholder
                }
            }
        });
        failed.map_or(Ok(mapped), Err)
    }
}

/// Groups a plan.
pub(super) fn group(input: Plan, grouping: Grouping, collector: AggregateCollector, ttl_ms: Option<i64>) -> SqlResult<Grouped> {
    let Grouping { keys, mut sets } = grouping;
    if sets.is_empty() {
        sets.push(vec![]);
    }
    let several = sets.len() > 1;
    let global = keys.is_empty();

    // Keys first, then arguments and filters, each expression once (grouping sets blank keys out, so there the
    // arguments have columns of their own).
    let mut projections = keys.clone();
    let shared_from = if several { keys.len() } else { 0 };
    let mut calls = Vec::new();
    let column_of = |expr: &Expr, projections: &mut Vec<Expr>| {
        projections.iter().skip(shared_from).position(|p| p == expr).map(|i| i + shared_from).unwrap_or_else(|| {
            projections.push(expr.clone());
            projections.len() - 1
        })
    };
    for call in collector.calls.iter().filter(|c| !c.function.starts_with("GROUPING")) {
        let args: Vec<usize> = call.args.iter().map(|a| column_of(a, &mut projections)).collect();
        let filter = call.filter.as_ref().map(|f| column_of(f, &mut projections));
        let never_null = call.function == "COUNT" || call.function == "COLLECT";
        let may_be_empty = (global || call.filter.is_some()) && !never_null;
        let ty = call.result.clone().with_nullable(call.result.nullable || may_be_empty);
        let arg_types = call.args.iter().map(|a| a.ty().clone()).collect();
        calls.push(AggregateCall { function: call.function.clone(), args, arg_types, filter, distinct: call.distinct, ty });
    }
    let names: Vec<String> = projections
        .iter()
        .enumerate()
        .map(|(i, p)| match p {
            Expr::Column { index, .. } if *index < input.columns.len() => input.columns[*index].name.clone(),
            _ => format!("EXPR${i}"),
        })
        .collect();
    let time_ty = input.window.and_then(|w| w.time).map(|t| input.columns[t].ty.clone());
    let mut prepared = Plan::calc(input, None, projections, names);
    let mut key_columns: Vec<usize> = (0..keys.len()).collect();
    if several {
        prepared = expand(prepared, keys.len(), &sets);
        key_columns.push(prepared.columns.len() - 1);
    }
    let mut plan = group_columns(prepared, key_columns, calls, time_ty);
    if let Rel::Aggregate { .. } = plan.rel {
        plan.state_ttl_ms = [ttl_ms, None];
    }

    let key_count = if several { keys.len() + 1 } else { keys.len() };
    let mut next = key_count;
    let mut exprs = Vec::with_capacity(collector.calls.len());
    for call in &collector.calls {
        if call.function.starts_with("GROUPING") {
            exprs.push(grouping_bits(call, &keys, &sets, several.then(|| plan.column(keys.len())))?);
        } else {
            exprs.push(plan.column(next));
            next += 1;
        }
    }
    Ok(Grouped { plan, keys, calls: exprs })
}

/// Groups by columns: by windows where both ends of the window are among them, else for ever. Output columns: the keys in
/// the order given, then the aggregates.
pub(super) fn group_columns(input: Plan, keys: Vec<usize>, calls: Vec<AggregateCall>, time_ty: Option<LogicalType>) -> Plan {
    let call_names: Vec<String> = (0..calls.len()).map(|i| format!("EXPR${}", keys.len() + i)).collect();
    let window = input.window.and_then(|w| Some((w, w.start?, w.end?)));
    let Some((window, start, end)) = window.filter(|(_, s, e)| keys.contains(s) && keys.contains(e)) else {
        return Plan::aggregate(input, keys, calls, call_names);
    };
    let property = |column: usize| match column {
        c if c == start => Some(WindowProperty::Start),
        c if c == end => Some(WindowProperty::End),
        c if Some(c) == window.time => Some(WindowProperty::Time),
        _ => None,
    };
    let plain: Vec<usize> = keys.iter().copied().filter(|k| property(*k).is_none()).collect();
    let properties = vec![WindowProperty::Start, WindowProperty::End, WindowProperty::Time];
    let time_ty = time_ty.unwrap_or(TypeKind::Timestamp(3).not_null());
    let names: Vec<String> = keys.iter().map(|k| input.columns[*k].name.clone()).chain(call_names.iter().cloned()).collect();
    let windowing = Windowing::Attached { start, end };
    let count = calls.len();
    let plan = Plan::window_aggregate(input, windowing, window.window, plain.clone(), calls, call_names, properties.clone(), time_ty);
    // Back to the order of the keys.
    let mut projections = Vec::with_capacity(keys.len() + count);
    for key in &keys {
        let at = match property(*key) {
            Some(p) => plain.len() + count + properties.iter().position(|q| *q == p).unwrap_or(0),
            None => plain.iter().position(|p| p == key).unwrap_or(0),
        };
        projections.push(plan.column(at));
    }
    projections.extend((0..count).map(|i| plan.column(plain.len() + i)));
    Plan::calc(plan, None, projections, names)
}

/// Each row once for each grouping set: keys outside the set are NULL; the number of the set is the last column.
fn expand(input: Plan, keys: usize, sets: &[Vec<usize>]) -> Plan {
    let in_all = |k: usize| sets.iter().all(|s| s.contains(&k));
    let mut columns: Vec<Column> = input.columns.clone();
    for (k, column) in columns.iter_mut().enumerate().take(keys) {
        column.ty.nullable |= !in_all(k);
    }
    let projections = sets
        .iter()
        .enumerate()
        .map(|(number, set)| {
            let mut list = input.all_columns();
            for (k, item) in list.iter_mut().enumerate().take(keys) {
                if !set.contains(&k) {
                    *item = build::typed_null(item.ty().kind.clone());
                }
            }
            list.push(build::literal_int(number as i64));
            list
        })
        .collect();
    columns.push(Column { name: "$e".into(), ty: TypeKind::Int.not_null(), time: None });
    Plan::expand(input, projections, columns)
}

/// GROUPING(a, b): for each argument a bit, 1 where the row's grouping set lacks it.
fn grouping_bits(call: &BoundAggregate, keys: &[Expr], sets: &[Vec<usize>], set_number: Option<Expr>) -> SqlResult<Expr> {
    let wrong = |e: String| SqlError::new(e).or_at(call.span);
    let mut columns = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        let key = keys.iter().position(|k| k == arg);
        columns.push(key.ok_or_else(|| wrong(format!("an argument of {} is no key of GROUP BY", call.function)))?);
    }
    let bits = |set: &Vec<usize>| columns.iter().fold(0i64, |bits, c| bits << 1 | i64::from(!set.contains(c)));
    let Some(number) = set_number else { return Ok(build::literal_bigint(bits(&sets[0]))) };
    let mut branches = Vec::new();
    for (i, set) in sets.iter().enumerate().skip(1) {
        let is_set = build::call("=", vec![number.clone(), build::literal_int(i as i64)]).map_err(wrong)?;
        branches.push((is_set, build::literal_bigint(bits(set))));
    }
    build::case(branches, Some(build::literal_bigint(bits(&sets[0])))).map_err(wrong)
}
