//! The channels of the subtasks that run in this process, among them and to other processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::metrics::TaskMetrics;
use rheos_core::{Error, Result};
use rheos_exchange::{Inbox, Sender};
use rheos_graph::{Partitioning, TaskEdge, TaskGraph, TaskId};

use crate::options::RuntimeOptions;
use crate::share::Share;

/// An inbox, with the edge and the sending instance of each channel.
pub(crate) type NewInbox = (Inbox, Vec<(usize, usize)>);

/// The sending ends of each edge, by edge and sending instance, in the order of the receiving instances.
pub(crate) type Senders = BTreeMap<(usize, usize), Vec<Sender>>;

/// The ends of channels that are in this process.
pub(crate) struct Channels {
    /// By task and instance, for those that have inputs.
    pub(crate) inboxes: BTreeMap<(TaskId, usize), NewInbox>,
    pub(crate) senders: Senders,
}

/// Makes the ends that the subtasks of `share` need. `metrics` are those of every subtask of the job, by task and instance.
pub(crate) fn channels(graph: &TaskGraph, share: &Share, options: &RuntimeOptions, metrics: &[Vec<Arc<TaskMetrics>>]) -> Result<Channels> {
    let limits = options.channel_limits(count(graph));
    let mut inboxes = BTreeMap::new();
    // By edge, sending and receiving instance.
    let mut local: BTreeMap<(usize, usize, usize), Sender> = BTreeMap::new();
    for task in &graph.tasks {
        for index in (0..task.parallelism).filter(|index| share.is_here(task.id, *index)) {
            // The edge, its port and the sending instance of each channel.
            let mut inputs = Vec::new();
            for (e, edge) in graph.edges.iter().enumerate().filter(|(_, e)| e.to == task.id) {
                let from = graph.tasks[edge.from].parallelism;
                if edge.partitioning == Partitioning::Forward && from != task.parallelism {
                    return Err(Error::bug(format!("a forward edge from {from} to {} subtasks", task.parallelism)));
                }
                inputs.extend(peers(edge, from, index).map(|sender| (e, edge.port, sender)));
            }
            if inputs.is_empty() {
                continue;
            }
            let ports = inputs.iter().map(|(_, port, _)| *port).collect();
            let (inbox, ends) = Inbox::new(ports, limits, Arc::clone(&metrics[task.id][index]));
            for ((edge, _, sender), end) in inputs.iter().zip(ends) {
                let from = graph.edges[*edge].from;
                if share.is_here(from, *sender) {
                    local.insert((*edge, *sender, index), end);
                } else {
                    share.receive((from, *sender), (*edge, *sender, index), limits, end)?;
                }
            }
            let origins = inputs.into_iter().map(|(edge, _, sender)| (edge, sender)).collect();
            inboxes.insert((task.id, index), (inbox, origins));
        }
    }
    let mut senders = Senders::new();
    for (e, edge) in graph.edges.iter().enumerate() {
        let receivers = graph.tasks[edge.to].parallelism;
        for sender in (0..graph.tasks[edge.from].parallelism).filter(|index| share.is_here(edge.from, *index)) {
            let ends = peers(edge, receivers, sender).map(|receiver| match local.remove(&(e, sender, receiver)) {
                Some(end) => Ok(end),
                None => share.sender((edge.to, receiver), (e, sender, receiver), limits, &metrics[edge.from][sender]),
            });
            senders.insert((e, sender), ends.collect::<Result<_>>()?);
        }
    }
    Ok(Channels { inboxes, senders })
}

/// Which of the `parallelism` instances on the other side of an edge have a channel to instance `index`.
fn peers(edge: &TaskEdge, parallelism: usize, index: usize) -> std::ops::Range<usize> {
    match edge.partitioning {
        Partitioning::Forward => index..index + 1,
        Partitioning::Hash(_) | Partitioning::Rebalance | Partitioning::Broadcast => 0..parallelism,
    }
}

/// How many channels the job has, wherever their ends are: both ends of one in two processes must have the same limits.
fn count(graph: &TaskGraph) -> usize {
    let of_edge = |edge: &TaskEdge| {
        let receivers = graph.tasks[edge.to].parallelism;
        receivers * peers(edge, graph.tasks[edge.from].parallelism, 0).len()
    };
    graph.edges.iter().map(of_edge).sum()
}
