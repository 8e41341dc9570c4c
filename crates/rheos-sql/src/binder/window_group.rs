//! Windows in GROUP BY, as SQL had them before window table functions: `GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)`, with TUMBLE_START
//! and its like for the window's bounds. The input becomes that of the window table function, its bounds the keys.

use sqlparser::ast::{Expr as Ast, Function, GroupByExpr, Select};

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_operators::spec::WindowSpec;

use super::expr::{ExprBinder, arguments};
use super::query::Core;
use super::scope::{Scope, ScopeColumn};
use crate::error::{SqlError, SqlResult};
use crate::plan::{Plan, Rel};

const FUNCTIONS: [&str; 3] = ["TUMBLE", "HOP", "SESSION"];

/// The window function of an expression of GROUP BY, if it is one.
pub(super) fn window_function(ast: &Ast) -> Option<&Function> {
    match ast {
        Ast::Function(f) => FUNCTIONS.iter().any(|n| f.name.to_string().eq_ignore_ascii_case(n)).then_some(f),
        Ast::Nested(inner) => window_function(inner),
        _ => None,
    }
}

/// Which of start, end and time a function gives: `TUMBLE_START` and the like.
pub(super) fn window_bound(name: &str) -> Option<usize> {
    let (function, bound) = name.split_once('_')?;
    if !FUNCTIONS.contains(&function) {
        return None;
    }
    ["START", "END", "ROWTIME"].iter().position(|b| *b == bound)
}

/// Puts the windows of GROUP BY into the input, if there are any.
pub(super) fn apply<'p>(select: &Select, core: Core<'p>) -> SqlResult<Core<'p>> {
    let GroupByExpr::Expressions(exprs, _) = &select.group_by else { return Ok(core) };
    let Some(at) = exprs.iter().position(|e| window_function(e).is_some()) else { return Ok(core) };
    if let Some(second) = exprs[at + 1..].iter().find(|e| window_function(e).is_some()) {
        return Err(SqlError::at(second, "GROUP BY takes one window"));
    }
    let Core { mut plan, mut scope, correlated } = core;
    let (Some(function), ast) = (window_function(&exprs[at]), &exprs[at]) else { return Ok(Core { plan, scope, correlated }) };
    let (time, window) = bind_window(ast, function, &scope)?;
    if plan.columns[time].time.is_none() {
        let error =
            SqlError::at(ast, format!("'{}' is no row-time attribute: nothing says how far its time has come", plan.columns[time].name));
        return Err(error.hint(Some("a window needs a TIMESTAMP column with a WATERMARK in CREATE TABLE".into())));
    }
    // A session belongs to the other keys, which must be columns for that.
    let width = plan.columns.len();
    let mut keys = Vec::new();
    if let WindowSpec::Session { .. } = window {
        let (mut projections, mut names) = (plan.all_columns(), plan.names());
        for other in exprs.iter().filter(|e| window_function(e).is_none()) {
            match ExprBinder::plain(&scope, "GROUP BY").bind(other)? {
                Expr::Column { index, .. } if index < width => keys.push(index),
                expr => {
                    keys.push(projections.len());
                    names.push(format!("$key{}", projections.len()));
                    projections.push(expr);
                }
            }
        }
        if projections.len() > width {
            plan = Plan::calc(plan, None, projections, names);
        }
    }
    let base = plan.columns.len();
    let plan = Plan::window_table(plan, time, window, keys);
    debug_assert!(matches!(plan.rel, Rel::WindowTable { .. }));
    for column in &plan.columns[scope.columns.len()..] {
        scope.columns.push(ScopeColumn { qualifier: Some("$window".into()), column: column.clone(), hidden: true });
    }
    scope.group_window = Some([base, base + 1, base + 2]);
    Ok(Core { plan, scope, correlated })
}

fn bind_window(ast: &Ast, function: &Function, scope: &Scope<'_>) -> SqlResult<(usize, WindowSpec)> {
    let name = function.name.to_string().to_uppercase();
    let usage = match name.as_str() {
        "TUMBLE" => "TUMBLE(ts, INTERVAL '10' SECOND)",
        "HOP" => "HOP(ts, INTERVAL '2' SECOND, INTERVAL '10' SECOND), the slide before the size",
        _ => "SESSION(ts, INTERVAL '10' MINUTE)",
    };
    let wrong = |what: &str| SqlError::at(ast, format!("{name} {what}")).hint(Some(format!("write {usage}")));
    let args = arguments(function)?;
    let [time, intervals @ ..] = args.as_slice() else { return Err(wrong("needs a time column")) };
    let mut binder = ExprBinder::plain(scope, "GROUP BY");
    let Expr::Column { index: time, .. } = binder.bind(time)? else { return Err(wrong("takes a column as its time")) };
    let mut lengths = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match binder.bind(interval)? {
            Expr::Literal { value: Literal::Int(ms), ty } if ty.kind == TypeKind::IntervalDayTime && ms > 0 => lengths.push(ms),
            _ => return Err(wrong("takes constant INTERVALs of days to seconds, more than zero")),
        }
    }
    let window = match (name.as_str(), lengths.as_slice()) {
        ("TUMBLE", [size_ms]) => WindowSpec::Tumble { size_ms: *size_ms, offset_ms: 0 },
        ("HOP", [slide_ms, size_ms]) if size_ms % slide_ms == 0 => WindowSpec::Hop { size_ms: *size_ms, slide_ms: *slide_ms, offset_ms: 0 },
        ("HOP", [_, _]) => return Err(wrong("needs a size that is a multiple of its slide")),
        ("SESSION", [gap_ms]) => WindowSpec::Session { gap_ms: *gap_ms },
        _ => return Err(wrong("has a wrong number of arguments")),
    };
    Ok((time, window))
}
