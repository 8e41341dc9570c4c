//! EXPLAIN STATE: what each operator of a plan keeps, under which key, what removes it, and how it grows.

use rheos_operators::spec::{Frame, OverCall, StreamMode, WindowSpec, Windowing};

use crate::explain::{column_names, describe};
use crate::lower::LowerOptions;
use crate::plan::{JoinScope, Plan, RankStrategy, Rel};

/// The columns of the table.
pub const HEADER: [&str; 5] = ["operator", "state", "key", "removed", "growth"];

/// A row for each operator that keeps something, the source's side first. `None` in a cell never occurs: an operator without state has
/// no row.
pub fn explain_state(plan: &Plan, options: &LowerOptions) -> Vec<[String; 5]> {
    let mut rows = Vec::new();
    let mut seen: Vec<&Rel> = Vec::new();
    walk(plan, options, &mut seen, &mut rows);
    rows
}

fn walk<'p>(plan: &'p Plan, options: &LowerOptions, seen: &mut Vec<&'p Rel>, rows: &mut Vec<[String; 5]>) {
    // A part that is used twice is there once.
    if seen.contains(&&plan.rel) {
        return;
    }
    seen.push(&plan.rel);
    plan.inputs().into_iter().for_each(|input| walk(input, options, seen, rows));
    let (name, _) = describe(plan);
    rows.extend(states_of(plan, options).into_iter().map(|s| [name.to_string(), s.what, s.key, s.removed, s.growth]));
}

/// One piece of state.
struct State {
    what: String,
    key: String,
    removed: String,
    growth: String,
}

impl State {
    fn new(what: impl Into<String>, key: impl Into<String>, removed: impl Into<String>, growth: impl Into<String>) -> State {
        State { what: what.into(), key: key.into(), removed: removed.into(), growth: growth.into() }
    }
}

fn keys(plan: &Plan, columns: &[usize]) -> String {
    if columns.is_empty() { "none: one group".into() } else { column_names(plan, columns) }
}

/// What removes state that nothing else removes.
fn by_ttl(hinted_ms: Option<i64>, options: &LowerOptions) -> Option<String> {
    hinted_ms.or(options.state_ttl_ms).map(|ms| format!("{ms} ms after it was touched last (state TTL)"))
}

fn removal(retracts: bool, retracted: &str, ttl: Option<String>) -> String {
    match (retracts, ttl) {
        (true, Some(ttl)) => format!("{retracted}; {ttl}"),
        (true, None) => retracted.into(),
        (false, Some(ttl)) => ttl,
        (false, None) => "never".into(),
    }
}

fn unbounded(plan: &Plan, removed_by_ttl: bool, with: &str) -> String {
    match (plan.bounded, removed_by_ttl) {
        (true, _) => format!("with {with} of a bounded input"),
        (false, true) => format!("with {with} within the state TTL"),
        (false, false) => format!("with {with}, without bound (set table.exec.state.ttl to bound it)"),
    }
}

