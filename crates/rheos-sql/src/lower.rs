//! Plans to job graphs: operators chosen, equal sub-plans made one, exchanges placed.
//!
//! Which operators put out -U follows from who needs it: a consumer that replaces rows by an upsert key which it can see
//! needs none. A changelog is exchanged by hash of a key, so that the order of changes to a row is kept.

use std::collections::HashMap;

use serde_json::Value;

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::TableSpec;
use rheos_core::registry::Registry;
use rheos_core::schema::Schema;
use rheos_expr::EvalConfig;
use rheos_graph::{JobGraph, KeySpec, Node, NodeId, NodeKind, Partitioning, WatermarkSpec};
use rheos_operators::spec::{
    CalcSpec, DeduplicateSpec, ExpandSpec, GroupAggregateSpec, JoinSide, JoinSpec, LimitSpec, RankSpec, ValuesSpec, WatermarkExprSpec,
    WindowAggregateSpec, WindowJoinSpec, WindowRankSpec, WindowSpec, WindowTableSpec, Windowing,
};

use crate::error::{SqlError, SqlResult};
use crate::explain::describe;
use crate::optimizer;
use crate::plan::{Plan, RankStrategy, Rel};

/// What lowering depends on besides the plan.
#[derive(Debug, Clone)]
pub struct LowerOptions {
    /// How many subtasks an operator runs as.
    pub parallelism: usize,
    /// Whether watermarks follow each row (`pipeline.auto-watermark-interval` = 0).
    pub per_row_watermarks: bool,
    /// The time zone and the like.
    pub config: EvalConfig,
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
        let inputs = self.lower(plan, need_update_before)?;
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
        if let Some((_, _, nodes)) = self.lowered.iter().find(|(p, n, _)| *n == need && p.rel == plan.rel) {
            return Ok(nodes.clone());
        }
        let nodes = self.lower_new(plan, need)?;
        if optimizer::is_repeatable(plan) {
            self.lowered.push((plan.clone(), need, nodes.clone()));
        }
        Ok(nodes)
    }

    fn lower_new(&mut self, plan: &Plan, need: bool) -> SqlResult<Vec<NodeId>> {
        let output = plan.schema();
        let config = self.options.config.clone();
        let p = self.options.parallelism;
        match &plan.rel {
            Rel::Scan { spec, .. } if need && plan.changelog == ChangelogMode::Upsert => {
                let message = format!("'{}' gives updates without the rows that they replace, which this query needs", spec.name);
                let hint = "only a sink with the same key can take such changes; read a changelog with old rows, such as debezium-json";
                Err(SqlError::new(message).hint(Some(hint.into())))
            }
            Rel::Scan { spec, watermark, .. } => {
                let watermark = match watermark {
                    None => None,
                    Some(expr) => Some(WatermarkSpec {
                        generator: "expression".into(),
                        spec: to_value(&WatermarkExprSpec { expr: expr.clone(), config })?,
                        idle_timeout_ms: spec.duration_ms("scan.watermark.idle-timeout")?.filter(|ms| *ms > 0),
                        per_row: self.options.per_row_watermarks,
                    }),
                };
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
                    options: [("connector".to_string(), "values".to_string())].into(),
                    projection: None,
                    predicates: vec![],
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
                if matches!(window, WindowSpec::Session { .. }) {
                    return Ok(vec![self.keyed(plan, "window-table", spec, &inputs, keys)]);
                }
                Ok(self.forward(plan, "window-table", &spec, &inputs))
            }
            Rel::Aggregate { input, keys, calls } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&GroupAggregateSpec {
                    input: input.schema(),
                    keys: keys.clone(),
                    aggregates: calls.clone(),
                    input_retracts: !input.changelog.is_insert_only(),
                    emit_update_before: need,
                    output,
                })?;
                Ok(vec![self.keyed(plan, "group-aggregate", spec, &inputs, keys)])
            }
            Rel::WindowAggregate { input, windowing, keys, calls, properties, .. } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&WindowAggregateSpec {
                    input: input.schema(),
                    windowing: *windowing,
                    keys: keys.clone(),
                    aggregates: calls.clone(),
                    input_retracts: !input.changelog.is_insert_only(),
                    properties: properties.clone(),
                    output,
                })?;
                // Without keys, windows that are attached can still be spread by their ends.
                let by = match windowing {
                    Windowing::Attached { end, .. } if keys.is_empty() => vec![*end],
                    _ => keys.clone(),
                };
                Ok(vec![self.keyed(plan, "window-aggregate", spec, &inputs, &by)])
            }
            Rel::Join { left, right, kind, left_keys, right_keys, condition, window_ends } => {
                let (l, r) = (self.lower(left, true)?, self.lower(right, true)?);
                let side = |p: &Plan, keys: &[usize]| JoinSide {
                    schema: p.schema(),
                    keys: keys.to_vec(),
                    retracts: !p.changelog.is_insert_only(),
                    unique_key: p.unique_keys.first().cloned(),
                };
                let (left_side, right_side) = (side(left, left_keys), side(right, right_keys));
                let (name, spec) = match window_ends {
                    Some((left_end, right_end)) => {
                        let spec = WindowJoinSpec {
                            kind: *kind,
                            left: left_side,
                            right: right_side,
                            left_end: *left_end,
                            right_end: *right_end,
                            condition: condition.clone(),
                            output,
                            config,
                        };
                        ("window-join", to_value(&spec)?)
                    }
                    None => {
                        let spec =
                            JoinSpec { kind: *kind, left: left_side, right: right_side, condition: condition.clone(), output, config };
                        ("join", to_value(&spec)?)
                    }
                };
                let hash = |keys: &[usize], end: Option<usize>| {
                    let columns = if keys.is_empty() { end.into_iter().collect() } else { keys.to_vec() };
                    Partitioning::Hash(KeySpec::Columns(columns))
                };
                let (le, re) = window_ends.unzip();
                let p = if left_keys.is_empty() && window_ends.is_none() { 1 } else { p };
                let edges: [(&[NodeId], usize, Partitioning); 2] = [(&l, 0, hash(left_keys, le)), (&r, 1, hash(right_keys, re))];
                Ok(vec![self.operator(plan, name, spec, p, &edges)])
            }
            Rel::Rank { input, partition, order, start, end, rank_column, strategy } => {
                let inputs = self.lower(input, true)?;
                let input_schema = input.schema();
                let (kind, spec) = match strategy {
                    RankStrategy::Deduplicate { time, keep_last } if !rank_column => (
                        "deduplicate",
                        to_value(&DeduplicateSpec { input: input_schema, keys: partition.clone(), time: *time, keep_last: *keep_last })?,
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
                            output,
                        };
                        ("rank", to_value(&spec)?)
                    }
                };
                let by = match strategy {
                    RankStrategy::Window { end } if partition.is_empty() => vec![*end],
                    _ => partition.clone(),
                };
                Ok(vec![self.keyed(plan, kind, spec, &inputs, &by)])
            }
            Rel::Limit { input, offset, fetch } => {
                let inputs = self.lower(input, true)?;
                let spec = to_value(&LimitSpec { input: input.schema(), offset: *offset, fetch: *fetch })?;
                Ok(vec![self.operator(plan, "limit", spec, 1, &[(&inputs, 0, Partitioning::Rebalance)])])
            }
            Rel::RowNumber { .. } => Err(SqlError::new("ROW_NUMBER() OVER needs a filter on it: WHERE rn <= n")),
        }
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

/// The operator furthest up the stream whose rows are taken back though its inputs' are not.
fn first_updating(plan: &Plan) -> Option<&Plan> {
    plan.inputs().into_iter().find_map(first_updating).or((!plan.changelog.is_insert_only()).then_some(plan))
}
