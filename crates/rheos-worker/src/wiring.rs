//! From a task graph to subtasks that are ready to run: instances made, channels joined.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rheos_checkpoint::Alignment;
use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::env::Env;
use rheos_core::key_group::{ColumnKey, KeySelector};
use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_core::operator::{OperatorContext, SubtaskInfo};
use rheos_core::registry::Registry;
use rheos_core::sink::SinkFactory;
use rheos_core::source::SourceFactory;
use rheos_core::time::WatermarkMerger;
use rheos_core::{Batch, Error, Result};
use rheos_exchange::{Inbox, OutEdge, Outbox, Partitioner};
use rheos_graph::{KeySpec, Node, NodeKind, Partitioning, TaskEdge, TaskGraph, TaskId, TaskSpec, WatermarkSpec};

use crate::chain::Chain;
use crate::channels::{Channels, Senders, channels};
use crate::control::{Controls, mailbox};
use crate::inbox_task::InboxTask;
use crate::job::Blueprint;
use crate::metrics::{OperatorMeters, TaskMeters};
use crate::options::RuntimeOptions;
use crate::output::Output;
use crate::part::{Origins, Recorded};
use crate::report::Reports;
use crate::restore::{Beginning, Way};
use crate::snapshots::Snapshots;
use crate::source_task::{Reading, Rest, SourceTask, StoredSplit};
use crate::split_watermarks::SplitWatermarks;
use crate::subtask::Subtask;

/// A job that is ready to run.
pub(crate) struct Wired {
    pub(crate) subtasks: Vec<WiredSubtask>,
    pub(crate) meters: Vec<TaskMeters>,
}

/// A subtask that is ready to run.
pub(crate) struct WiredSubtask {
    pub(crate) task: TaskId,
    pub(crate) index: usize,
    pub(crate) is_source: bool,
    pub(crate) subtask: Subtask,
    pub(crate) controls: Controls,
    pub(crate) wants_full: Arc<AtomicBool>,
}

/// Makes all instances and joins them.
pub(crate) fn wire(blueprint: &Blueprint<'_>, reports: &Reports) -> Result<Wired> {
    let Blueprint { graph, registry, env, options, share, beginning } = *blueprint;
    let mut wiring = Wiring { graph, registry, env, options, beginning, reports };
    let metrics: Vec<Vec<Arc<TaskMetrics>>> =
        graph.tasks.iter().map(|t| (0..t.parallelism).map(|_| Arc::new(TaskMetrics::default())).collect()).collect();
    let Channels { mut inboxes, mut senders } = channels(graph, share, options, &metrics)?;
    let mut wired = Wired { subtasks: Vec::new(), meters: Vec::new() };
    for task in &graph.tasks {
        for (index, task_metrics) in metrics[task.id].iter().enumerate().filter(|(index, _)| share.is_here(task.id, *index)) {
            let (outbox, outputs) = wiring.outbox(task, index, &mut senders, task_metrics)?;
            let (inbox, inputs) = match inboxes.remove(&(task.id, index)) {
                Some((inbox, inputs)) => (Some(inbox), inputs),
                None => (None, Vec::new()),
            };
            let origins = Origins { task: task.id, index, inputs, outputs };
            let (subtask, operators) =
                wiring.subtask(task, origins, inbox, outbox, task_metrics).map_err(|e| e.context(wiring.name(task)))?;
            wired.subtasks.push(subtask);
            let metrics = Arc::clone(task_metrics);
            wired.meters.push(TaskMeters { task: task.id, name: wiring.name(task), index, metrics, operators });
        }
    }
    Ok(wired)
}

struct Wiring<'a> {
    graph: &'a TaskGraph,
    registry: &'a Registry,
    env: &'a Env,
    options: &'a RuntimeOptions,
    beginning: &'a Beginning,
    reports: &'a Reports,
}

