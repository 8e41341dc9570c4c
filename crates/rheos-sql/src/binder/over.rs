//! Window functions: `... OVER (PARTITION BY ... ORDER BY ... [frame])` in the SELECT list and in QUALIFY.

use sqlparser::ast::{
    Expr as Ast, NamedWindowDefinition, NamedWindowExpr, Spanned, Value, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowSpec as OverAst, WindowType,
};

use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::{Expr, Literal, build};
use rheos_operators::spec::{AggregateCall, Frame, OverCall, SortKey};

use super::aggregate::{AggregateCollector, resolve_call};
use super::expr::ExprBinder;
use super::order::sort_key;
use super::scope::{OVER_BASE, Scope};
use crate::error::{SqlError, SqlResult};
use crate::plan::Plan;

/// Gathers the window functions of a SELECT; each stands in the expression as a placeholder column.
#[derive(Debug, Default)]
pub(super) struct OverCollector {
    /// WINDOW w AS (...)
    named: Vec<NamedWindowDefinition>,
    found: Vec<(Window, BoundOver)>,
}

/// PARTITION BY and ORDER BY, over the SELECT's input.
#[derive(Debug, Clone, PartialEq)]
struct Window {
    partition: Vec<Expr>,
    order: Vec<(Expr, Option<bool>, Option<bool>)>,
}

/// A window function over expressions.
#[derive(Debug, Clone, PartialEq)]
enum BoundOver {
    Aggregate { function: String, args: Vec<Expr>, filter: Option<Expr>, distinct: bool, ty: LogicalType, frame: Frame },
    RowNumber,
    Rank,
    DenseRank,
    Offset { value: Expr, rows_before: i64, default: Option<Expr>, ty: LogicalType },
}

/// A call as the parser gave it.
pub(super) struct OverSyntax<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a [Ast],
    pub(super) filter: Option<&'a Ast>,
    pub(super) distinct: bool,
    pub(super) over: &'a WindowType,
}

