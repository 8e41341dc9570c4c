//! Plans to job graphs: operators chosen, equal sub-plans made one, exchanges placed.
//!
//! Which operators put out -U follows from who needs it: a consumer that replaces rows by an upsert key which it can see
//! needs none. A changelog is exchanged by hash of a key, so that the order of changes to a row is kept.

mod constraints;
mod lookup;
mod phases;

pub use constraints::{LengthEnforcer, NotNullEnforcer};
pub use phases::AggregatePhases;

use std::collections::HashMap;

use serde_json::Value;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::registry::Registry;
use rheos_core::schema::Schema;
use rheos_expr::{EvalConfig, Expr};
use rheos_graph::{JobGraph, KeySpec, Node, NodeId, NodeKind, Partitioning, WatermarkSpec};
use rheos_operators::spec::{
    CalcSpec, ChangelogNormalizeSpec, DeduplicateSpec, ExpandSpec, Frame, GroupAggregateSpec, IntervalJoinSpec, JoinSide, JoinSpec,
    LimitSpec, MatchSpec, OverCall, OverSpec, ProcessingTimeSpec, RankSpec, RelationToStreamSpec, StreamMode, TemporalJoinSpec, UnnestSpec,
    UpsertMaterializeSpec, ValuesSpec, WatermarkExprSpec, WindowAggregateSpec, WindowJoinSpec, WindowRankSpec, WindowSpec, WindowTableSpec,
    Windowing,
};

use crate::error::{SqlError, SqlResult};
use crate::explain::{column_names, describe};
use crate::optimizer;
use crate::plan::{JoinScope, Plan, RankStrategy, Rel, TimeAttribute};

/// What lowering depends on besides the plan.
#[derive(Debug, Clone)]
pub struct LowerOptions {
    /// How many subtasks an operator runs as.
    pub parallelism: usize,
    /// Whether watermarks follow each row (`pipeline.auto-watermark-interval` = 0).
    pub per_row_watermarks: bool,
    /// The time zone and the like.
    pub config: EvalConfig,
    /// How long state that nothing touches is kept (`table.exec.state.ttl`), in milliseconds; `None`: for ever.
    pub state_ttl_ms: Option<i64>,
    /// In how many phases rows are aggregated (`table.optimizer.agg-phase-strategy`).
    pub aggregate_phases: AggregatePhases,
    /// What is done with NULL for a sink's column that is NOT NULL.
    pub not_null_enforcer: NotNullEnforcer,
    /// What is done with texts and bytes that are not of the length of a sink's column.
    pub length_enforcer: LengthEnforcer,
    /// How long a lookup may take (`table.exec.async-lookup.timeout`), in milliseconds.
    pub lookup_timeout_ms: u64,
    /// Whether changelog sources with a primary key may give changes twice (`table.exec.source.cdc-events-duplicate`).
    pub cdc_duplicates: bool,
}

/// Lowers plans into one job.
pub struct Lowering<'a> {
    registry: &'a Registry,
    options: LowerOptions,
    graph: JobGraph,
    /// What was lowered already: the same sub-plan is computed once.
    lowered: Vec<(Plan, bool, Vec<NodeId>)>,
    uids: HashMap<String, usize>,
}

impl<'a> Lowering<'a> {
    /// Begins a job.
    pub fn new(name: &str, registry: &'a Registry, options: LowerOptions) -> Self {
        Lowering { registry, options, graph: JobGraph::new(name), lowered: Vec::new(), uids: HashMap::new() }
    }

