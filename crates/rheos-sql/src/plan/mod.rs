//! The logical plan: relations over relations, each with what is known of its rows.
//!
//! A [`Plan`] is made by the constructors here only, which derive names, types, time attributes, changelog mode, unique keys
//! and window columns from the inputs. The optimizer takes plans apart and builds them again the same way, so that what is
//! known is always true of what is there.

mod inputs;
mod pattern;

use std::sync::Arc;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::TableSpec;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::{LogicalType, TypeKind};
use rheos_expr::Expr;
use rheos_operators::spec::{
    AfterMatch, AggregateCall, Interval, JoinKind, MatchExprs, OverCall, PatternElement, SortKey, StreamMode, Unnesting, WindowProperty,
    WindowSpec, Windowing,
};

use crate::catalog::Table;

pub(crate) use self::pattern::forget_unused;

/// A column of a plan's output.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: LogicalType,
    /// Whether it is a time attribute, and of which time.
    pub time: Option<TimeAttribute>,
}

/// What a time attribute follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeAttribute {
    /// Event time (a row time): watermarks speak of it.
    Event,
    /// Processing time: the clock of the operator that looks at it.
    Processing,
}

impl Column {
    /// Whether it is a row time.
    pub fn is_row_time(&self) -> bool {
        self.time == Some(TimeAttribute::Event)
    }
}

/// The columns that say in which window a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowColumns {
    /// Which windows.
    pub window: WindowSpec,
    /// `window_start`
    pub start: Option<usize>,
    /// `window_end`
    pub end: Option<usize>,
    /// `window_time`
    pub time: Option<usize>,
}

/// A relation with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What computes it.
    pub rel: Rel,
    /// Its columns.
    pub columns: Vec<Column>,
    /// The kinds of changes in its rows.
    pub changelog: ChangelogMode,
    /// Sets of columns that are unique in it (upsert keys of a changelog). The empty set means at most one row.
    pub unique_keys: Vec<Vec<usize>>,
    /// Its window columns, if it has any.
    pub window: Option<WindowColumns>,
    /// Whether it ends.
    pub bounded: bool,
    /// For an aggregate and for the sides of a join: how long their state is kept, where a hint says so, in milliseconds.
    pub state_ttl_ms: [Option<i64>; 2],
}

