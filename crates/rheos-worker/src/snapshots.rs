//! How a subtask gives its parts of snapshots: what it has taken, and what it still records for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rheos_core::Batch;
use rheos_core::element::{Barrier, CheckpointKind, Epoch};
use rheos_core::snapshot::SnapshotMode;
use rheos_exchange::Overtaken;
use rheos_graph::NodeId;

use crate::chain::Chain;
use crate::output::Stop;
use crate::part::{Origins, Recorded, TakenPart};
use crate::report::Reports;

/// What a subtask needs to give its parts of snapshots.
pub(crate) struct Snapshots {
    pub(crate) origins: Origins,
    /// The nodes of the chain's operators.
    pub(crate) nodes: Vec<NodeId>,
    /// Rows that were on their way when the snapshot was taken that the job goes on from: the operator's position in the chain,
    /// its input, the rows.
    pub(crate) in_flight: Vec<(usize, usize, Batch)>,
    /// Whether the next snapshot has to be whole: what was given before is not stored, or costs too much to restore.
    pub(crate) wants_full: Arc<AtomicBool>,
    pub(crate) reports: Reports,
    pub(crate) recorded: Recorded,
    /// The part that is not whole yet.
    pub(crate) open: Option<(Barrier, TakenPart, Vec<Overtaken>)>,
    /// When the first barrier of the snapshot came that is being aligned.
    pub(crate) aligning_since_ns: Option<u64>,
    /// The last epoch that was heard of.
    pub(crate) last_epoch: Epoch,
}

impl Snapshots {
    /// Takes the state of the chain, and has its sink prepare.
    pub(crate) fn take(&mut self, chain: &mut Chain, barrier: Barrier, now_ns: impl Fn() -> u64) -> Result<TakenPart, Stop> {
        let start_ns = now_ns();
        // Nothing may stand on the files of a savepoint.
        let is_full = self.wants_full.swap(barrier.kind == CheckpointKind::Savepoint, Ordering::Relaxed) || barrier.full;
        let states = chain.snapshot(if is_full { SnapshotMode::Full } else { SnapshotMode::Changes })?;
        self.last_epoch = barrier.epoch;
        Ok(TakenPart {
            task: self.origins.task,
            index: self.origins.index,
            states: self.nodes.iter().copied().zip(states).collect(),
            in_flight: Vec::new(),
            epoch: barrier.epoch,
            tokens: chain.prepare(barrier.epoch)?,
            freeze_ns: now_ns() - start_ns,
            alignment_ns: start_ns.saturating_sub(self.aligning_since_ns.take().unwrap_or(start_ns)),
        })
    }

    /// The last part: nobody will go on with the state of a subtask that has ended.
    pub(crate) fn last(&mut self, chain: &mut Chain) -> Result<TakenPart, Stop> {
        Ok(TakenPart {
            task: self.origins.task,
            index: self.origins.index,
            states: Vec::new(),
            in_flight: Vec::new(),
            epoch: self.last_epoch,
            tokens: chain.prepare(self.last_epoch + 1)?,
            freeze_ns: 0,
            alignment_ns: 0,
        })
    }
}
