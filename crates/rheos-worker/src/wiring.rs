//! From a task graph to subtasks that are ready to run: instances made, channels joined.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::connector::{ConnectorInfo, TableSpec};
use rheos_core::env::Env;
use rheos_core::key_group::{ColumnKey, KeySelector};
use rheos_core::metrics::{OperatorMetrics, TaskMetrics};
use rheos_core::operator::{OperatorContext, SubtaskInfo};
use rheos_core::registry::Registry;
use rheos_core::source::{Split, assign_splits};
use rheos_core::time::WatermarkMerger;
use rheos_core::{Error, Result};
use rheos_exchange::{Inbox, OutEdge, Outbox, Partitioner, Sender};
use rheos_graph::{KeySpec, Node, NodeId, NodeKind, Partitioning, TaskGraph, TaskId, TaskSpec, WatermarkSpec};

use crate::align::Aligner;
use crate::chain::Chain;
use crate::inbox_task::InboxTask;
use crate::metrics::{OperatorMeters, TaskMeters};
use crate::options::RuntimeOptions;
use crate::output::Output;
use crate::source_task::{Reading, Rest, SourceTask};
use crate::split_watermarks::SplitWatermarks;
use crate::subtask::Subtask;
use crate::supervise::SinkCommit;

/// A job that is ready to run.
pub(crate) struct Wired {
    /// The subtasks, each with the sink at its end.
    pub(crate) subtasks: Vec<(Option<NodeId>, Subtask)>,
    pub(crate) meters: Vec<TaskMeters>,
    pub(crate) sinks: Vec<SinkCommit>,
}

/// Makes all instances and joins them.
pub(crate) fn wire(graph: &TaskGraph, registry: &Registry, env: &Env, options: &RuntimeOptions) -> Result<Wired> {
    let mut wiring = Wiring { graph, registry, env, options, splits: BTreeMap::new() };
    let metrics: Vec<Vec<Arc<TaskMetrics>>> =
        graph.tasks.iter().map(|t| (0..t.parallelism).map(|_| Arc::new(TaskMetrics::default())).collect()).collect();
    let (mut inboxes, mut senders) = wiring.channels(&metrics)?;
    let mut wired = Wired { subtasks: Vec::new(), meters: Vec::new(), sinks: Vec::new() };
    for task in &graph.tasks {
        for (index, task_metrics) in metrics[task.id].iter().enumerate() {
            let outbox = wiring.outbox(task, index, &mut senders, task_metrics)?;
            let inbox = inboxes[task.id].get_mut(index).and_then(Option::take);
            let (subtask, operators) =
                wiring.subtask(task, index, inbox, outbox, task_metrics).map_err(|e| e.context(wiring.name(task)))?;
            let last = task.nodes.last().map(|n| &graph.job.nodes[*n]);
            wired.subtasks.push((last.filter(|n| matches!(n.kind, NodeKind::Sink { .. })).map(|n| n.id), subtask));
            let metrics = Arc::clone(task_metrics);
            wired.meters.push(TaskMeters { task: task.id, name: wiring.name(task), index, metrics, operators });
        }
    }
    for node in &graph.job.nodes {
        if let NodeKind::Sink { table } = &node.kind {
            let factory = connector(registry, table)?.sink.as_ref().ok_or_else(|| no_sink(table))?;
            wired.sinks.push(SinkCommit { node: node.id, name: node.name.clone(), committer: factory.committer(table)? });
        }
    }
    Ok(wired)
}

/// The senders of each edge, by sending subtask, in the order of the receiving subtasks.
type Senders = Vec<Vec<Vec<Sender>>>;

struct Wiring<'a> {
    graph: &'a TaskGraph,
    registry: &'a Registry,
    env: &'a Env,
    options: &'a RuntimeOptions,
    /// The splits of each source node by subtask, found when its first subtask is made.
    splits: BTreeMap<NodeId, Vec<Vec<Split>>>,
}

