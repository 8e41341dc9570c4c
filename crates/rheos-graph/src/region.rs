//! Regions: the connected parts of a job, each of which fails and restarts by itself.

use crate::job::Partitioning;
use crate::task::{TaskGraph, TaskId};

/// Which region each subtask belongs to. Two subtasks are in one region where rows can go from one to the other, directly or
/// through others: then the failure of one takes the input or the output of the other away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regions {
    /// By task and instance.
    of: Vec<Vec<usize>>,
    count: usize,
}

impl Regions {
    /// The regions of a graph, numbered from 0 in the order of their first subtasks.
    pub fn of(graph: &TaskGraph) -> Regions {
        let mut first = Vec::with_capacity(graph.tasks.len());
        let mut subtasks = 0;
        for task in &graph.tasks {
            first.push(subtasks);
            subtasks += task.parallelism;
        }
        let mut sets = DisjointSets((0..subtasks).collect());
        for edge in &graph.edges {
            let (senders, receivers) = (graph.tasks[edge.from].parallelism, graph.tasks[edge.to].parallelism);
            match edge.partitioning {
                Partitioning::Forward => {
                    (0..senders.min(receivers)).for_each(|i| sets.join(first[edge.from] + i, first[edge.to] + i));
                }
                // Every sender has a channel to every receiver.
                Partitioning::Hash(_) | Partitioning::Rebalance | Partitioning::Broadcast => {
                    (0..senders).for_each(|i| sets.join(first[edge.from] + i, first[edge.to]));
                    (0..receivers).for_each(|i| sets.join(first[edge.from], first[edge.to] + i));
                }
            }
        }
        let mut numbers = vec![None; subtasks];
        let mut count = 0;
        let mut number = |subtask: usize| {
            *numbers[sets.root(subtask)].get_or_insert_with(|| {
                count += 1;
                count - 1
            })
        };
        let of = graph.tasks.iter().map(|task| (0..task.parallelism).map(|i| number(first[task.id] + i)).collect()).collect();
        Regions { of, count }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The region of a subtask.
    pub fn region(&self, task: TaskId, index: usize) -> usize {
        self.of[task][index]
    }
}

/// Union by halving paths (Tarjan 1975, without ranks: the sets are small).
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn root(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        // The lesser stays, so that a region is known by its first subtask.
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::KeySpec;
    use crate::task::tests::job;
    use crate::{JobGraph, TaskGraph};

    fn regions(job: &JobGraph) -> Vec<Vec<usize>> {
        Regions::of(&TaskGraph::of(job)).of
    }

    #[test]
    fn an_exchange_connects_all_and_chains_stand_alone() {
        assert_eq!(regions(&job(2)), vec![vec![0, 0], vec![0, 0]]);
        let mut chains = job(3);
        chains.edges.retain(|edge| edge.partitioning == Partitioning::Forward);
        assert_eq!(regions(&chains), vec![vec![0, 1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn a_fork_keeps_its_instances_apart_until_they_meet() {
        let mut fork = job(2);
        fork.edges.clear();
        fork.connect(0, 1, 0, Partitioning::Forward);
        fork.connect(0, 2, 0, Partitioning::Forward);
        assert_eq!(regions(&fork), vec![vec![0, 1], vec![0, 1], vec![0, 1], vec![2, 3]]);
        fork.connect(2, 3, 0, Partitioning::Hash(KeySpec::Columns(vec![])));
        assert_eq!(regions(&fork), vec![vec![0, 0]; 4]);
    }
}
