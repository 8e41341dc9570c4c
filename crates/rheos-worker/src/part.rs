//! What a subtask hands over at a barrier, before it is stored, and how it comes together.

use std::collections::BTreeMap;

use rheos_core::Batch;
use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_exchange::Overtaken;
use rheos_graph::{NodeId, TaskId};

/// The part of one subtask.
#[derive(Debug)]
pub struct TakenPart {
    /// Which task.
    pub task: TaskId,
    /// Which instance of it.
    pub index: usize,
    /// The state of each node of the chain that may keep some.
    pub states: Vec<(NodeId, OperatorSnapshot)>,
    /// Rows that the barrier overtook.
    pub in_flight: Vec<InFlightRows>,
    /// The last barrier that the subtask passed on: this one's, or, in its last part, the one before.
    pub epoch: Epoch,
    /// What the sink at the end of the chain prepared and does not know to be complete.
    pub tokens: Vec<CommitToken>,
    /// For how long the subtask was occupied with taking state, in nanoseconds.
    pub freeze_ns: u64,
    /// From the first barrier until state was taken, in nanoseconds.
    pub alignment_ns: u64,
}

/// Rows that a barrier overtook on their way along an edge of the task graph.
#[derive(Debug)]
pub struct InFlightRows {
    /// The position of the edge in the task graph.
    pub edge: usize,
    /// Which instance sent them.
    pub sender: usize,
    /// Which instance they were on the way to.
    pub receiver: usize,
    /// The rows, in order.
    pub rows: Vec<Batch>,
}

/// Which edges a subtask's channels belong to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origins {
    pub(crate) task: TaskId,
    pub(crate) index: usize,
    /// By input channel: the edge, and which instance sends.
    pub(crate) inputs: Vec<(usize, usize)>,
    /// By position in the outbox: the edge.
    pub(crate) outputs: Vec<usize>,
}

/// Rows that are recorded for a snapshot, by input channel.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    epoch: Epoch,
    rows: BTreeMap<usize, Vec<Batch>>,
}

impl Recorded {
    /// Adds rows that came on a channel before the barrier of `epoch`. Those of earlier snapshots are forgotten.
    pub(crate) fn add(&mut self, epoch: Epoch, channel: usize, rows: Vec<Batch>) {
        if self.epoch < epoch {
            *self = Recorded { epoch, rows: BTreeMap::new() };
        }
        if !rows.is_empty() {
            self.rows.entry(channel).or_default().extend(rows);
        }
    }

    /// What was recorded for `epoch`.
    pub(crate) fn take(&mut self, epoch: Epoch) -> BTreeMap<usize, Vec<Batch>> {
        if self.epoch == epoch { std::mem::take(&mut self.rows) } else { BTreeMap::new() }
    }
}

impl Origins {
    /// The rows that a barrier overtook, with the edges that they belong to: first those that had left their senders.
    pub(crate) fn in_flight(&self, recorded: BTreeMap<usize, Vec<Batch>>, overtaken: Vec<Overtaken>) -> Vec<InFlightRows> {
        let come = recorded.into_iter().map(|(channel, rows)| {
            let (edge, sender) = self.inputs[channel];
            InFlightRows { edge, sender, receiver: self.index, rows }
        });
        let gone = overtaken.into_iter().map(|Overtaken { edge, channel, rows }| InFlightRows {
            edge: self.outputs[edge],
            sender: self.index,
            receiver: channel,
            rows,
        });
        come.chain(gone).collect()
    }
}
