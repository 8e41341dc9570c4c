//! Who talks to whom: processes, and the channels between them.

/// A worker process, as the data plane knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Unique for each start of a process.
    pub id: u64,
    /// Where it listens: `host:port`.
    pub address: String,
}

/// One channel of a deployment: from a sending subtask to a receiving one, along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId {
    /// The deployment, unique among all that the two processes ever see.
    pub deployment: u64,
    /// The edge within the deployment.
    pub edge: u32,
    /// The sending subtask.
    pub sender: u32,
    /// The receiving subtask.
    pub receiver: u32,
}

impl ChannelId {
    /// What frames that belong to no channel carry.
    pub(crate) const NONE: ChannelId = ChannelId { deployment: 0, edge: 0, sender: 0, receiver: 0 };
}

/// A link to another process that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFailure {
    /// The process at the other end.
    pub peer: u64,
    /// The deployments that had channels on it, in order. Those channels are disconnected.
    pub deployments: Vec<u64>,
    /// Why.
    pub reason: String,
}
