//! Plans as text for people.

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_graph::{JobGraph, KeySpec, NodeKind, Partitioning, TaskGraph};
use rheos_operators::spec::{AggregateCall, Frame, OverCall, PatternElement, SortKey, Unnesting, WindowSpec, Windowing};

use crate::plan::{JoinScope, Plan, RankStrategy, Rel};

/// The plan as a tree: for each operator what it does, the kinds of changes it puts out and its upsert key; then the tasks.
pub fn explain(plan: &Plan, graph: &JobGraph) -> String {
    let mut out = String::from("== Plan ==\n");
    write_tree(plan, "", "", &mut out);
    out.push_str("\n== Tasks ==\n");
    let tasks = TaskGraph::of(graph);
    for task in &tasks.tasks {
        let names: Vec<&str> = task.nodes.iter().map(|n| graph.nodes[*n].name.as_str()).collect();
        out.push_str(&format!("{}: {} (parallelism {})\n", task.id, names.join(" -> "), task.parallelism));
        for edge in tasks.inputs(task.id) {
            let how = match &edge.partitioning {
                Partitioning::Forward => "forward".to_string(),
                Partitioning::Rebalance => "rebalance".to_string(),
                Partitioning::Broadcast => "broadcast".to_string(),
                Partitioning::Hash(KeySpec::Columns(columns)) => {
                    let from = &graph.nodes[tasks.tasks[edge.from].nodes[tasks.tasks[edge.from].nodes.len() - 1]];
                    let name = |c: &usize| from.schema.as_ref().map_or_else(|| c.to_string(), |s| s.fields[*c].name.clone());
                    format!("hash({})", columns.iter().map(name).collect::<Vec<_>>().join(", "))
                }
                Partitioning::Hash(KeySpec::Typed { kind, .. }) => format!("hash({kind})"),
            };
            out.push_str(&format!("   from {} by {how}\n", edge.from));
        }
        for node in &task.nodes {
            if let NodeKind::Source { table, .. } = &graph.nodes[*node].kind
                && !table.predicates.is_empty()
            {
                out.push_str(&format!("   {} conditions applied by the source\n", table.predicates.len()));
            }
        }
    }
    out
}

fn write_tree(plan: &Plan, first: &str, rest: &str, out: &mut String) {
    let (name, detail) = describe(plan);
    out.push_str(&format!("{first}{name}({detail})  changelog={}", plan.changelog));
    if !plan.changelog.is_insert_only() && !plan.unique_keys.is_empty() {
        let keys: Vec<String> = plan.unique_keys.iter().map(|k| format!("[{}]", column_names(plan, k))).collect();
        out.push_str(&format!(" upsertKey={}", keys.join(" or ")));
    }
    out.push('\n');
    let inputs = plan.inputs();
    for (i, input) in inputs.iter().enumerate() {
        let last = i + 1 == inputs.len();
        write_tree(input, &format!("{rest}+- "), &format!("{rest}{}", if last { "   " } else { "|  " }), out);
    }
}