/// What computes a relation. Columns are positions in the input.
#[derive(Debug, Clone, PartialEq)]
pub enum Rel {
    /// Reads a table's physical columns (or the projection in `spec`).
    Scan {
        /// The table.
        table: Arc<Table>,
        /// What the connector is asked for.
        spec: TableSpec,
        /// The watermark over the output columns.
        watermark: Option<Expr>,
    },
    /// Filters, then projects.
    Calc {
        /// The input.
        input: Box<Plan>,
        /// Which rows stay.
        condition: Option<Expr>,
        /// The output columns.
        projections: Vec<Expr>,
    },
    /// Constant rows.
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// Each row several times.
    Expand {
        /// The input.
        input: Box<Plan>,
        /// One list of output columns for each copy.
        projections: Vec<Vec<Expr>>,
    },
    /// A window table function: the input's columns, then window_start, window_end, window_time.
    WindowTable {
        /// The input.
        input: Box<Plan>,
        /// The row time.
        time: usize,
        /// Which windows.
        window: WindowSpec,
        /// The keys of sessions.
        keys: Vec<usize>,
    },
    /// GROUP BY without windows: keys, then aggregates.
    Aggregate {
        /// The input.
        input: Box<Plan>,
        /// The keys.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
    },
    /// GROUP BY with windows: keys, aggregates, then window properties.
    WindowAggregate {
        /// The input.
        input: Box<Plan>,
        /// Where the window of a row is found.
        windowing: Windowing,
        /// Which windows these are.
        window: WindowSpec,
        /// The keys, the window's columns aside.
        keys: Vec<usize>,
        /// The aggregates.
        calls: Vec<AggregateCall>,
        /// The window's columns that are put out.
        properties: Vec<WindowProperty>,
        /// The type of the row time, and so of window_time.
        time_ty: LogicalType,
    },
    /// A join.
    Join {
        /// Port 0.
        left: Box<Plan>,
        /// Port 1.
        right: Box<Plan>,
        /// Which rows.
        kind: JoinKind,
        /// Keys of the left, equal to those of the right.
        left_keys: Vec<usize>,
        /// Keys of the right.
        right_keys: Vec<usize>,
        /// A condition beside, over both sides' columns.
        condition: Option<Expr>,
        /// Which rows can meet, by time.
        scope: JoinScope,
    },
    /// All rows of all inputs.
    Union {
        /// The inputs.
        inputs: Vec<Plan>,
    },
    /// The input's columns, then window functions over a partition; the optimizer makes ROW_NUMBER() with a filter a rank.
    Over {
        /// The input.
        input: Box<Plan>,
        /// PARTITION BY
        partition: Vec<usize>,
        /// ORDER BY
        order: Vec<SortKey>,
        /// The row time, where the order is that of event time over an insert-only input: then rows come out once, in order.
        time: Option<usize>,
        /// The functions.
        calls: Vec<OverCall>,
    },
    /// MATCH_RECOGNIZE: the partition's columns, then the measures.
    Match {
        /// The input.
        input: Box<Plan>,
        /// The pattern.
        pattern: Box<MatchPattern>,
    },
    /// Each row several times: the input's columns, then those of the elements of a collection.
    Unnest {
        /// The input.
        input: Box<Plan>,
        /// What makes several rows of one.
        unnesting: Unnesting,
    },
    /// The first rows of each partition: the input's columns, then the rank if asked for.
    Rank {
        /// The input.
        input: Box<Plan>,
        /// PARTITION BY
        partition: Vec<usize>,
        /// ORDER BY
        order: Vec<SortKey>,
        /// The first rank, from 1.
        start: u64,
        /// The last rank.
        end: u64,
        /// Whether the rank is a column.
        rank_column: bool,
        /// How it can be computed.
        strategy: RankStrategy,
    },
    /// A relation as a stream of rows that are only added.
    Stream {
        /// The input.
        input: Box<Plan>,
        /// What of it.
        mode: StreamMode,
    },
    /// Rows in order of arrival.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// Rows passed over.
        offset: u64,
        /// Rows put out.
        fetch: Option<u64>,
    },
}

/// Which rows of two inputs can meet in a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinScope {
    /// All.
    Unbounded,
    /// Those of the same window.
    Windows {
        /// The column of the window's end on the left.
        left_end: usize,
        /// The column of the window's end on the right.
        right_end: usize,
    },
    /// Those whose row times are near each other.
    Interval(Interval),
    /// A left row and the version of the right one that was valid at its time.
    Temporal {
        /// The row time of the left.
        left_time: usize,
        /// The time from which a version is valid.
        right_time: usize,
    },
    /// A left row and the right ones that there are when it comes: the right side is a table that is looked up.
    Lookup,
}

impl JoinScope {
    /// The columns that it is about, of the left and of the right.
    pub fn columns(&self) -> Option<(usize, usize)> {
        match *self {
            JoinScope::Unbounded | JoinScope::Lookup => None,
            JoinScope::Windows { left_end, right_end } => Some((left_end, right_end)),
            JoinScope::Interval(i) => Some((i.left_time, i.right_time)),
            JoinScope::Temporal { left_time, right_time } => Some((left_time, right_time)),
        }
    }

    /// The same about other columns.
    pub fn map(self, left: impl Fn(usize) -> usize, right: impl Fn(usize) -> usize) -> JoinScope {
        match self {
            JoinScope::Unbounded | JoinScope::Lookup => self,
            JoinScope::Windows { left_end, right_end } => JoinScope::Windows { left_end: left(left_end), right_end: right(right_end) },
            JoinScope::Interval(i) => JoinScope::Interval(Interval { left_time: left(i.left_time), right_time: right(i.right_time), ..i }),
            JoinScope::Temporal { left_time, right_time } => {
                JoinScope::Temporal { left_time: left(left_time), right_time: right(right_time) }
            }
        }
    }
}