impl OverCollector {
    pub(super) fn new(named: &[NamedWindowDefinition]) -> Self {
        OverCollector { named: named.to_vec(), found: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes a window function in. Its parts may contain aggregates where the SELECT groups.
    pub(super) fn add(
        &mut self,
        ast: &Ast,
        call: &OverSyntax<'_>,
        scope: &Scope<'_>,
        mut aggregates: Option<&mut AggregateCollector>,
    ) -> SqlResult<Expr> {
        let spec = self.spec_of(ast, call.over, 0)?;
        let mut bind = |ast: &Ast| -> SqlResult<Expr> {
            match aggregates.as_deref_mut() {
                Some(collector) => ExprBinder { scope, aggregates: Ok(collector), over: None, extension: None }.bind(ast),
                None => ExprBinder::plain(scope, "OVER").bind(ast),
            }
        };
        let partition = spec.partition_by.iter().map(&mut bind).collect::<SqlResult<Vec<_>>>()?;
        let mut order = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            order.push((bind(&item.expr)?, item.options.asc, item.options.nulls_first));
        }
        let args = call.arguments.iter().map(&mut bind).collect::<SqlResult<Vec<_>>>()?;
        let filter = call.filter.map(&mut bind).transpose()?;
        let window = Window { partition, order };
        let bound = bind_call(ast, call, args, filter, &spec, &window)?;
        let ty = match &bound {
            BoundOver::Aggregate { ty, .. } | BoundOver::Offset { ty, .. } => ty.clone(),
            _ => TypeKind::BigInt.not_null(),
        };
        let found = (window, bound);
        let index = self.found.iter().position(|f| *f == found).unwrap_or_else(|| {
            self.found.push(found);
            self.found.len() - 1
        });
        Ok(Expr::column(OVER_BASE + index, ty))
    }

    /// What OVER says, with the windows that it names put in.
    fn spec_of(&self, at: &Ast, over: &WindowType, depth: usize) -> SqlResult<OverAst> {
        let by_name = |name: &sqlparser::ast::Ident| -> SqlResult<OverAst> {
            if depth > 16 {
                return Err(SqlError::at(at, format!("the window '{}' is defined by itself", name.value)));
            }
            let found = self.named.iter().find(|d| d.0.value == name.value);
            match found.map(|d| &d.1) {
                None => Err(SqlError::new(format!("no window '{}' in the WINDOW clause", name.value)).or_at(name.span)),
                Some(NamedWindowExpr::NamedWindow(other)) => self.spec_of(at, &WindowType::NamedWindow(other.clone()), depth + 1),
                Some(NamedWindowExpr::WindowSpec(spec)) => self.spec_of(at, &WindowType::WindowSpec(spec.clone()), depth + 1),
            }
        };
        match over {
            WindowType::NamedWindow(name) => by_name(name),
            WindowType::WindowSpec(spec) => {
                let Some(name) = &spec.window_name else { return Ok(spec.clone()) };
                let base = by_name(name)?;
                if !spec.partition_by.is_empty() || (!spec.order_by.is_empty() && !base.order_by.is_empty()) {
                    return Err(SqlError::at(at, format!("the window '{}' has its own PARTITION BY and ORDER BY", name.value)));
                }
                Ok(OverAst {
                    window_name: None,
                    partition_by: base.partition_by,
                    order_by: if spec.order_by.is_empty() { base.order_by } else { spec.order_by.clone() },
                    window_frame: spec.window_frame.clone().or(base.window_frame),
                })
            }
        }
    }

    /// Rewrites all expressions: from the SELECT's input to what was grouped.
    pub(super) fn rewrite(&mut self, mut f: impl FnMut(Expr) -> SqlResult<Expr>) -> SqlResult<()> {
        for (window, call) in &mut self.found {
            let mut all: Vec<&mut Expr> = window.partition.iter_mut().chain(window.order.iter_mut().map(|o| &mut o.0)).collect();
            match call {
                BoundOver::Aggregate { args, filter, .. } => all.extend(args.iter_mut().chain(filter.iter_mut())),
                BoundOver::Offset { value, default, .. } => all.extend(std::iter::once(value).chain(default.iter_mut())),
                _ => {}
            }
            for expr in all {
                *expr = f(expr.clone())?;
            }
        }
        Ok(())
    }

    /// The input with a column for each window function; the expressions are what their placeholders stand for.
    pub(super) fn apply(self, mut input: Plan) -> (Plan, Vec<Expr>) {
        let mut columns: Vec<Option<usize>> = vec![None; self.found.len()];
        for i in 0..self.found.len() {
            if columns[i].is_some() {
                continue;
            }
            let window = self.found[i].0.clone();
            let together: Vec<usize> = (i..self.found.len()).filter(|j| self.found[*j].0 == window).collect();
            let mut prepared = Prepared::of(&input);
            let partition: Vec<usize> = window.partition.into_iter().map(|e| prepared.column_of(e)).collect();
            let order: Vec<SortKey> = window.order.into_iter().map(|(e, asc, nulls)| sort_key(prepared.column_of(e), asc, nulls)).collect();
            let calls: Vec<OverCall> = together.iter().map(|j| prepared.call(self.found[*j].1.clone())).collect();
            let prepared = prepared.finish(input);
            let base = prepared.columns.len();
            together.iter().enumerate().for_each(|(at, j)| columns[*j] = Some(base + at));
            let names = (0..calls.len()).map(|c| format!("$over{}", base + c)).collect();
            input = Plan::over(prepared, partition, order, calls, names);
        }
        let exprs = columns.into_iter().flatten().map(|c| input.column(c)).collect();
        (input, exprs)
    }
}

/// An input with further columns.
struct Prepared {
    projections: Vec<Expr>,
    names: Vec<String>,
}

impl Prepared {
    fn of(input: &Plan) -> Self {
        Prepared { projections: input.all_columns(), names: input.names() }
    }