impl Wiring<'_> {
    fn outbox(&self, task: &TaskSpec, index: usize, senders: &mut Senders, metrics: &Arc<TaskMetrics>) -> Result<(Outbox, Vec<usize>)> {
        let (mut edges, mut origins) = (Vec::new(), Vec::new());
        for (e, edge) in self.graph.edges.iter().enumerate().filter(|(_, e)| e.from == task.id) {
            origins.push(e);
            let ends = senders.remove(&(e, index)).unwrap_or_default();
            let partitioner = match &edge.partitioning {
                Partitioning::Forward => Partitioner::Forward,
                Partitioning::Broadcast => Partitioner::Broadcast,
                Partitioning::Rebalance => Partitioner::rebalance(index, ends.len()),
                Partitioning::Hash(key) => Partitioner::hash(self.key(key)?, self.graph.tasks[edge.to].routing.clone()),
            };
            edges.push(OutEdge::new(partitioner, ends, self.is_overtakable(edge))?);
        }
        Ok((Outbox::new(edges, self.options.coalesce, Arc::clone(metrics)), origins))
    }

    /// Whether rows on an edge can be part of a snapshot: they are columns, and it can be told at any parallelism whose they are.
    fn is_overtakable(&self, edge: &TaskEdge) -> bool {
        let sender = self.graph.tasks[edge.from].nodes.last().map(|node| &self.graph.job.nodes[*node]);
        let is_spread = matches!(edge.partitioning, Partitioning::Hash(_) | Partitioning::Rebalance);
        is_spread && sender.is_some_and(|node| node.schema.is_some())
    }

    fn key(&self, key: &KeySpec) -> Result<Box<dyn KeySelector>> {
        match key {
            KeySpec::Columns(columns) => Ok(Box::new(ColumnKey::new(columns.clone()))),
            KeySpec::Typed { kind, spec } => self.registry.make_key_selector(kind, spec),
        }
    }

    /// A subtask, and where its operators measure themselves.
    fn subtask(
        &mut self,
        task: &TaskSpec,
        origins: Origins,
        inbox: Option<Inbox>,
        outbox: Outbox,
        metrics: &Arc<TaskMetrics>,
    ) -> Result<(WiredSubtask, Vec<OperatorMeters>)> {
        let (graph, index) = (self.graph, origins.index);
        let clock = Arc::clone(&self.env.clock);
        let mut chain = Chain::new(Arc::clone(&clock), Arc::clone(metrics));
        let (mut meters, mut nodes, mut in_flight) = (Vec::new(), Vec::new(), Vec::new());
        let mut source = None;
        for (position, node) in task.nodes.iter().map(|n| &graph.job.nodes[*n]).enumerate() {
            let context = self.context(node, task, index);
            meters.push(OperatorMeters {
                node: node.id,
                uid: node.uid.clone(),
                name: node.name.clone(),
                metrics: Arc::clone(&context.metrics),
            });
            let at = nodes.len();
            in_flight.extend(self.in_flight(node, task, index)?.into_iter().map(|(port, batch)| (at, port, batch)));
            match &node.kind {
                NodeKind::Source { table, watermark } if position == 0 => source = Some((node, table, watermark, context)),
                NodeKind::Source { .. } => return Err(Error::bug(format!("the source '{}' has an input", node.uid))),
                NodeKind::Operator { kind, spec } => {
                    let state = self.beginning.state(node, task, index);
                    chain.add_operator(self.registry.make_operator(kind, spec)?, context, self.options.collector_rows, state);
                    nodes.push(node.id);
                }
                NodeKind::Sink { table } => chain.set_sink(sink_factory(self.registry, table)?.writer(table, &context)?, context),
            }
        }
        // The furthest first: what an operator makes of rows that were on the way to it comes after those that were on the way from it.
        in_flight.sort_by_key(|(at, ..)| Reverse(*at));
        let output = Output::new(outbox, Arc::clone(&clock), Arc::clone(metrics));
        let (controls, mailbox) = mailbox();
        let wants_full = Arc::<AtomicBool>::default();
        let overtakable: Vec<bool> = origins.inputs.iter().map(|(edge, _)| self.is_overtakable(&graph.edges[*edge])).collect();
        let snapshots = Snapshots {
            origins,
            nodes,
            in_flight,
            wants_full: Arc::clone(&wants_full),
            reports: self.reports.clone(),
            recorded: Recorded::default(),
            open: None,
            aligning_since_ns: None,
            last_epoch: self.beginning.epoch(),
        };
        let is_source = source.is_some();
        let subtask = match (source, inbox) {
            (Some((node, table, watermark, context)), None) => {
                let rest = Rest { chain, output, snapshots, mailbox, clock, metrics: Arc::clone(metrics) };
                Subtask::Source(Box::new(self.source(node, table, watermark.as_ref(), context, rest, task)?))
            }
            (None, Some(inbox)) => Subtask::Inbox(Box::new(InboxTask {
                merger: WatermarkMerger::new(inbox.channels()),
                alignment: Alignment::new(overtakable),
                inbox,
                chain,
                output,
                snapshots,
                mailbox,
                clock,
                metrics: Arc::clone(metrics),
            })),
            (Some(_), Some(_)) => return Err(Error::bug("a source with an input")),
            (None, None) => return Err(Error::bug("neither a source nor an input")),
        };
        Ok((WiredSubtask { task: task.id, index, is_source, subtask, controls, wants_full }, meters))
    }

    /// The rows that were on their way to an instance of a node.
    fn in_flight(&self, node: &Node, task: &TaskSpec, index: usize) -> Result<Vec<(usize, Batch)>> {
        let job = &self.graph.job;
        let joined = job.inputs(node.id).map(|edge| (job.nodes[edge.from].uid.as_str(), edge.port, &edge.partitioning));
        let former = job.former.iter().filter(|edge| edge.to == node.id).map(|edge| (edge.from.as_str(), edge.port, &edge.partitioning));
        let edges: Vec<Way<'_>> = joined.chain(former).map(|(from, port, partitioning)| Way { from, port, partitioning }).collect();
        let key = |partitioning: &Partitioning| match partitioning {
            Partitioning::Hash(key) => self.key(key).map(Some),
            _ => Ok(None),
        };
        self.beginning.in_flight(node, &edges, task, index, &key)
    }

    fn source(
        &mut self,
        node: &Node,
        table: &TableSpec,
        watermark: Option<&WatermarkSpec>,
        context: OperatorContext,
        rest: Rest,
        task: &TaskSpec,
    ) -> Result<SourceTask> {
        let factory = source_factory(self.registry, table)?;
        let index = context.subtask.index;
        let new = |split| StoredSplit { split, watermark_ms: None, ended: false };
        let (ended, splits) = match self.beginning.state(node, task, index) {
            Some(state) => StoredSplit::all_in(&state)?.into_iter().partition(|split| split.ended),
            None => (Vec::new(), self.beginning.splits(node.id, index)?.into_iter().map(new).collect()),
        };
        let count = splits.len();
        let generators = match watermark {
            Some(spec) => (0..count).map(|_| self.registry.make_watermark_generator(&spec.generator, &spec.spec)).collect::<Result<_>>()?,
            None => Vec::new(),
        };
        let idle_timeout_ms = watermark.and_then(|w| w.idle_timeout_ms);
        let mut watermarks = SplitWatermarks::new(generators, count, idle_timeout_ms, rest.clock.monotonic_ns());
        for (i, split) in splits.iter().enumerate() {
            split.watermark_ms.into_iter().for_each(|at| watermarks.restore(i, at));
        }
        let splits = splits.into_iter().map(|stored| stored.split).collect();
        Ok(SourceTask {
            reader: factory.reader(table, splits, &context)?,
            node: node.id,
            splits: count,
            ended,
            watermarks,
            per_row: watermark.is_some_and(|w| w.per_row),
            batch_rows: self.options.source_batch_rows,
            reading: Reading {
                clock: Arc::clone(&rest.clock),
                task: Arc::clone(&rest.metrics),
                source: Arc::clone(&context.metrics),
                now: false,
            },
            context,
            rest,
        })
    }

    fn context(&self, node: &Node, task: &TaskSpec, index: usize) -> OperatorContext {
        let parallelism = task.parallelism;
        OperatorContext {
            subtask: SubtaskInfo {
                job: self.options.job_id.clone(),
                uid: node.uid.clone(),
                name: node.name.clone(),
                index,
                parallelism,
                key_groups: task.routing.groups_of(index),
                key_group_count: self.graph.job.key_groups,
            },
            env: self.env.clone(),
            metrics: Arc::new(OperatorMetrics::default()),
        }
    }

    /// The names of a task's nodes.
    fn name(&self, task: &TaskSpec) -> String {
        let names: Vec<&str> = task.nodes.iter().map(|n| self.graph.job.nodes[*n].name.as_str()).collect();
        names.join(" -> ")
    }
}

fn connector<'a>(registry: &'a Registry, table: &TableSpec) -> Result<&'a ConnectorInfo> {
    registry.connector(&table.connector).ok_or_else(|| {
        Error::config(format!("table '{}' wants the connector '{}', which this binary does not have", table.name, table.connector))
    })
}

/// Who finds the splits of a source table and makes its readers.
pub(crate) fn source_factory<'a>(registry: &'a Registry, table: &TableSpec) -> Result<&'a Arc<dyn SourceFactory>> {
    connector(registry, table)?
        .source
        .as_ref()
        .ok_or_else(|| Error::config(format!("table '{}' cannot be read: the connector '{}' has no source", table.name, table.connector)))
}

/// Who makes the writers and the committer of a sink table.
pub(crate) fn sink_factory<'a>(registry: &'a Registry, table: &TableSpec) -> Result<&'a Arc<dyn SinkFactory>> {
    connector(registry, table)?.sink.as_ref().ok_or_else(|| no_sink(table))
}

fn no_sink(table: &TableSpec) -> Error {
    Error::config(format!("table '{}' cannot be written: the connector '{}' has no sink", table.name, table.connector))
}