fn states_of(plan: &Plan, options: &LowerOptions) -> Vec<State> {
    let ttl = || by_ttl(plan.state_ttl_ms[0], options);
    match &plan.rel {
        Rel::Aggregate { input, keys: by, calls } => {
            let retracts = !input.changelog.is_insert_only();
            let removed = removal(retracts, "when the last row of its group is taken back", ttl());
            let mut states = vec![State::new(
                format!("accumulators of {} aggregates", calls.len()),
                keys(input, by),
                removed.clone(),
                if by.is_empty() { "one row".into() } else { unbounded(plan, ttl().is_some(), "the number of groups") },
            )];
            if calls.iter().any(|c| c.distinct) {
                let what = "the distinct values of DISTINCT aggregates, counted";
                states.push(State::new(what, keys(input, by), removed.clone(), unbounded(plan, ttl().is_some(), "the number of values")));
            }
            let keeps_values = |c: &rheos_operators::spec::AggregateCall| {
                let collects = matches!(c.function.as_str(), "LISTAGG" | "COLLECT" | "PERCENTILE")
                    || c.function.starts_with("ARRAY_AGG")
                    || c.function.starts_with("JSON_");
                collects || (retracts && matches!(c.function.as_str(), "MIN" | "MAX" | "FIRST_VALUE" | "LAST_VALUE"))
            };
            let all: Vec<&str> = calls.iter().filter(|c| keeps_values(c)).map(|c| c.function.as_str()).collect();
            if !all.is_empty() {
                let what = format!("all values of {}", all.join(", "));
                states.push(State::new(what, keys(input, by), removed, unbounded(plan, ttl().is_some(), "the number of rows")));
            }
            states
        }
        Rel::WindowAggregate { input, windowing, window, keys: by, calls, .. } => {
            let per = match (windowing, window) {
                (_, WindowSpec::Session { .. }) => "session",
                (Windowing::Attached { .. }, _) => "window",
                _ => "slice of windows",
            };
            let key = if by.is_empty() { per.to_string() } else { format!("{per}, {}", column_names(input, by)) };
            let what = format!("accumulators of {} aggregates", calls.len());
            vec![State::new(what, key, "when the watermark passes the window's end", format!("with the open {per}s times their keys"))]
        }
        Rel::WindowTable { window: WindowSpec::Session { .. }, keys: by, input, .. } => {
            vec![State::new("rows of open sessions", keys(input, by), "when the session ends", "with the rows of open sessions")]
        }
        Rel::Join { left, right, left_keys, right_keys, scope, .. } => match scope {
            JoinScope::Unbounded => [("left", left, left_keys, 0), ("right", right, right_keys, 1)]
                .into_iter()
                .map(|(side, input, by, at)| {
                    let ttl = by_ttl(plan.state_ttl_ms[at], options);
                    let retracts = !input.changelog.is_insert_only();
                    let growth = unbounded(input, ttl.is_some(), "the rows of the side");
                    State::new(
                        format!("rows of the {side} side"),
                        keys(input, by),
                        removal(retracts, "when the row is taken back", ttl),
                        growth,
                    )
                })
                .collect(),
            // What it has of the table is a cache, filled anew after a restart.
            JoinScope::Lookup => vec![],
            JoinScope::Windows { .. } => {
                let key = format!("window, {}", keys(left, left_keys));
                vec![State::new("rows of both sides", key, "when the watermark passes the window's end", "with the rows of open windows")]
            }
            JoinScope::Interval(i) => [("left", left, left_keys, i.upper_ms), ("right", right, right_keys, -i.lower_ms)]
                .into_iter()
                .map(|(side, input, by, reach_ms)| {
                    let removed = format!("when the watermark is {} ms past the row's time", reach_ms.max(0));
                    State::new(format!("rows of the {side} side"), keys(input, by), removed, "with the rows of that time")
                })
                .collect(),
            JoinScope::Temporal { .. } => vec![
                State::new(
                    "left rows that wait",
                    keys(left, left_keys),
                    "when the watermark passes the row's time",
                    "with the rows ahead of it",
                ),
                State::new(
                    "versions of the right side",
                    keys(right, right_keys),
                    "when the watermark passes a later version; the last one when it is deleted",
                    "with the number of keys",
                ),
            ],
        },
        Rel::Rank { input, partition, end, strategy, .. } => {
            let key = keys(input, partition);
            match strategy {
                RankStrategy::Window { .. } => {
                    let what = format!("the first {end} rows");
                    vec![State::new(
                        what,
                        format!("window, {key}"),
                        "when the watermark passes the window's end",
                        "with the open windows times their keys",
                    )]
                }
                RankStrategy::Deduplicate { keep_last: true, .. } => {
                    vec![State::new("the last row", key, removal(false, "", ttl()), unbounded(plan, ttl().is_some(), "the number of keys"))]
                }
                RankStrategy::Deduplicate { keep_last: false, .. } => {
                    let what = "the first row until its time has come, then the key alone";
                    vec![State::new(what, key, removal(false, "", ttl()), unbounded(plan, ttl().is_some(), "the number of keys"))]
                }
                RankStrategy::Updating if input.changelog.is_insert_only() => {
                    let growth = if partition.is_empty() {
                        format!("{end} rows")
                    } else {
                        unbounded(plan, ttl().is_some(), &format!("the number of partitions times {end}"))
                    };
                    vec![State::new(
                        format!("the first {end} rows"),
                        key,
                        "when better rows come".to_string() + &ttl().map(|t| format!("; {t}")).unwrap_or_default(),
                        growth,
                    )]
                }
                RankStrategy::Updating => {
                    let removed = removal(true, "when the row is taken back", ttl());
                    vec![State::new("all rows, in order", key, removed, unbounded(plan, ttl().is_some(), "the number of rows"))]
                }
            }
        }
        Rel::Over { input, partition, time, calls, .. } => {
            let key = keys(input, partition);
            let Some(_) = time else {
                let removed = removal(!input.changelog.is_insert_only(), "when the row is taken back", ttl());
                return vec![State::new("all rows, in order", key, removed, unbounded(plan, ttl().is_some(), "the number of rows"))];
            };
            let mut states =
                vec![State::new("rows that wait", key.clone(), "when the watermark passes the row's time", "with the rows ahead of it")];
            let is_unbounded = |c: &OverCall| match c {
                OverCall::Aggregate { frame: Frame::Range { preceding_ms }, .. } => preceding_ms.is_none(),
                OverCall::Aggregate { frame: Frame::Rows { preceding }, .. } => preceding.is_none(),
                OverCall::Offset { .. } => false,
                _ => true,
            };
            if calls.iter().any(is_unbounded) {
                states.push(State::new(
                    "accumulators of unbounded frames",
                    key.clone(),
                    "never",
                    unbounded(plan, false, "the number of partitions"),
                ));
            }
            let reach_ms = calls.iter().filter_map(|c| match c {
                OverCall::Aggregate { frame: Frame::Range { preceding_ms }, .. } => *preceding_ms,
                _ => None,
            });
            if let Some(ms) = reach_ms.max() {
                states.push(State::new(
                    "rows of frames",
                    key.clone(),
                    format!("when a row {ms} ms later has come out"),
                    "with the rows of that time",
                ));
            }
            if let Some(rows) = calls.iter().filter_map(OverCall::rows_looked_back).max() {
                let what = format!("the last {rows} rows");
                states.push(State::new(
                    what,
                    key,
                    "when later ones come",
                    unbounded(plan, false, &format!("the number of partitions times {rows}")),
                ));
            }
            states
        }
        Rel::Match { input, pattern } => {
            let key = keys(input, &pattern.partition);
            let bound = match pattern.within_ms {
                Some(ms) => format!("with the rows of {ms} ms (WITHIN)"),
                None => "with the rows of matches that are open; without WITHIN a match may stay open for ever".into(),
            };
            vec![
                State::new("rows that wait", key.clone(), "when the watermark passes the row's time", "with the rows ahead of it"),
                State::new("rows of matches that are open", key, "when no open match begins at or before the row", bound),
            ]
        }
        Rel::Stream { input, mode: StreamMode::Whole } => {
            let removed = removal(!input.changelog.is_insert_only(), "when the row is taken back", None);
            vec![State::new("all rows", "all columns", removed, unbounded(plan, false, "the number of rows"))]
        }
        Rel::Limit { .. } => vec![State::new("how many rows have passed", "none", "never", "one number")],
        Rel::Scan { .. }
        | Rel::Calc { .. }
        | Rel::Values { .. }
        | Rel::Expand { .. }
        | Rel::WindowTable { .. }
        | Rel::Union { .. }
        | Rel::Unnest { .. }
        | Rel::Stream { .. } => {
            vec![]
        }
    }
}