/// The operator's name, and what it does.
pub(crate) fn describe(plan: &Plan) -> (&'static str, String) {
    match &plan.rel {
        Rel::Scan { spec, watermark, .. } => {
            let mut detail = format!("table=[{}], fields=[{}]", spec.name, plan.names().join(", "));
            let is_read =
                |i: usize| spec.projection.as_ref().is_none_or(|paths| paths.iter().any(|path| path.column == spec.schema.len() + i));
            let metadata = spec.metadata.iter().enumerate().filter(|(i, _)| is_read(*i));
            let metadata: Vec<&str> = metadata.map(|(_, field)| field.name.as_str()).collect();
            if !metadata.is_empty() {
                detail.push_str(&format!(", metadata=[{}]", metadata.join(", ")));
            }
            if let Some(watermark) = watermark {
                detail.push_str(&format!(", watermark=[{}]", text(watermark, plan)));
            }
            if !spec.predicates.is_empty() {
                let conditions: Vec<String> =
                    spec.predicates.iter().map(|p| format!("{} {:?} {:?}", spec.path_field(&p.path).name, p.comparison, p.value)).collect();
                detail.push_str(&format!(", filter=[{}]", conditions.join(", ")));
            }
            ("Source", detail)
        }
        Rel::Calc { input, condition, projections } => {
            let select: Vec<String> = projections
                .iter()
                .zip(&plan.columns)
                .map(|(p, c)| {
                    let text = text(p, input);
                    if text == c.name { text } else { format!("{text} AS {}", c.name) }
                })
                .collect();
            let filter = condition.as_ref().map(|c| format!(", where=[{}]", text(c, input))).unwrap_or_default();
            ("Calc", format!("select=[{}]{filter}", select.join(", ")))
        }
        Rel::Values { rows } => ("Values", format!("rows=[{}]", rows.len())),
        Rel::Expand { projections, .. } => ("Expand", format!("copies=[{}]", projections.len())),
        Rel::WindowTable { input, time, window, keys } => {
            let keys = if keys.is_empty() { String::new() } else { format!(", partitionBy=[{}]", column_names(input, keys)) };
            ("WindowTable", format!("window=[{}], time=[{}]{keys}", window_text(window), input.columns[*time].name))
        }
        Rel::Aggregate { input, keys, calls } => {
            ("GroupAggregate", format!("groupBy=[{}], select=[{}]", column_names(input, keys), calls_text(input, calls)))
        }
        Rel::WindowAggregate { input, windowing, window, keys, calls, properties, .. } => {
            let at = match windowing {
                Windowing::Time { column, .. } => input.columns[*column].name.clone(),
                Windowing::Attached { end, .. } => format!("{} (attached)", input.columns[*end].name),
            };
            let properties: Vec<String> = properties.iter().map(|p| format!("{p:?}").to_lowercase()).collect();
            let detail = format!(
                "window=[{}], time=[{at}], groupBy=[{}], select=[{}], bounds=[{}]",
                window_text(window),
                column_names(input, keys),
                calls_text(input, calls),
                properties.join(", ")
            );
            ("WindowAggregate", detail)
        }
        Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
            let keys: Vec<String> =
                left_keys.iter().zip(right_keys).map(|(l, r)| format!("{} = {}", left.columns[*l].name, right.columns[*r].name)).collect();
            let mut both = (**left).clone();
            both.columns.extend(right.columns.iter().cloned());
            let condition = condition.as_ref().map(|c| format!(", where=[{}]", text(c, &both))).unwrap_or_default();
            let column = |l: &usize| left.columns[*l].name.clone();
            let (name, when) = match scope {
                JoinScope::Unbounded => ("Join", String::new()),
                JoinScope::Windows { .. } => ("WindowJoin", String::new()),
                JoinScope::Interval(i) => (
                    "IntervalJoin",
                    format!(
                        ", interval=[{} - {} in {} ms to {} ms]",
                        right.columns[i.right_time].name,
                        column(&i.left_time),
                        i.lower_ms,
                        i.upper_ms
                    ),
                ),
                JoinScope::Lookup => ("LookupJoin", String::new()),
                JoinScope::Temporal { left_time, right_time } => {
                    ("TemporalJoin", format!(", version=[last {} not after {}]", right.columns[*right_time].name, column(left_time)))
                }
            };
            (name, format!("type=[{kind:?}], on=[{}]{when}{condition}", keys.join(", ")))
        }
        Rel::Union { .. } => ("Union", "all=[true]".into()),
        Rel::Over { input, order, calls, .. } if calls.is_empty() => ("TemporalSort", ordered(input, &[], order)),
        Rel::Over { input, partition, order, time, calls } => {
            let calls: Vec<String> = calls.iter().map(|c| over_text(input, c)).collect();
            let when = if time.is_some() { ", in order of time" } else { "" };
            ("OverAggregate", format!("{}, select=[{}]{when}", ordered(input, partition, order), calls.join(", ")))
        }
        Rel::Match { input, pattern } => {
            let elements: Vec<String> = pattern.elements.iter().map(|e| element_text(&pattern.variables[e.variable], e)).collect();
            let within = pattern.within_ms.map(|ms| format!(", within=[{ms} ms]")).unwrap_or_default();
            let detail = format!(
                "partitionBy=[{}], orderBy=[{}], pattern=[{}], measures=[{}], after=[{:?}]{within}",
                column_names(input, &pattern.partition),
                input.columns[pattern.time].name,
                elements.join(" "),
                pattern.names.join(", "),
                pattern.after
            );
            ("Match", detail)
        }
        Rel::Stream { mode, .. } => ("RelationToStream", format!("rows=[{mode:?}]")),
        Rel::Unnest { input, unnesting } => match unnesting {
            Unnesting::Elements { column, outer, .. } => {
                ("Unnest", format!("collection=[{}], outer=[{outer}]", input.columns[*column].name))
            }
            Unnesting::Times { column } => ("Replicate", format!("times=[{}]", input.columns[*column].name)),
        },
        Rel::Rank { input, partition, order, start, end, strategy, .. } => {
            let name = match strategy {
                RankStrategy::Updating => "Rank",
                RankStrategy::Window { .. } => "WindowRank",
                RankStrategy::Deduplicate { keep_last: true, .. } => "DeduplicateKeepLast",
                RankStrategy::Deduplicate { keep_last: false, .. } => "DeduplicateKeepFirst",
            };
            (name, format!("rank=[{start}..{end}], {}", ordered(input, partition, order)))
        }
        Rel::Limit { offset, fetch, .. } => {
            ("Limit", format!("offset=[{offset}], fetch=[{}]", fetch.map_or("all".into(), |f| f.to_string())))
        }
    }
}

fn ordered(input: &Plan, partition: &[usize], order: &[SortKey]) -> String {
    let order: Vec<String> =
        order.iter().map(|o| format!("{} {}", input.columns[o.column].name, if o.descending { "DESC" } else { "ASC" })).collect();
    format!("partitionBy=[{}], orderBy=[{}]", column_names(input, partition), order.join(", "))
}

