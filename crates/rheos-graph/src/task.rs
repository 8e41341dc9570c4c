//! The task graph: chains of nodes that one task drives, and the exchanges between them.

use rheos_core::routing::RoutingTable;
use serde::{Deserialize, Serialize};

use crate::job::{JobGraph, NodeId, NodeKind, Partitioning};

/// The position of a task in [`TaskGraph::tasks`].
pub type TaskId = usize;

/// A job graph cut into tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskGraph {
    /// The job.
    pub job: JobGraph,
    /// The tasks, in an order in which every edge goes forward.
    pub tasks: Vec<TaskSpec>,
    /// The exchanges.
    pub edges: Vec<TaskEdge>,
}

/// A chain of nodes, run as several subtasks. Rows go through the chain without an exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Its position in the graph.
    pub id: TaskId,
    /// The nodes, in the order in which rows pass them.
    pub nodes: Vec<NodeId>,
    /// How many subtasks run it.
    pub parallelism: usize,
    /// Which of them owns which key group.
    pub routing: RoutingTable,
}

/// An exchange between two tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEdge {
    /// The sending task: rows leave its last node.
    pub from: TaskId,
    /// The receiving task: rows enter its first node.
    pub to: TaskId,
    /// Which input of the first node.
    pub port: usize,
    /// Which subtask gets which row.
    pub partitioning: Partitioning,
}

impl TaskGraph {
    /// Cuts a job into tasks. Two nodes are chained where rows can only go from the one to the other and stay in their
    /// subtask: one edge out, one edge in, and a forward edge or both sides of parallelism one.
    pub fn of(job: &JobGraph) -> TaskGraph {
        let mut task_of: Vec<TaskId> = Vec::with_capacity(job.nodes.len());
        let mut tasks: Vec<TaskSpec> = Vec::new();
        for node in &job.nodes {
            let chained = chained_input(job, node.id).map(|from| task_of[from]);
            let task = match chained {
                Some(task) => task,
                None => {
                    let routing = RoutingTable::contiguous(job.key_groups, node.parallelism);
                    tasks.push(TaskSpec { id: tasks.len(), nodes: Vec::new(), parallelism: node.parallelism, routing });
                    tasks.len() - 1
                }
            };
            tasks[task].nodes.push(node.id);
            task_of.push(task);
        }
        let edges = job
            .edges
            .iter()
            .filter(|e| chained_input(job, e.to).is_none())
            .map(|e| TaskEdge { from: task_of[e.from], to: task_of[e.to], port: e.port, partitioning: e.partitioning.clone() })
            .collect();
        TaskGraph { job: job.clone(), tasks, edges }
    }

    /// The exchanges into a task.
    pub fn inputs(&self, task: TaskId) -> impl Iterator<Item = &TaskEdge> {
        self.edges.iter().filter(move |e| e.to == task)
    }

    /// The exchanges out of a task.
    pub fn outputs(&self, task: TaskId) -> impl Iterator<Item = &TaskEdge> {
        self.edges.iter().filter(move |e| e.from == task)
    }
}

fn chained_input(job: &JobGraph, node: NodeId) -> Option<NodeId> {
    let mut inputs = job.inputs(node);
    let (edge, None) = (inputs.next()?, inputs.next()) else { return None };
    let (from, to) = (&job.nodes[edge.from], &job.nodes[node]);
    // A chain passes rows to the first input.
    let stays = edge.port == 0 && from.parallelism == to.parallelism && (edge.partitioning == Partitioning::Forward || to.parallelism == 1);
    let only = job.outputs(edge.from).count() == 1 && !matches!(from.kind, NodeKind::Sink { .. });
    (stays && only).then_some(edge.from)
}

#[cfg(test)]
pub(crate) mod tests {
    use rheos_core::changelog::ChangelogMode;
    use serde_json::Value;

    use super::*;
    use crate::job::{KeySpec, Node};

    pub(crate) fn job(parallelism: usize) -> JobGraph {
        let mut job = JobGraph::new("test");
        for name in ["a", "b", "c", "d"] {
            job.add(Node {
                id: 0,
                uid: name.into(),
                name: name.into(),
                detail: String::new(),
                kind: NodeKind::Operator { kind: name.into(), spec: Value::Null },
                parallelism,
                schema: None,
                changelog: ChangelogMode::InsertOnly,
            });
        }
        job.connect(0, 1, 0, Partitioning::Forward);
        job.connect(1, 2, 0, Partitioning::Hash(KeySpec::Columns(vec![0])));
        job.connect(2, 3, 0, Partitioning::Forward);
        job
    }

    fn chains(job: &JobGraph) -> Vec<Vec<NodeId>> {
        TaskGraph::of(job).tasks.into_iter().map(|t| t.nodes).collect()
    }

    #[test]
    fn chains_break_at_exchanges_and_not_at_parallelism_one() {
        assert_eq!(chains(&job(2)), vec![vec![0, 1], vec![2, 3]]);
        assert_eq!(chains(&job(1)), vec![vec![0, 1, 2, 3]]);
    }

    #[test]
    fn a_fork_or_a_second_input_ends_a_chain() {
        let mut fork = job(1);
        fork.connect(1, 3, 1, Partitioning::Forward);
        assert_eq!(chains(&fork), vec![vec![0, 1], vec![2], vec![3]]);
        assert_eq!(TaskGraph::of(&fork).edges.len(), 3);
    }
}