    fn column_of(&mut self, expr: Expr) -> usize {
        self.projections.iter().position(|p| *p == expr).unwrap_or_else(|| {
            self.names.push(format!("$over{}", self.projections.len()));
            self.projections.push(expr);
            self.projections.len() - 1
        })
    }

    fn call(&mut self, call: BoundOver) -> OverCall {
        match call {
            BoundOver::RowNumber => OverCall::RowNumber,
            BoundOver::Rank => OverCall::Rank,
            BoundOver::DenseRank => OverCall::DenseRank,
            BoundOver::Offset { value, rows_before, default, ty } => {
                let value = self.column_of(value);
                OverCall::Offset { value, rows_before, default: default.map(|d| self.column_of(d)), ty }
            }
            BoundOver::Aggregate { function, args, filter, distinct, ty, frame } => {
                let arg_types = args.iter().map(|a| a.ty().clone()).collect();
                let args = args.into_iter().map(|a| self.column_of(a)).collect();
                let filter = filter.map(|f| self.column_of(f));
                OverCall::Aggregate { call: AggregateCall { function, args, arg_types, filter, distinct, ty }, frame }
            }
        }
    }

    fn finish(self, input: Plan) -> Plan {
        if self.projections.len() == input.columns.len() { input } else { Plan::calc(input, None, self.projections, self.names) }
    }
}

fn bind_call(
    ast: &Ast,
    call: &OverSyntax<'_>,
    args: Vec<Expr>,
    filter: Option<Expr>,
    spec: &OverAst,
    window: &Window,
) -> SqlResult<BoundOver> {
    let ranking = match call.name {
        "ROW_NUMBER" => Some(BoundOver::RowNumber),
        "RANK" => Some(BoundOver::Rank),
        "DENSE_RANK" => Some(BoundOver::DenseRank),
        _ => None,
    };
    if let Some(ranking) = ranking {
        if !args.is_empty() || spec.window_frame.is_some() || filter.is_some() || call.distinct {
            return Err(SqlError::at(ast, format!("{}() takes neither arguments nor a frame nor a FILTER", call.name)));
        }
        if ranking != BoundOver::RowNumber && window.order.is_empty() {
            return Err(SqlError::at(ast, format!("{}() needs ORDER BY in its window", call.name)));
        }
        return Ok(ranking);
    }
    if matches!(call.name, "LAG" | "LEAD") {
        return bind_offset(ast, call, args, spec, window);
    }
    if !super::expr::is_aggregate(call.name) {
        let error = SqlError::unsupported(ast, format!("{} OVER", call.name));
        return Err(error.hint(Some("window functions are the aggregates, ROW_NUMBER, RANK, DENSE_RANK, LAG and LEAD".into())));
    }
    let frame = match &spec.window_frame {
        Some(frame) => bind_frame(ast, frame, window)?,
        None => Frame::Range { preceding_ms: None },
    };
    let (function, args, result) = resolve_call(ast, call.name, args, call.distinct)?;
    // A frame has the row itself at least, but a FILTER may leave it out.
    let nullable = result.ty.nullable || (filter.is_some() && !result.never_null);
    let ty = result.ty.with_nullable(nullable);
    Ok(BoundOver::Aggregate { function, args, filter, distinct: call.distinct, ty, frame })
}

fn bind_offset(ast: &Ast, call: &OverSyntax<'_>, args: Vec<Expr>, spec: &OverAst, window: &Window) -> SqlResult<BoundOver> {
    let usage = format!("write {}(value [, rows [, default]]) OVER (... ORDER BY ...)", call.name);
    let wrong = |what: &str| SqlError::at(ast, format!("{} {what}", call.name)).hint(Some(usage.clone()));
    if window.order.is_empty() {
        return Err(wrong("needs ORDER BY in its window"));
    }
    if spec.window_frame.is_some() || call.filter.is_some() || call.distinct {
        return Err(wrong("takes neither a frame nor a FILTER nor DISTINCT"));
    }
    let rows = match args.get(1) {
        None => 1,
        Some(Expr::Literal { value: Literal::Int(n), ty }) if ty.kind.is_integer() && *n >= 0 => *n,
        Some(_) => return Err(wrong("takes a constant number of rows, not negative")),
    };
    let mut args = args.into_iter();
    let (Some(value), default, None) = (args.next(), args.nth(1), args.next()) else {
        return Err(wrong("takes one to three arguments"));
    };
    let default = match default {
        None => None,
        Some(default) => {
            let nullable = default.ty().nullable;
            Some(build::cast(default, value.ty().clone().with_nullable(nullable), false).map_err(|e| SqlError::at(ast, e))?)
        }
    };
    let nullable = value.ty().nullable || default.as_ref().is_none_or(|d| d.ty().nullable);
    let ty = value.ty().clone().with_nullable(nullable);
    Ok(BoundOver::Offset { value, rows_before: if call.name == "LAG" { rows } else { -rows }, default, ty })
}

fn bind_frame(ast: &Ast, frame: &WindowFrame, window: &Window) -> SqlResult<Frame> {
    let unsupported = |what: &str| {
        let error = SqlError::unsupported(ast, format!("a frame {what}"));
        error.hint(Some("a frame is ROWS or RANGE BETWEEN ... PRECEDING AND CURRENT ROW".into()))
    };
    if window.order.is_empty() {
        return Err(SqlError::at(ast, "a frame needs ORDER BY in its window"));
    }
    if !matches!(frame.end_bound, None | Some(WindowFrameBound::CurrentRow)) {
        return Err(unsupported("that does not end with CURRENT ROW"));
    }
    let preceding = match &frame.start_bound {
        WindowFrameBound::CurrentRow => Some(None),
        WindowFrameBound::Preceding(Some(bound)) => Some(Some(bound.as_ref())),
        WindowFrameBound::Preceding(None) => None,
        WindowFrameBound::Following(_) => return Err(unsupported("that begins with FOLLOWING")),
    };
    match frame.units {
        WindowFrameUnits::Rows => {
            let preceding = match preceding {
                None => None,
                Some(None) => Some(0),
                Some(Some(bound)) => Some(rows(bound)?),
            };
            Ok(Frame::Rows { preceding })
        }
        WindowFrameUnits::Range => {
            let preceding_ms = match preceding {
                None => None,
                Some(None) => Some(0),
                Some(Some(bound)) => Some(interval_ms(bound)?),
            };
            if preceding_ms.is_some_and(|ms| ms > 0) && !(window.order.len() == 1 && window.order[0].0.ty().kind.is_timestamp()) {
                return Err(SqlError::at(ast, "RANGE with an INTERVAL needs ORDER BY of one row time"));
            }
            Ok(Frame::Range { preceding_ms })
        }
        WindowFrameUnits::Groups => Err(unsupported("of GROUPS")),
    }
}

fn rows(ast: &Ast) -> SqlResult<u64> {
    let number = match ast {
        Ast::Value(v) => match &v.value {
            Value::Number(n, _) => n.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    number.ok_or_else(|| SqlError::at(ast, "ROWS takes a constant number of rows, as in ROWS BETWEEN 10 PRECEDING AND CURRENT ROW"))
}

fn interval_ms(ast: &Ast) -> SqlResult<i64> {
    match ExprBinder::plain(&Scope::default(), "a frame").bind(ast)? {
        Expr::Literal { value: Literal::Int(ms), ty } if ty.kind == TypeKind::IntervalDayTime && ms >= 0 => Ok(ms),
        _ => Err(SqlError::new("RANGE takes a constant INTERVAL of days to seconds, not negative").or_at(ast.span())),
    }
}
