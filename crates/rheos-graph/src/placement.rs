//! Which subtask runs where.

use serde::{Deserialize, Serialize};

use crate::task::TaskId;

/// A process that runs subtasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Unique for each start of a process.
    pub id: u64,
    /// Where it takes in the rows of others: `host:port`.
    pub address: String,
}

/// The hosts of all subtasks of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The hosts.
    pub hosts: Vec<Host>,
    /// By task and instance: the position of the host in `hosts`.
    pub subtasks: Vec<Vec<usize>>,
}

impl Placement {
    /// The host of a subtask; `None` where it has none.
    pub fn host(&self, task: TaskId, index: usize) -> Option<&Host> {
        self.hosts.get(*self.subtasks.get(task)?.get(index)?)
    }
}