/// A MATCH_RECOGNIZE over columns of its input.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchPattern {
    /// PARTITION BY
    pub partition: Vec<usize>,
    /// The row time.
    pub time: usize,
    /// The order of rows of one time.
    pub order: Vec<SortKey>,
    /// The names of the variables.
    pub variables: Vec<String>,
    /// The elements, whose variables are positions in `variables`.
    pub elements: Vec<PatternElement>,
    /// For each variable its condition.
    pub defines: Vec<Option<MatchExprs>>,
    /// The measures, with their names.
    pub measures: MatchExprs,
    /// The names of the measures.
    pub names: Vec<String>,
    /// Which measure is a row time (MATCH_ROWTIME).
    pub row_time: Option<usize>,
    /// Where matching goes on.
    pub after: AfterMatch,
    /// WITHIN, in milliseconds.
    pub within_ms: Option<i64>,
}

/// How a rank is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankStrategy {
    /// Updated as rows come.
    Updating,
    /// Once, when the window of the row (whose end is this column) closes.
    Window {
        /// The column of the window's end.
        end: usize,
    },
    /// The first or last row by row time.
    Deduplicate {
        /// The row time.
        time: usize,
        /// Whether the last row is kept.
        keep_last: bool,
    },
}

/// Names of the columns that window table functions add.
pub const WINDOW_COLUMNS: [&str; 3] = ["window_start", "window_end", "window_time"];

impl Plan {
    /// The columns as a schema.
    pub fn schema(&self) -> Schema {
        Schema::new(self.columns.iter().map(|c| Field::new(&c.name, c.ty.clone())).collect())
    }

    /// A reference to column `index` of this plan.
    pub fn column(&self, index: usize) -> Expr {
        Expr::column(index, self.columns[index].ty.clone())
    }