pub(crate) fn column_names(plan: &Plan, columns: &[usize]) -> String {
    columns.iter().map(|c| plan.columns[*c].name.as_str()).collect::<Vec<_>>().join(", ")
}

fn over_text(input: &Plan, call: &OverCall) -> String {
    match call {
        OverCall::Aggregate { call, frame } => {
            let frame = match frame {
                Frame::Rows { preceding: Some(n) } => format!("ROWS {n} PRECEDING"),
                Frame::Rows { preceding: None } => "ROWS UNBOUNDED PRECEDING".into(),
                Frame::Range { preceding_ms: Some(ms) } => format!("RANGE {ms} ms PRECEDING"),
                Frame::Range { preceding_ms: None } => "RANGE UNBOUNDED PRECEDING".into(),
            };
            format!("{} {frame}", calls_text(input, std::slice::from_ref(call)))
        }
        OverCall::RowNumber => "ROW_NUMBER()".into(),
        OverCall::Rank => "RANK()".into(),
        OverCall::DenseRank => "DENSE_RANK()".into(),
        OverCall::Offset { value, rows_before, .. } => {
            let (name, rows) = if *rows_before < 0 { ("LEAD", -rows_before) } else { ("LAG", *rows_before) };
            format!("{name}({}, {rows})", input.columns[*value].name)
        }
    }
}

fn element_text(name: &str, element: &PatternElement) -> String {
    let quantifier = match (element.min, element.max) {
        (1, Some(1)) => return name.into(),
        (0, Some(1)) => "?".into(),
        (0, None) => "*".into(),
        (1, None) => "+".into(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    };
    format!("{name}{quantifier}{}", if element.greedy { "" } else { "?" })
}

pub(crate) fn calls_text(input: &Plan, calls: &[AggregateCall]) -> String {
    let one = |c: &AggregateCall| {
        let args = if c.args.is_empty() { "*".to_string() } else { column_names(input, &c.args) };
        let filter = c.filter.map(|f| format!(" FILTER {}", input.columns[f].name)).unwrap_or_default();
        format!("{}({}{args}){filter}", c.function, if c.distinct { "DISTINCT " } else { "" })
    };
    calls.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn window_text(window: &WindowSpec) -> String {
    match window {
        WindowSpec::Tumble { size_ms, .. } => format!("TUMBLE {size_ms} ms"),
        WindowSpec::Hop { size_ms, slide_ms, .. } => format!("HOP {size_ms} ms every {slide_ms} ms"),
        WindowSpec::Cumulate { max_ms, step_ms, .. } => format!("CUMULATE to {max_ms} ms by {step_ms} ms"),
        WindowSpec::Session { gap_ms } => format!("SESSION gap {gap_ms} ms"),
    }
}

/// An expression with the names of its input's columns.
fn text(expr: &Expr, input: &Plan) -> String {
    match expr {
        Expr::Column { index, .. } => input.columns.get(*index).map_or_else(|| format!("${index}"), |c| c.name.clone()),
        Expr::Literal { value, ty } => match value {
            Literal::Null => "NULL".into(),
            Literal::Bool(b) => b.to_string().to_uppercase(),
            Literal::Int(n) if ty.kind.is_integer() => n.to_string(),
            Literal::Int(n) => format!("{}:{n}", ty.kind),
            Literal::Float(bits) => format!("{:?}", f64::from_bits(*bits)),
            Literal::Decimal(d) => match &ty.kind {
                TypeKind::Decimal(_, s) => {
                    let mut out = String::new();
                    rheos_core::text::write_decimal(&mut out, d.parse().unwrap_or(0), *s);
                    out
                }
                _ => d.clone(),
            },
            Literal::Text(t) => format!("'{}'", t.replace('\'', "''")),
            Literal::Bytes(b) => format!("{} bytes", b.len()),
        },
        Expr::Call { function, args, .. } => {
            let parts: Vec<String> = args.iter().map(|a| text(a, input)).collect();
            let infix = !function.starts_with(|c: char| c.is_alphabetic()) || function == "AND" || function == "OR";
            match (infix, parts.len()) {
                (true, 2..) => format!("({})", parts.join(&format!(" {function} "))),
                _ if function.starts_with("IS ") => format!("{} {function}", parts.join(", ")),
                _ => format!("{function}({})", parts.join(", ")),
            }
        }
        Expr::Cast { arg, ty, or_null } => format!("{}({} AS {})", if *or_null { "TRY_CAST" } else { "CAST" }, text(arg, input), ty.kind),
        Expr::Case { branches, otherwise, .. } => {
            let branches: String = branches.iter().map(|(c, r)| format!(" WHEN {} THEN {}", text(c, input), text(r, input))).collect();
            let otherwise = otherwise.as_ref().map(|o| format!(" ELSE {}", text(o, input))).unwrap_or_default();
            format!("CASE{branches}{otherwise} END")
        }
    }
}
