//! What an attempt begins with: nothing, or the state of a snapshot given out to the subtasks of now.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::element::Epoch;
use rheos_core::key_group::{KeySelector, key_group};
use rheos_core::routing::RoutingTable;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::source::Split;
use rheos_core::{Batch, Error, Result};
use rheos_graph::{Node, NodeId, Partitioning, TaskSpec};

use crate::splits::Splits;

/// Where an attempt begins.
#[derive(Debug, Default)]
pub struct Beginning {
    /// What a snapshot holds; `None`: nothing.
    pub state: Option<RestoredState>,
    /// The splits of the sources that it holds nothing of.
    pub splits: Arc<Splits>,
}

/// A snapshot, read.
#[derive(Debug, Default)]
pub struct RestoredState {
    /// Which.
    pub epoch: Epoch,
    /// By the operator's uid: the state of each instance that wrote some.
    pub operators: BTreeMap<String, Vec<OperatorSnapshot>>,
    /// Rows that were on their way.
    pub in_flight: Vec<RestoredRows>,
}

/// Rows that were on their way from one operator to another.
#[derive(Debug)]
pub struct RestoredRows {
    /// The uid of the operator that sent them.
    pub from: String,
    /// The uid of the one that they were on the way to.
    pub to: String,
    /// Which of its inputs.
    pub port: usize,
    /// Which instance of it.
    pub receiver: usize,
    /// The rows.
    pub batch: Batch,
}

/// An edge to a node, of this plan or of another of the same job.
pub(crate) struct Way<'a> {
    /// The uid of the node that it comes from.
    pub(crate) from: &'a str,
    /// Which input it is.
    pub(crate) port: usize,
    /// Which subtask gets which row.
    pub(crate) partitioning: &'a Partitioning,
}

/// The key by which rows are spread, if that is done by key.
pub(crate) type KeyOf<'a> = dyn Fn(&Partitioning) -> Result<Option<Box<dyn KeySelector>>> + 'a;

impl Beginning {
    /// At the beginning of the input.
    pub fn fresh(splits: impl Into<Arc<Splits>>) -> Beginning {
        Beginning { state: None, splits: splits.into() }
    }

    /// Where a snapshot was taken.
    pub fn restored(state: RestoredState, splits: impl Into<Arc<Splits>>) -> Beginning {
        Beginning { state: Some(state), splits: splits.into() }
    }

    /// The splits of an instance of a source that has no state.
    pub(crate) fn splits(&self, node: NodeId, index: usize) -> Result<Vec<Split>> {
        let of_node = self.splits.get(&node).and_then(|of| of.get(index));
        of_node.cloned().ok_or_else(|| Error::bug(format!("nobody has found the splits of source {node}, instance {index}")))
    }

    /// The epoch that was the last before.
    pub(crate) fn epoch(&self) -> Epoch {
        self.state.as_ref().map_or(0, |state| state.epoch)
    }

    /// The share of instance `index` of an operator in its state.
    pub(crate) fn state(&self, node: &Node, task: &TaskSpec, index: usize) -> Option<OperatorSnapshot> {
        let all = self.state.as_ref()?.operators.get(&node.uid)?;
        Some(OperatorSnapshot::redistribute(all, index, task.parallelism, task.routing.groups_of(index)))
    }

    /// The share of instance `index` in the rows that were on the way to a node: its input, and the rows.
    pub(crate) fn in_flight(
        &self,
        node: &Node,
        ways: &[Way<'_>],
        task: &TaskSpec,
        index: usize,
        key: &KeyOf<'_>,
    ) -> Result<Vec<(usize, Batch)>> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        let mut mine = Vec::new();
        for (i, rows) in state.in_flight.iter().filter(|rows| rows.to == node.uid).enumerate() {
            let way = ways.iter().find(|way| way.port == rows.port && way.from == rows.from);
            let Some(way) = way else {
                let message = format!("rows were on their way from '{}' to '{}', which are not joined now", rows.from, rows.to);
                return Err(Error::config(message));
            };
            let batch = match key(way.partitioning)? {
                Some(mut key) => owned_by(rows.batch.clone(), key.as_mut(), &task.routing, task.parallelism, index)?,
                None if matches!(way.partitioning, Partitioning::Rebalance) => (i % task.parallelism == index).then(|| rows.batch.clone()),
                None => (rows.receiver % task.parallelism == index).then(|| rows.batch.clone()),
            };
            mine.extend(batch.map(|batch| (rows.port, batch)));
        }
        Ok(mine)
    }
}

/// The rows whose key group instance `index` owns.
fn owned_by(batch: Batch, key: &mut dyn KeySelector, routing: &RoutingTable, parallelism: usize, index: usize) -> Result<Option<Batch>> {
    let mut hashes = Vec::new();
    key.hashes(&batch, &mut hashes)?;
    let owners: Vec<u32> = hashes.iter().map(|hash| routing.owner(key_group(*hash, routing.groups()))).collect();
    Ok(batch.split(&owners, parallelism)?.swap_remove(index))
}