    /// Adds a query and the table that takes its rows.
    pub fn add_sink(&mut self, plan: &Plan, table: TableSpec, parallelism: usize) -> SqlResult<()> {
        let sink = self.registry.connector(&table.connector).and_then(|c| c.sink.as_ref());
        let sink = sink
            .ok_or_else(|| SqlError::new(format!("'{}' cannot be written: the connector '{}' only reads", table.name, table.connector)))?;
        let accepts = sink.describe(&table)?.accepts;
        if accepts.is_insert_only() && !plan.changelog.is_insert_only() {
            let culprit = first_updating(plan).map_or_else(|| "the query".into(), |p| describe(p).0.to_string());
            let error = SqlError::new(format!("'{}' takes inserts only, but the query updates rows (first in its {culprit})", table.name));
            return Err(error.hint(Some(
                "write to a changelog format such as debezium-json, or aggregate over windows, whose results are final".into(),
            )));
        }
        // A sink replaces rows by its own key: where that is no key of the query, it has to be told which rows go.
        let same_key = |key: &&Vec<usize>| key.len() == table.primary_key.len() && table.primary_key.iter().all(|k| key.contains(k));
        let key = if table.primary_key.is_empty() { plan.unique_keys.first() } else { plan.unique_keys.iter().find(same_key) };
        let need_update_before = accepts != ChangelogMode::Upsert || key.is_none();
        let mut inputs = self.lower(plan, need_update_before)?;
        // Rows of one sink key that are several rows of the query: none may be lost when another goes.
        let is_covered = |unique: &Vec<usize>| unique.iter().all(|c| table.primary_key.contains(c));
        if !table.primary_key.is_empty() && !plan.changelog.is_insert_only() && !plan.unique_keys.iter().any(is_covered) {
            inputs = vec![self.materialized(plan, &inputs, &table.primary_key, accepts != ChangelogMode::Upsert)?];
        }
        let inputs = self.enforced(plan, inputs, &table)?;
        let detail = format!("table=[{}], connector=[{}]", table.name, table.connector);
        let parallelism = if parallelism == 0 { self.options.parallelism } else { parallelism };
        // Changes of one row stay in one channel: by the sink's key, the row's, or else by all its columns.
        let partitioning = if plan.changelog.is_insert_only() {
            Partitioning::Forward
        } else if accepts == ChangelogMode::Upsert && !table.primary_key.is_empty() {
            Partitioning::Hash(KeySpec::Columns(table.primary_key.clone()))
        } else {
            let all = || (0..plan.columns.len()).collect();
            Partitioning::Hash(KeySpec::Columns(plan.unique_keys.first().cloned().unwrap_or_else(all)))
        };
        self.node("Sink", detail, NodeKind::Sink { table }, parallelism, None, plan.changelog, &[(&inputs, 0, partitioning)]);
        Ok(())
    }

    /// The finished job.
    pub fn finish(self) -> JobGraph {
        self.graph
    }

    /// Lowers a plan; its rows come out of all the nodes returned.
    fn lower(&mut self, plan: &Plan, need_update_before: bool) -> SqlResult<Vec<NodeId>> {
        let need = need_update_before && !plan.changelog.is_insert_only();
        if let Some((_, _, nodes)) =
            self.lowered.iter().find(|(p, n, _)| *n == need && p.rel == plan.rel && p.state_ttl_ms == plan.state_ttl_ms)
        {
            return Ok(nodes.clone());
        }
        let nodes = self.lower_new(plan, need)?;
        if optimizer::is_repeatable(plan) {
            self.lowered.push((plan.clone(), need, nodes.clone()));
        }
        Ok(nodes)
    }