impl Wiring<'_> {
    /// Which sending subtasks have a channel to subtask `to` of the receiving task.
    fn channel_senders(&self, from: TaskId, to: usize, partitioning: &Partitioning) -> std::ops::Range<usize> {
        match partitioning {
            Partitioning::Forward => to..to + 1,
            _ => 0..self.graph.tasks[from].parallelism,
        }
    }

    /// An inbox for each subtask that has inputs, and the senders into it.
    fn channels(&self, metrics: &[Vec<Arc<TaskMetrics>>]) -> Result<(Vec<Vec<Option<Inbox>>>, Senders)> {
        let graph = self.graph;
        let mut senders: Senders = graph.edges.iter().map(|e| (0..graph.tasks[e.from].parallelism).map(|_| Vec::new()).collect()).collect();
        let mut inboxes = Vec::with_capacity(graph.tasks.len());
        for task in &graph.tasks {
            let mut of_task = Vec::with_capacity(task.parallelism);
            for (index, task_metrics) in metrics[task.id].iter().enumerate() {
                // The edge, its port and the sending subtask of each channel.
                let mut channels = Vec::new();
                for (e, edge) in graph.edges.iter().enumerate().filter(|(_, e)| e.to == task.id) {
                    let from = graph.tasks[edge.from].parallelism;
                    if edge.partitioning == Partitioning::Forward && from != task.parallelism {
                        return Err(Error::bug(format!("a forward edge from {from} to {} subtasks", task.parallelism)));
                    }
                    channels.extend(self.channel_senders(edge.from, index, &edge.partitioning).map(|sender| (e, edge.port, sender)));
                }
                if channels.is_empty() {
                    of_task.push(None);
                    continue;
                }
                let ports = channels.iter().map(|(_, port, _)| *port).collect();
                let (inbox, ends) = Inbox::new(ports, self.options.channel, Arc::clone(task_metrics));
                for ((edge, _, sender), end) in channels.into_iter().zip(ends) {
                    senders[edge][sender].push(end);
                }
                of_task.push(Some(inbox));
            }
            inboxes.push(of_task);
        }
        Ok((inboxes, senders))
    }

    fn outbox(&self, task: &TaskSpec, index: usize, senders: &mut Senders, metrics: &Arc<TaskMetrics>) -> Result<Outbox> {
        let mut edges = Vec::new();
        for (e, edge) in self.graph.edges.iter().enumerate().filter(|(_, e)| e.from == task.id) {
            let ends = std::mem::take(&mut senders[e][index]);
            let partitioner = match &edge.partitioning {
                Partitioning::Forward => Partitioner::Forward,
                Partitioning::Broadcast => Partitioner::Broadcast,
                Partitioning::Rebalance => Partitioner::rebalance(index, ends.len()),
                Partitioning::Hash(key) => Partitioner::hash(self.key(key)?, self.graph.tasks[edge.to].routing.clone()),
            };
            edges.push(OutEdge::new(partitioner, ends)?);
        }
        Ok(Outbox::new(edges, self.options.coalesce, Arc::clone(metrics)))
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
        index: usize,
        inbox: Option<Inbox>,
        outbox: Outbox,
        metrics: &Arc<TaskMetrics>,
    ) -> Result<(Subtask, Vec<OperatorMeters>)> {
        let graph = self.graph;
        let clock = Arc::clone(&self.env.clock);
        let mut chain = Chain::new(Arc::clone(&clock), Arc::clone(metrics));
        let mut meters = Vec::new();
        let mut source = None;
        for (position, node) in task.nodes.iter().map(|n| &graph.job.nodes[*n]).enumerate() {
            let context = self.context(node, task, index);
            meters.push(OperatorMeters {
                node: node.id,
                uid: node.uid.clone(),
                name: node.name.clone(),
                metrics: Arc::clone(&context.metrics),
            });
            match &node.kind {
                NodeKind::Source { table, watermark } if position == 0 => source = Some((node.id, table, watermark, context)),
                NodeKind::Source { .. } => return Err(Error::bug(format!("the source '{}' has an input", node.uid))),
                NodeKind::Operator { kind, spec } => {
                    chain.add_operator(self.registry.make_operator(kind, spec)?, context, self.options.collector_rows);
                }
                NodeKind::Sink { table } => {
                    let factory = connector(self.registry, table)?.sink.as_ref().ok_or_else(|| no_sink(table))?;
                    chain.set_sink(factory.writer(table, &context)?, context);
                }
            }
        }
        let output = Output::new(outbox, Arc::clone(&clock), Arc::clone(metrics));
        let subtask = match (source, inbox) {
            (Some((node, table, watermark, context)), None) => {
                let rest = Rest { chain, output, clock, metrics: Arc::clone(metrics) };
                Subtask::Source(Box::new(self.source(node, table, watermark.as_ref(), context, rest)?))
            }
            (None, Some(inbox)) => Subtask::Inbox(Box::new(InboxTask {
                merger: WatermarkMerger::new(inbox.channels()),
                aligner: Aligner::new(inbox.channels()),
                inbox,
                chain,
                output,
                index,
                snapshots: self.options.snapshots.clone(),
                clock,
                metrics: Arc::clone(metrics),
            })),
            (None, None) => return Err(Error::bug("a task without a source has no input")),
            (Some(_), Some(_)) => return Err(Error::bug("a task with a source has an input")),
        };
        Ok((subtask, meters))
    }

    fn source(
        &mut self,
        node: NodeId,
        table: &TableSpec,
        watermark: Option<&WatermarkSpec>,
        context: OperatorContext,
        rest: Rest,
    ) -> Result<SourceTask> {
        let info = connector(self.registry, table)?;
        let factory = info.source.as_ref().ok_or_else(|| {
            Error::config(format!("table '{}' cannot be read: the connector '{}' has no source", table.name, table.connector))
        })?;
        let SubtaskInfo { index, parallelism, .. } = context.subtask;
        let by_subtask = match self.splits.get_mut(&node) {
            Some(known) => known,
            None => self.splits.entry(node).or_insert(assign_splits(factory.splits(table, parallelism)?, parallelism)),
        };
        let splits = std::mem::take(&mut by_subtask[index]);
        let count = splits.len();
        let generators = match watermark {
            Some(spec) => (0..count).map(|_| self.registry.make_watermark_generator(&spec.generator, &spec.spec)).collect::<Result<_>>()?,
            None => Vec::new(),
        };
        let idle_timeout_ms = watermark.and_then(|w| w.idle_timeout_ms);
        Ok(SourceTask {
            reader: factory.reader(table, splits, &context)?,
            splits: count,
            watermarks: SplitWatermarks::new(generators, count, idle_timeout_ms, rest.clock.monotonic_ns()),
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

fn no_sink(table: &TableSpec) -> Error {
    Error::config(format!("table '{}' cannot be written: the connector '{}' has no sink", table.name, table.connector))
}