    /// References to all columns.
    pub fn all_columns(&self) -> Vec<Expr> {
        (0..self.columns.len()).map(|i| self.column(i)).collect()
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// Reads the physical columns of a table.
    pub fn scan(table: &Arc<Table>, changelog: ChangelogMode, bounded: bool) -> Plan {
        let watermark = table.watermark.as_ref().map(|(_, expr)| expr.clone());
        Self::scan_of(table, table.spec.clone(), watermark, changelog, bounded)
    }

    /// Reads what `spec` asks of a table.
    pub fn scan_of(table: &Arc<Table>, spec: TableSpec, watermark: Option<Expr>, changelog: ChangelogMode, bounded: bool) -> Plan {
        // A column that is the row time itself is marked by the projection above, which knows all declared columns.
        let columns: Vec<Column> = spec.output_schema().fields.into_iter().map(|f| Column { name: f.name, ty: f.ty, time: None }).collect();
        let key = spec.primary_key.iter().map(|k| match &spec.projection {
            None => Some(*k),
            Some(paths) => paths.iter().position(|p| p.column == *k && p.fields.is_empty()),
        });
        let key: Option<Vec<usize>> = key.collect();
        let unique_keys = key.filter(|k| !k.is_empty()).into_iter().collect();
        Plan {
            rel: Rel::Scan { table: Arc::clone(table), spec, watermark },
            columns,
            changelog,
            unique_keys,
            window: None,
            bounded,
            state_ttl_ms: [None; 2],
        }
    }

    /// Filters and projects; names are given for the projections.
    pub fn calc(input: Plan, condition: Option<Expr>, projections: Vec<Expr>, names: Vec<String>) -> Plan {
        let of_input = |index: usize| projections.iter().position(|p| matches!(p, Expr::Column { index: i, .. } if *i == index));
        let columns = projections
            .iter()
            .zip(names)
            .map(|(p, name)| {
                // A column of an enclosing query is none of the input's.
                let time = match p {
                    Expr::Column { index, .. } => input.columns.get(*index).and_then(|c| c.time),
                    Expr::Call { function, .. } if function == "PROCTIME" => Some(TimeAttribute::Processing),
                    _ => None,
                };
                Column { name, ty: p.ty().clone(), time }
            })
            .collect();
        let unique_keys = map_keys(&input.unique_keys, of_input);
        let window = input.window.and_then(|w| w.map(of_input));
        Plan {
            columns,
            changelog: input.changelog,
            unique_keys,
            window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Calc { input: Box::new(input), condition, projections },
        }
    }

    /// These columns of `input`, in this order.
    pub fn project(input: Plan, columns: &[usize]) -> Plan {
        let (projections, names) = columns.iter().map(|c| (input.column(*c), input.columns[*c].name.clone())).unzip();
        Self::calc(input, None, projections, names)
    }

    /// The rows where `condition` is true.
    pub fn filter(input: Plan, condition: Expr) -> Plan {
        let (projections, names) = (input.all_columns(), input.names());
        Self::calc(input, Some(condition), projections, names)
    }

    /// The same rows with row times marked: what the declaration of a table says of its columns.
    pub fn with_row_time(mut self, column: Option<usize>) -> Plan {
        if let Some(column) = column {
            self.columns[column].time = Some(TimeAttribute::Event);
        }
        self
    }

    /// The same with what a hint says of its state.
    pub fn with_state_ttl(mut self, ttl_ms: [Option<i64>; 2]) -> Plan {
        self.state_ttl_ms = ttl_ms;
        self
    }

    /// Constant rows; all of the same types.
    pub fn values(rows: Vec<Vec<Expr>>, types: Vec<LogicalType>, names: Vec<String>) -> Plan {
        let columns = types.into_iter().zip(names).map(|(ty, name)| Column { name, ty, time: None }).collect();
        let unique_keys = if rows.len() == 1 { vec![vec![]] } else { vec![] };
        Plan {
            rel: Rel::Values { rows },
            columns,
            changelog: ChangelogMode::InsertOnly,
            unique_keys,
            window: None,
            bounded: true,
            state_ttl_ms: [None; 2],
        }
    }

    /// Each row once for each list of projections.
    pub fn expand(input: Plan, projections: Vec<Vec<Expr>>, columns: Vec<Column>) -> Plan {
        let window = input.window.and_then(|w| {
            w.map(|index| {
                (0..columns.len())
                    .find(|c| projections.iter().all(|list| matches!(&list[*c], Expr::Column { index: i, .. } if *i == index)))
            })
        });
        Plan {
            columns,
            changelog: input.changelog,
            unique_keys: vec![],
            window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Expand { input: Box::new(input), projections },
        }
    }

    /// A window table function.
    pub fn window_table(input: Plan, time: usize, window: WindowSpec, keys: Vec<usize>) -> Plan {
        let base = input.columns.len();
        let mut columns = input.columns.clone();
        // Flink's row time is the window's from here on.
        columns.iter_mut().for_each(|c| c.time = None);
        let time_ty = input.columns[time].ty.kind.clone().not_null();
        let attribute = input.columns[time].time;
        columns.extend(window_columns(&time_ty, attribute, &[WindowProperty::Start, WindowProperty::End, WindowProperty::Time]));
        let one_window = matches!(window, WindowSpec::Tumble { .. } | WindowSpec::Session { .. });
        let unique_keys = input
            .unique_keys
            .iter()
            .map(|k| if one_window { k.clone() } else { k.iter().copied().chain([base, base + 1]).collect() })
            .collect();
        let columns_of_window = WindowColumns { window, start: Some(base), end: Some(base + 1), time: Some(base + 2) };
        Plan {
            columns,
            changelog: input.changelog,
            unique_keys,
            window: Some(columns_of_window),
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::WindowTable { input: Box::new(input), time, window, keys },
        }
    }

    /// GROUP BY without windows. `names` are for the aggregates.
    pub fn aggregate(input: Plan, keys: Vec<usize>, calls: Vec<AggregateCall>, names: Vec<String>) -> Plan {
        let mut columns: Vec<Column> = keys.iter().map(|k| Column { time: None, ..input.columns[*k].clone() }).collect();
        columns.extend(calls.iter().zip(names).map(|(c, name)| Column { name, ty: c.ty.clone(), time: None }));
        // Without aggregates over inserts, a group that is there never changes: DISTINCT of an append-only stream.
        let changelog =
            if calls.is_empty() && input.changelog.is_insert_only() { ChangelogMode::InsertOnly } else { ChangelogMode::Retract };
        let unique_keys = vec![(0..keys.len()).collect()];
        Plan {
            columns,
            changelog,
            unique_keys,
            window: None,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Aggregate { input: Box::new(input), keys, calls },
        }
    }

    /// GROUP BY with windows. `names` are for the aggregates; `time_ty` is the type of the row time.
    #[allow(clippy::too_many_arguments)] // the parts of one clause
    pub fn window_aggregate(
        input: Plan,
        windowing: Windowing,
        window: WindowSpec,
        keys: Vec<usize>,
        calls: Vec<AggregateCall>,
        names: Vec<String>,
        properties: Vec<WindowProperty>,
        time_ty: LogicalType,
    ) -> Plan {
        let mut columns: Vec<Column> = keys.iter().map(|k| Column { time: None, ..input.columns[*k].clone() }).collect();
        columns.extend(calls.iter().zip(names).map(|(c, name)| Column { name, ty: c.ty.clone(), time: None }));
        let base = columns.len();
        let attribute = match windowing {
            Windowing::Time { column, .. } => input.columns[column].time,
            Windowing::Attached { .. } => input.window.and_then(|w| input.columns[w.time?].time).or(Some(TimeAttribute::Event)),
        };
        columns.extend(window_columns(&time_ty, attribute, &properties));
        let at = |p: WindowProperty| properties.iter().position(|q| *q == p).map(|i| base + i);
        let columns_of_window =
            WindowColumns { window, start: at(WindowProperty::Start), end: at(WindowProperty::End), time: at(WindowProperty::Time) };
        // Windows of one kind and end are one, but for sessions of different keys; those that grow share a start.
        let bound = columns_of_window.end.or(columns_of_window.start.filter(|_| !matches!(window, WindowSpec::Cumulate { .. })));
        let exact = columns_of_window.end_is_enough() || columns_of_window.start.is_some();
        let bounds: Option<Vec<usize>> =
            bound.filter(|_| exact).map(|b| match columns_of_window.start.filter(|s| *s != b && !columns_of_window.end_is_enough()) {
                Some(start) => vec![start, b],
                None => vec![b],
            });
        let unique_keys = bounds.map(|b| (0..keys.len()).chain(b).collect()).into_iter().collect();
        Plan {
            columns,
            changelog: ChangelogMode::InsertOnly,
            unique_keys,
            window: Some(columns_of_window),
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::WindowAggregate { input: Box::new(input), windowing, window, keys, calls, properties, time_ty },
        }
    }

    /// A join of equal keys.
    pub fn join(
        left: Plan,
        right: Plan,
        kind: JoinKind,
        (left_keys, right_keys): (Vec<usize>, Vec<usize>),
        condition: Option<Expr>,
        scope: JoinScope,
    ) -> Plan {
        let split = left.columns.len();
        let one_sided = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let pad_left = matches!(kind, JoinKind::Right | JoinKind::Full);
        let pad_right = matches!(kind, JoinKind::Left | JoinKind::Full);
        let padded = |c: &Column, pad: bool, timed: bool| Column {
            ty: c.ty.clone().with_nullable(c.ty.nullable || pad),
            time: c.time.filter(|_| timed),
            ..c.clone()
        };
        let left_timed = scope != JoinScope::Unbounded;
        let right_timed = matches!(scope, JoinScope::Windows { .. } | JoinScope::Interval(_));
        // Rows wait by the times that the join looks at: another time may be long past when a row comes out.
        let (left_time, right_time) = scope.columns().unzip();
        let waits = matches!(scope, JoinScope::Interval(_) | JoinScope::Temporal { .. });
        let keeps = |i: usize, c: &Column, by: Option<usize>| !waits || Some(i) == by || !c.is_row_time();
        let of_left = left.columns.iter().enumerate().map(|(i, c)| padded(c, pad_left, left_timed && keeps(i, c, left_time)));
        let mut columns: Vec<Column> = of_left.collect();
        if !one_sided {
            let of_right = right.columns.iter().enumerate();
            columns.extend(of_right.map(|(i, c)| padded(c, pad_right, right_timed && keeps(i, c, right_time))));
        }
        let append = left.changelog.is_insert_only() && right.changelog.is_insert_only();
        let changelog = match kind {
            _ if matches!(scope, JoinScope::Temporal { .. } | JoinScope::Lookup) => left.changelog,
            _ if scope != JoinScope::Unbounded => ChangelogMode::InsertOnly,
            JoinKind::Inner | JoinKind::Semi if append => ChangelogMode::InsertOnly,
            _ => ChangelogMode::Retract,
        };
        let mut unique_keys = Vec::new();
        if one_sided {
            unique_keys = left.unique_keys.clone();
        } else {
            let covers = |keys: &[usize], unique: &[Vec<usize>]| unique.iter().any(|u| u.iter().all(|c| keys.contains(c)));
            let shifted = |k: &Vec<usize>| k.iter().map(|c| c + split).collect::<Vec<_>>();
            // A row of one side meets at most one of the other: that side's keys hold for the pairs.
            if covers(&right_keys, &right.unique_keys) && !pad_left {
                unique_keys.extend(left.unique_keys.iter().cloned());
            }
            if covers(&left_keys, &left.unique_keys) && !pad_right {
                unique_keys.extend(right.unique_keys.iter().map(shifted));
            }
            // Padded rows of both sides of a FULL join can be alike in keys that are NULL.
            if unique_keys.is_empty() && kind != JoinKind::Full {
                let pairs = left.unique_keys.iter().flat_map(|l| right.unique_keys.iter().map(move |r| [l.clone(), shifted(r)].concat()));
                unique_keys.extend(pairs);
            }
        }
        let window = match (scope, kind) {
            (JoinScope::Windows { .. }, JoinKind::Right) => right.window.and_then(|w| w.map(|c| Some(c + split))),
            (JoinScope::Windows { .. }, JoinKind::Full) => None,
            (JoinScope::Windows { .. } | JoinScope::Lookup, _) => left.window,
            _ => None,
        };
        Plan {
            columns,
            changelog,
            unique_keys,
            window,
            bounded: left.bounded && right.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Join { left: Box::new(left), right: Box::new(right), kind, left_keys, right_keys, condition, scope },
        }
    }

    /// All rows of inputs of the same types.
    pub fn union(inputs: Vec<Plan>) -> Plan {
        let mut columns = inputs[0].columns.clone();
        for (i, column) in columns.iter_mut().enumerate() {
            column.ty.nullable = inputs.iter().any(|p| p.columns[i].ty.nullable);
            column.time = column.time.filter(|time| inputs.iter().all(|p| p.columns[i].time == Some(*time)));
        }
        let append = inputs.iter().all(|p| p.changelog.is_insert_only());
        let window = inputs[0].window.filter(|w| inputs.iter().all(|p| p.window == Some(*w)));
        Plan {
            columns,
            changelog: if append { ChangelogMode::InsertOnly } else { ChangelogMode::Retract },
            unique_keys: vec![],
            window,
            bounded: inputs.iter().all(|p| p.bounded),
            state_ttl_ms: [None; 2],
            rel: Rel::Union { inputs },
        }
    }

    /// The input with window functions, named `names`.
    pub fn over(input: Plan, partition: Vec<usize>, order: Vec<SortKey>, calls: Vec<OverCall>, names: Vec<String>) -> Plan {
        let ahead = |c: &OverCall| matches!(c, OverCall::Offset { rows_before, .. } if *rows_before < 0);
        // Without functions it is the order alone that counts; else rows of one time are peers.
        let time = match order.as_slice() {
            [only, rest @ ..]
                if (rest.is_empty() || calls.is_empty())
                    && !only.descending
                    && input.columns[only.column].time.is_some()
                    && input.changelog.is_insert_only()
                    && !calls.iter().any(ahead) =>
            {
                Some(only.column)
            }
            _ => None,
        };
        let base = input.columns.len();
        let mut columns = input.columns.clone();
        // Rows wait for their time: another one may be long past when they come out.
        for (i, column) in columns.iter_mut().enumerate() {
            if time.is_none() || (Some(i) != time && column.is_row_time()) {
                column.time = None;
            }
        }
        columns.extend(calls.iter().zip(names).map(|(c, name)| Column { name, ty: over_type(c), time: None }));
        let mut unique_keys = input.unique_keys.clone();
        let numbers = calls.iter().enumerate().filter(|(_, c)| **c == OverCall::RowNumber);
        unique_keys.extend(numbers.map(|(i, _)| partition.iter().copied().chain([base + i]).collect()));
        Plan {
            columns,
            changelog: if time.is_some() { ChangelogMode::InsertOnly } else { ChangelogMode::Retract },
            unique_keys,
            window: input.window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Over { input: Box::new(input), partition, order, time, calls },
        }
    }

    /// MATCH_RECOGNIZE.
    pub fn pattern(input: Plan, pattern: MatchPattern) -> Plan {
        let mut columns: Vec<Column> = pattern.partition.iter().map(|k| Column { time: None, ..input.columns[*k].clone() }).collect();
        columns.extend(pattern.measures.exprs.iter().zip(&pattern.names).enumerate().map(|(i, (expr, name))| Column {
            name: name.clone(),
            ty: expr.ty().clone(),
            time: (pattern.row_time == Some(i)).then_some(input.columns[pattern.time].time).flatten(),
        }));
        Plan {
            columns,
            changelog: ChangelogMode::InsertOnly,
            unique_keys: vec![],
            window: None,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Match { input: Box::new(input), pattern: Box::new(pattern) },
        }
    }

    /// Each row with the elements of a collection, which are `elements`.
    pub fn unnest(input: Plan, unnesting: Unnesting, elements: Vec<Column>) -> Plan {
        let mut columns = input.columns.clone();
        columns.extend(elements);
        Plan {
            columns,
            changelog: input.changelog,
            unique_keys: vec![],
            window: input.window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Unnest { input: Box::new(input), unnesting },
        }
    }

    /// The first rows of each partition. A rank column is named `name`.
    pub fn rank(
        input: Plan,
        partition: Vec<usize>,
        order: Vec<SortKey>,
        (start, end): (u64, u64),
        rank_column: Option<String>,
        strategy: RankStrategy,
    ) -> Plan {
        let base = input.columns.len();
        let mut columns = input.columns.clone();
        let changelog = match strategy {
            RankStrategy::Window { .. } => ChangelogMode::InsertOnly,
            RankStrategy::Deduplicate { keep_last: false, .. } => ChangelogMode::InsertOnly,
            _ => ChangelogMode::Retract,
        };
        let mut unique_keys = input.unique_keys.clone();
        if start == end {
            unique_keys.insert(0, partition.clone());
        }
        let has_rank = rank_column.is_some();
        if let Some(name) = rank_column {
            columns.push(Column { name, ty: TypeKind::BigInt.not_null(), time: None });
            unique_keys.insert(0, partition.iter().copied().chain([base]).collect());
        }
        if changelog != ChangelogMode::InsertOnly {
            // The time that the last row of a key is chosen by says from when on that row is valid.
            let valid_from = match strategy {
                RankStrategy::Deduplicate { time, .. } => Some(time),
                _ => None,
            };
            columns.iter_mut().enumerate().for_each(|(i, c)| c.time = c.time.filter(|_| Some(i) == valid_from));
        }
        if let RankStrategy::Deduplicate { time, keep_last: false } = strategy {
            // First rows wait for their time: another one may be long past when they come out.
            columns.iter_mut().enumerate().filter(|(i, c)| *i != time && c.is_row_time()).for_each(|(_, c)| c.time = None);
        }
        Plan {
            columns,
            changelog,
            unique_keys,
            window: input.window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Rank { input: Box::new(input), partition, order, start, end, rank_column: has_rank, strategy },
        }
    }

    /// A relation as a stream.
    pub fn stream(input: Plan, mode: StreamMode) -> Plan {
        let columns = input.columns.iter().map(|c| Column { time: None, ..c.clone() }).collect();
        Plan {
            columns,
            changelog: ChangelogMode::InsertOnly,
            unique_keys: vec![],
            window: None,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Stream { input: Box::new(input), mode },
        }
    }

    /// Some rows in order of arrival.
    pub fn limit(input: Plan, offset: u64, fetch: Option<u64>) -> Plan {
        Plan {
            columns: input.columns.clone(),
            changelog: input.changelog,
            unique_keys: input.unique_keys.clone(),
            window: input.window,
            bounded: input.bounded,
            state_ttl_ms: [None; 2],
            rel: Rel::Limit { input: Box::new(input), offset, fetch },
        }
    }
}

impl WindowColumns {
    /// Whether two windows of this kind with the same end are the same: all but sessions.
    pub fn end_is_enough(&self) -> bool {
        !matches!(self.window, WindowSpec::Session { .. })
    }