    fn lower_new(&mut self, plan: &Plan, need: bool) -> SqlResult<Vec<NodeId>> {
        refuse_carried_processing_time(plan)?;
        refuse_watermarks(plan)?;
        let output = plan.schema();
        let config = self.options.config.clone();
        let p = self.options.parallelism;
        match &plan.rel {
            Rel::Scan { spec, .. } if need && plan.changelog == ChangelogMode::Upsert => {
                let Some(key) = plan.unique_keys.first().filter(|key| !key.is_empty()) else {
                    let message = format!("'{}' gives updates without the rows that they replace, which this query needs", spec.name);
                    let hint = "declare its PRIMARY KEY (...) NOT ENFORCED: then the last row of each key is kept to tell what is replaced";
                    return Err(SqlError::new(message).hint(Some(hint.into())));
                };
                let key = key.clone();
                let inputs = self.lower(plan, false)?;
                Ok(vec![self.normalized(plan, &inputs, &key)?])
            }
            Rel::Scan { spec, .. } if self.is_told_by_key(plan)? => {
                let key = plan.unique_keys.first().cloned().unwrap_or_default();
                let (table, watermark) = (spec.clone(), self.watermark(plan)?);
                let (name, detail) = describe(plan);
                let node = NodeKind::Source { table, watermark };
                let source = self.node(name, detail, node, 1, Some(output), plan.changelog, &[]);
                Ok(vec![self.normalized(plan, &[source], &key)?])
            }
            Rel::Scan { spec, .. } => {
                let watermark = self.watermark(plan)?;
                let kind = NodeKind::Source { table: spec.clone(), watermark };
                let (name, detail) = describe(plan);
                // A changelog's order is that of its file: one reader, and no rebalancing after it.
                let p = if plan.changelog.is_insert_only() { p } else { 1 };
                Ok(vec![self.node(name, detail, kind, p, Some(output), plan.changelog, &[])])
            }
            Rel::Values { rows } => {
                let table = TableSpec {
                    name: "values".into(),
                    connector: "values".into(),
                    schema: Schema::default(),
                    primary_key: vec![],
                    partition_keys: vec![],
                    metadata: vec![],
                    options: [("connector".to_string(), "values".to_string())].into(),
                    projection: None,
                    predicates: vec![],
                    alternatives: vec![],
                };
                let one = NodeKind::Source { table, watermark: None };
                let source = self.node("Source", "values".into(), one, 1, Some(Schema::default()), ChangelogMode::InsertOnly, &[]);
                let spec = to_value(&ValuesSpec { rows: rows.clone(), output: output.clone(), config })?;
                Ok(vec![self.operator(plan, "values", spec, 1, &[(&[source], 0, Partitioning::Forward)])])
            }
            Rel::Calc { input, condition, projections } => {
                let keeps_key = plan.unique_keys.iter().any(|k| !k.is_empty() || input.unique_keys.contains(k));
                let inputs = self.lower(input, need || condition.is_some() || !keeps_key)?;
                let spec = to_value(&CalcSpec { condition: condition.clone(), projections: projections.clone(), output, config })?;
                Ok(self.forward(plan, "calc", &spec, &inputs))
            }
            Rel::Expand { input, projections } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&ExpandSpec { projections: projections.clone(), output, config })?;
                Ok(self.forward(plan, "expand", &spec, &inputs))
            }
            Rel::Union { inputs } => {
                let mut nodes = Vec::new();
                for input in inputs {
                    nodes.extend(self.lower(input, true)?);
                }
                Ok(nodes)
            }
            Rel::WindowTable { input, time, window, keys } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&WindowTableSpec { input: input.schema(), time: *time, window: *window, keys: keys.clone(), output })?;
                let (kind, spec) = self.timed(&[(input, *time)], false, "window-table", spec)?;
                if matches!(window, WindowSpec::Session { .. }) {
                    return Ok(vec![self.keyed(plan, &kind, spec, &inputs, keys)]);
                }
                Ok(self.forward(plan, &kind, &spec, &inputs))
            }
            Rel::Aggregate { input, keys, calls } => {
                let inputs = self.lower(input, true)?;
                let spec = GroupAggregateSpec {
                    input: input.schema(),
                    keys: keys.clone(),
                    aggregates: calls.clone(),
                    input_retracts: !input.changelog.is_insert_only(),
                    emit_update_before: need,
                    state_ttl_ms: plan.state_ttl_ms[0].or(self.options.state_ttl_ms),
                    output,
                };
                let local = self.first_phase(input, keys.clone(), None, calls);
                Ok(vec![self.aggregate(plan, input, "group-aggregate", to_value(&spec)?, &inputs, keys, local)?])
            }
            Rel::WindowAggregate { input, windowing, window, keys, calls, properties, .. } => {
                let inputs = self.lower(input, true)?;
                let spec = WindowAggregateSpec {
                    input: input.schema(),
                    windowing: *windowing,
                    keys: keys.clone(),
                    aggregates: calls.clone(),
                    input_retracts: !input.changelog.is_insert_only(),
                    properties: properties.clone(),
                    output,
                };
                // Without keys, windows that are attached can still be spread by their ends.
                let by = match windowing {
                    Windowing::Attached { end, .. } if keys.is_empty() => vec![*end],
                    _ => keys.clone(),
                };
                if let Windowing::Time { column, .. } = windowing
                    && input.columns[*column].time == Some(TimeAttribute::Processing)
                {
                    let (kind, spec) = self.timed(&[(input, *column)], false, "window-aggregate", to_value(&spec)?)?;
                    return Ok(vec![self.keyed(plan, &kind, spec, &inputs, &by)]);
                }
                // What says the window goes through the first phase too. Sessions are of rows, not of slices.
                let local = match (*windowing, window) {
                    (_, WindowSpec::Session { .. }) => None,
                    (Windowing::Time { column, window }, _) => self.first_phase(input, keys.clone(), Some((column, window)), calls),
                    (Windowing::Attached { start, end }, _) => {
                        self.first_phase(input, keys.iter().copied().chain([start, end]).collect(), None, calls)
                    }
                };
                Ok(vec![self.aggregate(plan, input, "window-aggregate", to_value(&spec)?, &inputs, &by, local)?])
            }
            Rel::Join { left, scope: JoinScope::Lookup, .. } => {
                let inputs = self.lower(left, true)?;
                let spec = to_value(&self.lookup(plan)?)?;
                Ok(self.forward(plan, "lookup-join", &spec, &inputs))
            }
            Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
                let versions = matches!(scope, JoinScope::Temporal { .. });
                if versions && !right.unique_keys.iter().any(|key| key.iter().all(|c| right_keys.contains(c))) {
                    let error = SqlError::new("FOR SYSTEM_TIME AS OF needs equality with the whole primary key of the versioned table");
                    return Err(error.hint(Some("compare each column of its PRIMARY KEY with '='".into())));
                }
                let all_versions = if versions { versions_of(right) } else { None };
                let right = all_versions.as_ref().unwrap_or(right);
                let (l, r) = (self.lower(left, true)?, self.lower(right, !versions)?);
                let ttl_ms = self.options.state_ttl_ms.filter(|_| *scope == JoinScope::Unbounded);
                let side = |p: &Plan, keys: &[usize], hinted_ms: Option<i64>| JoinSide {
                    schema: p.schema(),
                    keys: keys.to_vec(),
                    retracts: !p.changelog.is_insert_only(),
                    unique_key: p.unique_keys.first().cloned(),
                    state_ttl_ms: hinted_ms.filter(|_| *scope == JoinScope::Unbounded).or(ttl_ms),
                };
                let [left_ms, right_ms] = plan.state_ttl_ms;
                let (left_side, right_side) = (side(left, left_keys, left_ms), side(right, right_keys, right_ms));
                let (kind, condition) = (*kind, condition.clone());
                let (name, spec) = match *scope {
                    JoinScope::Windows { left_end, right_end } => {
                        let (left, right) = (left_side, right_side);
                        let spec = WindowJoinSpec { kind, left, right, left_end, right_end, condition, output, config };
                        ("window-join", to_value(&spec)?)
                    }
                    JoinScope::Lookup => return Err(SqlError::new("a table that is looked up is no input")),
                    JoinScope::Unbounded => {
                        let spec = JoinSpec { kind, left: left_side, right: right_side, condition, output, config };
                        ("join", to_value(&spec)?)
                    }
                    JoinScope::Interval(interval) => {
                        let spec = IntervalJoinSpec { kind, left: left_side, right: right_side, interval, condition, output, config };
                        ("interval-join", to_value(&spec)?)
                    }
                    JoinScope::Temporal { left_time, right_time } => {
                        let (left, right) = (left_side, right_side);
                        let spec = TemporalJoinSpec { kind, left, right, left_time, right_time, condition, output, config };
                        ("temporal-join", to_value(&spec)?)
                    }
                };
                let hash = |keys: &[usize], end: Option<usize>| {
                    let columns = if keys.is_empty() { end.into_iter().collect() } else { keys.to_vec() };
                    Partitioning::Hash(KeySpec::Columns(columns))
                };
                // Without keys, windows can still be spread by their ends.
                let (le, re) = match *scope {
                    JoinScope::Windows { left_end, right_end } => (Some(left_end), Some(right_end)),
                    _ => (None, None),
                };
                let p = if left_keys.is_empty() && le.is_none() { 1 } else { p };
                let (name, spec) = match scope {
                    JoinScope::Interval(i) => self.timed(&[(left, i.left_time), (right, i.right_time)], false, name, spec)?,
                    _ => (name.to_string(), spec),
                };
                let edges: [(&[NodeId], usize, Partitioning); 2] = [(&l, 0, hash(left_keys, le)), (&r, 1, hash(right_keys, re))];
                Ok(vec![self.operator(plan, &name, spec, p, &edges)])
            }
            Rel::Over { input, partition, order, time, calls } => {
                let by_time =
                    |c: &OverCall| matches!(c, OverCall::Aggregate { frame: Frame::Range { preceding_ms: Some(ms) }, .. } if *ms > 0);
                if time.is_none() && calls.iter().any(by_time) {
                    let error =
                        SqlError::new("RANGE with an INTERVAL needs ORDER BY of a row time, over an input whose rows are only added");
                    return Err(error.hint(Some("ROWS BETWEEN n PRECEDING AND CURRENT ROW works over any order".into())));
                }
                let inputs = self.lower(input, true)?;
                let spec = to_value(&OverSpec {
                    input: input.schema(),
                    partition: partition.clone(),
                    order: order.clone(),
                    time: *time,
                    calls: calls.clone(),
                    input_retracts: !input.changelog.is_insert_only(),
                    state_ttl_ms: self.options.state_ttl_ms,
                    output,
                })?;
                let (kind, spec) = match time {
                    Some(time) => self.timed(&[(input, *time)], true, "over-aggregate", spec)?,
                    None => ("over-aggregate".to_string(), spec),
                };
                Ok(vec![self.keyed(plan, &kind, spec, &inputs, partition)])
            }
            Rel::Match { input, pattern } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&MatchSpec {
                    input: input.schema(),
                    partition: pattern.partition.clone(),
                    time: pattern.time,
                    order: pattern.order.clone(),
                    pattern: pattern.elements.clone(),
                    defines: pattern.defines.clone(),
                    measures: pattern.measures.clone(),
                    after: pattern.after,
                    within_ms: pattern.within_ms,
                    output,
                    config,
                })?;
                let (kind, spec) = self.timed(&[(input, pattern.time)], true, "match", spec)?;
                Ok(vec![self.keyed(plan, &kind, spec, &inputs, &pattern.partition)])
            }
            Rel::Stream { input, mode } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&RelationToStreamSpec { input: input.schema(), mode: *mode })?;
                match mode {
                    StreamMode::Whole => {
                        let all: Vec<usize> = (0..input.columns.len()).collect();
                        Ok(vec![self.keyed(plan, "relation-to-stream", spec, &inputs, &all)])
                    }
                    _ => Ok(self.forward(plan, "relation-to-stream", &spec, &inputs)),
                }
            }
            Rel::Unnest { input, unnesting } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&UnnestSpec { unnesting: *unnesting, output })?;
                Ok(self.forward(plan, "unnest", &spec, &inputs))
            }
            Rel::Rank { input, partition, order, start, end, rank_column, strategy } => {
                let inputs = self.lower(input, true)?;
                let input_schema = input.schema();
                let (kind, spec) = match strategy {
                    RankStrategy::Deduplicate { time, keep_last } if !rank_column => (
                        "deduplicate",
                        to_value(&DeduplicateSpec {
                            input: input_schema,
                            keys: partition.clone(),
                            time: *time,
                            keep_last: *keep_last,
                            state_ttl_ms: self.options.state_ttl_ms,
                        })?,
                    ),
                    RankStrategy::Window { end: window_end } => {
                        let spec = WindowRankSpec {
                            input: input_schema,
                            window_end: *window_end,
                            partition: partition.clone(),
                            order: order.clone(),
                            start: *start,
                            end: *end,
                            rank_column: *rank_column,
                            output,
                        };
                        ("window-rank", to_value(&spec)?)
                    }
                    _ => {
                        let spec = RankSpec {
                            input: input_schema,
                            partition: partition.clone(),
                            order: order.clone(),
                            start: *start,
                            end: *end,
                            rank_column: *rank_column,
                            input_retracts: !input.changelog.is_insert_only(),
                            state_ttl_ms: self.options.state_ttl_ms,
                            output,
                        };
                        ("rank", to_value(&spec)?)
                    }
                };
                let by = match strategy {
                    RankStrategy::Window { end } if partition.is_empty() => vec![*end],
                    _ => partition.clone(),
                };
                let (kind, spec) = match strategy {
                    RankStrategy::Deduplicate { time, .. } if !rank_column => self.timed(&[(input, *time)], true, kind, spec)?,
                    _ => (kind.to_string(), spec),
                };
                Ok(vec![self.keyed(plan, &kind, spec, &inputs, &by)])
            }
            Rel::Limit { input, offset, fetch } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&LimitSpec { input: input.schema(), offset: *offset, fetch: *fetch })?;
                Ok(vec![self.operator(plan, "limit", spec, 1, &[(&inputs, 0, Partitioning::Rebalance)])])
            }
        }
    }

    /// Whether the rows that a source of changes takes back are told by its key: because it may give some changes twice, or because what
    /// is read beside a row is that of the change, and another where the row is taken back.
    fn is_told_by_key(&self, plan: &Plan) -> SqlResult<bool> {
        let Rel::Scan { spec, .. } = &plan.rel else { return Ok(false) };
        if plan.changelog != ChangelogMode::Retract {
            return Ok(false);
        }
        let has_key = plan.unique_keys.iter().any(|key| !key.is_empty());
        let reads = |paths: &Vec<ColumnPath>| paths.iter().any(|path| path.column >= spec.schema.len());
        let reads_metadata = spec.projection.as_ref().map_or(!spec.metadata.is_empty(), reads);
        if reads_metadata && !has_key {
            let message = format!("'{}' gives changes, and their metadata tell nothing of the rows that they take back", spec.name);
            let hint = "declare its PRIMARY KEY (...) NOT ENFORCED: then the last row of each key is kept with its metadata";
            return Err(SqlError::new(message).hint(Some(hint.into())));
        }
        Ok(has_key && (self.options.cdc_duplicates || reads_metadata))
    }

    /// The watermark of a source.
    fn watermark(&self, plan: &Plan) -> SqlResult<Option<WatermarkSpec>> {
        let Rel::Scan { spec, watermark: Some(expr), .. } = &plan.rel else { return Ok(None) };
        Ok(Some(WatermarkSpec {
            generator: "expression".into(),
            spec: to_value(&WatermarkExprSpec { expr: expr.clone(), config: self.options.config.clone() })?,
            idle_timeout_ms: spec.duration_ms("scan.watermark.idle-timeout")?.filter(|ms| *ms > 0),
            per_row: self.options.per_row_watermarks,
        }))
    }

    /// A source of upserts with the last row of each key kept, so that each change knows what it replaces.
    fn normalized(&mut self, plan: &Plan, inputs: &[NodeId], key: &[usize]) -> SqlResult<NodeId> {
        let spec = to_value(&ChangelogNormalizeSpec {
            input: plan.schema(),
            keys: key.to_vec(),
            emit_update_before: true,
            state_ttl_ms: self.options.state_ttl_ms,
        })?;
        let detail = format!("key=[{}]", column_names(plan, key));
        self.keyed_node("ChangelogNormalize", detail, "changelog-normalize", spec, plan, inputs, key)
    }

    /// The rows of a query by the key of a sink.
    fn materialized(&mut self, plan: &Plan, inputs: &[NodeId], key: &[usize], emit_update_before: bool) -> SqlResult<NodeId> {
        let spec = to_value(&UpsertMaterializeSpec {
            input: plan.schema(),
            keys: key.to_vec(),
            emit_update_before,
            state_ttl_ms: self.options.state_ttl_ms,
        })?;
        let detail = format!("key=[{}]", column_names(plan, key));
        self.keyed_node("UpsertMaterialize", detail, "upsert-materialize", spec, plan, inputs, key)
    }

    /// A node that stands for no relation of the plan: it has the columns of `plan`, whose rows come by hash of `key`.
    #[allow(clippy::too_many_arguments)]
    fn keyed_node(
        &mut self,
        name: &str,
        detail: String,
        kind: &str,
        spec: Value,
        plan: &Plan,
        inputs: &[NodeId],
        key: &[usize],
    ) -> SqlResult<NodeId> {
        let node = NodeKind::Operator { kind: kind.into(), spec };
        let by = Partitioning::Hash(KeySpec::Columns(key.to_vec()));
        let p = self.options.parallelism;
        Ok(self.node(name, detail, node, p, Some(plan.schema()), ChangelogMode::Retract, &[(inputs, 0, by)]))
    }

    /// An operator over the time columns of its inputs: as it is for event time, following the clock for processing time.
    fn timed(&self, times: &[(&Plan, usize)], at_once: bool, kind: &str, spec: Value) -> SqlResult<(String, Value)> {
        if times.iter().any(|(plan, time)| plan.columns[*time].time != Some(TimeAttribute::Processing)) {
            return Ok((kind.into(), spec));
        }
        let times = times.iter().map(|(_, time)| *time).collect();
        Ok(("processing-time".into(), to_value(&ProcessingTimeSpec { times, at_once, kind: kind.into(), spec })?))
    }

    /// One node for each input stream, so that a row stays in its subtask.
    fn forward(&mut self, plan: &Plan, kind: &str, spec: &Value, inputs: &[NodeId]) -> Vec<NodeId> {
        inputs
            .iter()
            .map(|input| {
                let p = self.graph.nodes[*input].parallelism;
                self.operator(plan, kind, spec.clone(), p, &[(&[*input], 0, Partitioning::Forward)])
            })
            .collect()
    }

    /// A node whose rows come by hash of key columns; without keys it has one subtask.
    fn keyed(&mut self, plan: &Plan, kind: &str, spec: Value, inputs: &[NodeId], keys: &[usize]) -> NodeId {
        let p = if keys.is_empty() { 1 } else { self.options.parallelism };
        self.operator(plan, kind, spec, p, &[(inputs, 0, Partitioning::Hash(KeySpec::Columns(keys.to_vec())))])
    }

    fn operator(
        &mut self,
        plan: &Plan,
        kind: &str,
        spec: Value,
        parallelism: usize,
        inputs: &[(&[NodeId], usize, Partitioning)],
    ) -> NodeId {
        let (name, detail) = describe(plan);
        let node = NodeKind::Operator { kind: kind.into(), spec };
        self.node(name, detail, node, parallelism, Some(plan.schema()), plan.changelog, inputs)
    }

    #[allow(clippy::too_many_arguments)]
    fn node(
        &mut self,
        name: &str,
        detail: String,
        kind: NodeKind,
        parallelism: usize,
        schema: Option<Schema>,
        changelog: ChangelogMode,
        inputs: &[(&[NodeId], usize, Partitioning)],
    ) -> NodeId {
        let uid = self.uid(name, &kind, inputs);
        self.node_of(uid, name, detail, kind, parallelism, schema, changelog, inputs)
    }

    /// A node with an id that it is given.
    #[allow(clippy::too_many_arguments)]
    fn node_of(
        &mut self,
        uid: String,
        name: &str,
        detail: String,
        kind: NodeKind,
        parallelism: usize,
        schema: Option<Schema>,
        changelog: ChangelogMode,
        inputs: &[(&[NodeId], usize, Partitioning)],
    ) -> NodeId {
        let id = self.graph.add(Node { id: 0, uid, name: name.into(), detail, kind, parallelism, schema, changelog });
        for (nodes, port, partitioning) in inputs {
            for from in *nodes {
                let from_parallelism = self.graph.nodes[*from].parallelism;
                let partitioning = match partitioning {
                    Partitioning::Forward if from_parallelism != parallelism => Partitioning::Rebalance,
                    other => other.clone(),
                };
                self.graph.connect(*from, id, *port, partitioning);
            }
        }
        id
    }

    /// A fingerprint of the node and all that is before it: stable while the query around it is edited.
    fn uid(&mut self, name: &str, kind: &NodeKind, inputs: &[(&[NodeId], usize, Partitioning)]) -> String {
        let mut text = format!("{name}|{}", serde_json::to_string(kind).unwrap_or_default());
        for (nodes, port, _) in inputs {
            for node in *nodes {
                text.push_str(&format!("|{port}:{}", self.graph.nodes[*node].uid));
            }
        }
        let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        let base = format!("{}-{hash:016x}", name.to_lowercase());
        let count = self.uids.entry(base.clone()).or_default();
        *count += 1;
        if *count == 1 { base } else { format!("{base}-{count}") }
    }
}

