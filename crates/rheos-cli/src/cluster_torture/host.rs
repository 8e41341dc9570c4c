//! The hosts of a cluster under torture.

use std::fmt;

/// Who has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Host {
    /// The coordinator.
    Coordinator,
    /// A worker, from 0.
    Worker(usize),
    /// The torture itself, which submits the job and looks at it: never cut off.
    Client,
}

impl Host {
    /// All hosts of a cluster with so many workers.
    pub(super) fn all(workers: usize) -> impl Iterator<Item = Host> + Clone {
        [Host::Coordinator].into_iter().chain((0..workers).map(Host::Worker)).chain([Host::Client])
    }

    /// The last part of its address and of its hardware address.
    pub(super) fn number(self) -> usize {
        match self {
            Host::Coordinator => 1,
            Host::Worker(worker) => 2 + worker,
            Host::Client => 254,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Coordinator => f.write_str("coordinator"),
            Host::Worker(worker) => write!(f, "worker-{}", worker + 1),
            Host::Client => f.write_str("client"),
        }
    }
}
