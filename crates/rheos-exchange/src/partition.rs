//! Which channel of an edge gets which rows.

use rheos_core::error::Result;
use rheos_core::key_group::{KeySelector, key_group};
use rheos_core::routing::RoutingTable;
use rheos_core::{Batch, Error};

/// The way in which an edge spreads rows over its channels.
pub enum Partitioner {
    /// The edge has one channel.
    Forward,
    /// Every row to every channel.
    Broadcast,
    /// Batches to each channel in turn.
    Rebalance {
        /// Whose turn it is.
        turn: usize,
    },
    /// Each row to the subtask that owns its key group.
    Hash(HashPartitioner),
}

/// Routes rows by key group.
pub struct HashPartitioner {
    key: Box<dyn KeySelector>,
    /// The channel of each key group.
    routing: RoutingTable,
    hashes: Vec<u64>,
    targets: Vec<u32>,
}

impl Partitioner {
    /// Routes by key: each key group to the subtask that owns it.
    pub fn hash(key: Box<dyn KeySelector>, routing: RoutingTable) -> Self {
        Partitioner::Hash(HashPartitioner { key, routing, hashes: Vec::new(), targets: Vec::new() })
    }

    /// In turn, beginning at another channel for each sender.
    pub fn rebalance(sender: usize, channels: usize) -> Self {
        Partitioner::Rebalance { turn: sender % channels.max(1) }
    }
}

impl HashPartitioner {
    /// The rows of each channel, in order.
    pub(crate) fn split(&mut self, batch: Batch, channels: usize) -> Result<Vec<Option<Batch>>> {
        self.key.hashes(&batch, &mut self.hashes)?;
        if self.hashes.len() != batch.num_rows() {
            return Err(Error::bug(format!("{} key hashes for {} rows", self.hashes.len(), batch.num_rows())));
        }
        self.targets.clear();
        let routing = &self.routing;
        self.targets.extend(self.hashes.iter().map(|h| routing.owner(key_group(*h, routing.groups()))));
        batch.split(&self.targets, channels)
    }
}