    /// The same with each column found by `f`; `None` where none is left.
    pub fn map(self, f: impl Fn(usize) -> Option<usize>) -> Option<WindowColumns> {
        let mapped =
            WindowColumns { window: self.window, start: self.start.and_then(&f), end: self.end.and_then(&f), time: self.time.and_then(&f) };
        (mapped.start.is_some() || mapped.end.is_some() || mapped.time.is_some()).then_some(mapped)
    }
}

fn window_columns(time_ty: &LogicalType, attribute: Option<TimeAttribute>, properties: &[WindowProperty]) -> Vec<Column> {
    let bound = TypeKind::Timestamp(3).not_null();
    properties
        .iter()
        .map(|p| match p {
            WindowProperty::Start => Column { name: WINDOW_COLUMNS[0].into(), ty: bound.clone(), time: None },
            WindowProperty::End => Column { name: WINDOW_COLUMNS[1].into(), ty: bound.clone(), time: None },
            WindowProperty::Time => Column { name: WINDOW_COLUMNS[2].into(), ty: time_ty.clone().with_nullable(false), time: attribute },
        })
        .collect()
}

/// The type of a window function's values.
fn over_type(call: &OverCall) -> LogicalType {
    match call {
        OverCall::Aggregate { call, .. } => call.ty.clone(),
        OverCall::RowNumber | OverCall::Rank | OverCall::DenseRank => TypeKind::BigInt.not_null(),
        OverCall::Offset { ty, .. } => ty.clone(),
    }
}

fn map_keys(keys: &[Vec<usize>], f: impl Fn(usize) -> Option<usize>) -> Vec<Vec<usize>> {
    keys.iter().filter_map(|key| key.iter().map(|c| f(*c)).collect::<Option<Vec<usize>>>()).collect()
}
