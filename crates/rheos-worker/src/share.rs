//! Which subtasks of a job this process runs, and how their rows reach the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use rheos_core::key_group::KeyGroup;
use rheos_core::metrics::TaskMetrics;
use rheos_core::{Error, Result};
use rheos_exchange::{ChannelLimits, Sender};
use rheos_graph::{Regions, TaskGraph, TaskId, TaskSpec};

/// The part of a job that one attempt runs in this process.
#[derive(Clone)]
pub struct Share {
    regions: Arc<Regions>,
    /// The region that the attempt is of; `None`: all.
    region: Option<usize>,
}

impl Share {
    /// All subtasks of a region.
    pub fn region(regions: Arc<Regions>, region: usize) -> Share {
        Share { regions, region: Some(region) }
    }

    /// All subtasks of a job.
    pub fn whole(regions: Arc<Regions>) -> Share {
        Share { regions, region: None }
    }

    /// Whether the attempt runs a subtask here.
    pub(crate) fn is_here(&self, task: TaskId, index: usize) -> bool {
        self.region.is_none_or(|region| self.regions.region(task, index) == region)
    }

    /// Whether state of these key groups of an operator goes to a subtask here.
    pub(crate) fn wants(&self, graph: &TaskGraph, uid: &str, groups: &BTreeSet<KeyGroup>) -> bool {
        let is_task = |task: &&TaskSpec| task.nodes.iter().any(|node| graph.job.nodes[*node].uid == uid);
        let Some(task) = graph.tasks.iter().find(is_task) else { return false };
        groups.iter().any(|group| self.is_here(task.id, task.routing.owner(*group) as usize))
    }

    /// Lets what a subtask elsewhere sends on a channel (edge, sending and receiving instance) go into `into`.
    pub(crate) fn receive(
        &self,
        _from: (TaskId, usize),
        _channel: (usize, usize, usize),
        _limits: ChannelLimits,
        _into: Sender,
    ) -> Result<()> {
        Err(Error::bug("a channel from a subtask that runs nowhere"))
    }

    /// The sending end of a channel to a subtask elsewhere.
    pub(crate) fn sender(
        &self,
        _to: (TaskId, usize),
        _channel: (usize, usize, usize),
        _limits: ChannelLimits,
        _metrics: &Arc<TaskMetrics>,
    ) -> Result<Sender> {
        Err(Error::bug("a channel to a subtask that runs nowhere"))
    }
}
