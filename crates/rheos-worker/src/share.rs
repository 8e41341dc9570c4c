//! Which subtasks of a job this process runs, and how their rows reach the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use rheos_core::key_group::KeyGroup;
use rheos_core::metrics::TaskMetrics;
use rheos_core::{Error, Result};
use rheos_exchange::net::{ChannelId, Network, Peer};
use rheos_exchange::{ChannelLimits, Sender};
use rheos_graph::{Placement, Regions, TaskGraph, TaskId, TaskSpec};

/// The part of a job that one attempt runs in this process.
#[derive(Clone)]
pub struct Share {
    regions: Arc<Regions>,
    /// The region that the attempt is of; `None`: all.
    region: Option<usize>,
    /// Where the rest of it runs; `None`: nowhere else.
    spread: Option<Spread>,
}

/// An attempt that runs in several processes.
#[derive(Clone)]
pub struct Spread {
    /// Which subtask runs where.
    pub placement: Arc<Placement>,
    /// This process.
    pub own_id: u64,
    /// Under which rows go from process to process; unique for each deployment.
    pub deployment: u64,
    /// How they go.
    pub network: Network,
}

/// The number of an edge, of the sending and of the receiving instance.
pub(crate) type Channel = (usize, usize, usize);

impl Share {
    /// All subtasks of a region.
    pub fn region(regions: Arc<Regions>, region: usize) -> Share {
        Share { regions, region: Some(region), spread: None }
    }

    /// All subtasks of a job.
    pub fn whole(regions: Arc<Regions>) -> Share {
        Share { regions, region: None, spread: None }
    }

    /// Those that are placed in this process.
    pub fn spread(self, spread: Spread) -> Share {
        Share { spread: Some(spread), ..self }
    }

    /// Whether the attempt runs a subtask here.
    pub(crate) fn is_here(&self, task: TaskId, index: usize) -> bool {
        let is_of_region = self.region.is_none_or(|region| self.regions.region(task, index) == region);
        let is_placed = |spread: &Spread| spread.placement.host(task, index).is_some_and(|host| host.id == spread.own_id);
        is_of_region && self.spread.as_ref().is_none_or(is_placed)
    }

    /// Whether state of these key groups of an operator goes to a subtask here.
    pub(crate) fn wants(&self, graph: &TaskGraph, uid: &str, groups: &BTreeSet<KeyGroup>) -> bool {
        let is_task = |task: &&TaskSpec| task.nodes.iter().any(|node| graph.job.nodes[*node].uid == uid);
        let Some(task) = graph.tasks.iter().find(is_task) else { return false };
        groups.iter().any(|group| self.is_here(task.id, task.routing.owner(*group) as usize))
    }

    /// Lets what the subtask `from` elsewhere sends on a channel go into `into`.
    pub(crate) fn receive(&self, from: (TaskId, usize), channel: Channel, limits: ChannelLimits, into: Sender) -> Result<()> {
        let (spread, peer) = self.peer(from)?;
        spread.network.receive(&peer, spread.channel(channel), limits, into)
    }

    /// The sending end of a channel to the subtask `to` elsewhere.
    pub(crate) fn sender(
        &self,
        to: (TaskId, usize),
        channel: Channel,
        limits: ChannelLimits,
        metrics: &Arc<TaskMetrics>,
    ) -> Result<Sender> {
        let (spread, peer) = self.peer(to)?;
        Ok(spread.network.sender(&peer, spread.channel(channel), limits, Arc::clone(metrics)))
    }

    fn peer(&self, (task, index): (TaskId, usize)) -> Result<(&Spread, Peer)> {
        let found = self.spread.as_ref().and_then(|spread| Some((spread, spread.placement.host(task, index)?)));
        let (spread, host) = found.ok_or_else(|| Error::bug(format!("subtask {task}/{index} runs nowhere")))?;
        Ok((spread, Peer { id: host.id, address: host.address.clone() }))
    }
}

impl Spread {
    fn channel(&self, (edge, sender, receiver): Channel) -> ChannelId {
        ChannelId { deployment: self.deployment, edge: edge as u32, sender: sender as u32, receiver: receiver as u32 }
    }
}