fn to_value<T: serde::Serialize>(spec: &T) -> SqlResult<Value> {
    serde_json::to_value(spec).map_err(|e| SqlError::new(format!("an operator's specification cannot be written: {e}")))
}

/// Only what passes rows on one by one knows the watermark that holds for each.
fn refuse_watermarks(plan: &Plan) -> SqlResult<()> {
    let exprs: Vec<&Expr> = match &plan.rel {
        Rel::Join { condition, .. } => condition.iter().collect(),
        Rel::Expand { projections, .. } => projections.iter().flatten().collect(),
        _ => vec![],
    };
    let mut asks = false;
    exprs
        .into_iter()
        .for_each(|expr| expr.visit(&mut |e| asks |= matches!(e, Expr::Call { function, .. } if function == "CURRENT_WATERMARK")));
    if !asks {
        return Ok(());
    }
    let error = SqlError::new("CURRENT_WATERMARK in the condition of a join");
    Err(error.hint(Some("compute it in a subquery of one side, or filter behind the join".into())))
}

/// A row that carries a window of processing time comes to the next operator after that window's end, by whatever it took on its way:
/// only what gives a row its window can close it in time.
fn refuse_carried_processing_time(plan: &Plan) -> SqlResult<()> {
    let carries = |p: &Plan| p.window.and_then(|w| w.time).is_some_and(|t| p.columns[t].time == Some(TimeAttribute::Processing));
    let closes = match &plan.rel {
        Rel::WindowAggregate { input, windowing: Windowing::Attached { .. }, .. } => carries(input),
        Rel::Join { left, scope: JoinScope::Windows { .. }, .. } => carries(left),
        Rel::Rank { input, strategy: RankStrategy::Window { .. }, .. } => carries(input),
        _ => false,
    };
    if !closes {
        return Ok(());
    }
    let error = SqlError::new("a window of processing time can only be aggregated where it is made");
    Err(error.hint(Some("GROUP BY window_start, window_end right over the window table function, or use event time".into())))
}

/// The rows that a deduplication to the last of each key chooses from: each of them is a version. The deduplication itself puts out one
/// change for a key and batch, which tells too little of the past.
fn versions_of(plan: &Plan) -> Option<Plan> {
    match &plan.rel {
        Rel::Rank { input, strategy: RankStrategy::Deduplicate { keep_last: true, .. }, rank_column: false, .. } => Some((**input).clone()),
        Rel::Calc { input, condition: None, projections } => Some(Plan::calc(versions_of(input)?, None, projections.clone(), plan.names())),
        _ => None,
    }
}

/// The operator furthest up the stream whose rows are taken back though its inputs' are not.
fn first_updating(plan: &Plan) -> Option<&Plan> {
    plan.inputs().into_iter().find_map(first_updating).or((!plan.changelog.is_insert_only()).then_some(plan))
}
